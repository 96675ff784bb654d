/** Apache Kafka's own `kafka-dump-log` reads what we write. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Dump, dumpLogs } from '../../scripts/kafka/dump-log.mjs'
import { fetchKafka, kafkaObstacle } from '../../scripts/kafka/kafka-home.mjs'
import { verifyDirectories } from '../../src/log-tools/verify-directories.ts'
import { RandomCompactedLog } from './random-compacted-log.ts'
import { type ExpectedRecord, type RandomLog, segmentFiles, writeRandomLogs } from './random-log.ts'

const seeds = [1, 2, 3, 4, 5, 6]
const operations = 1_000
const fetchTimeoutMs = 300_000

const obstacle = kafkaObstacle()
let parent: string
let logs: RandomLog[]
let compacted: RandomCompactedLog
let dump: Dump

beforeAll(() => {
  if (obstacle !== undefined) return
  fetchKafka()
  parent = mkdtempSync(join(tmpdir(), 'tidemark-interop-'))
  logs = seeds.flatMap((seed) => writeRandomLogs(parent, seed))
  compacted = new RandomCompactedLog(parent, 1)
  for (let operation = 0; operation < operations; operation += 1) compacted.step()
  compacted.close()
  // All at once: the tool starts in a second and reads in milliseconds.
  const directories = [...logs, compacted].map(({ directory }) => directory)
  dump = dumpLogs(directories.flatMap(segmentFiles))
}, fetchTimeoutMs)

afterAll(() => {
  if (parent !== undefined) rmSync(parent, { recursive: true, force: true })
})

beforeEach((ctx) => {
  if (obstacle !== undefined) ctx.skip(obstacle)
})

describe('kafka-dump-log over random logs that rolled, were truncated and changed leaders', () => {
  it('were given something to judge', () => {
    for (const { directory, records, truncatedCount } of logs) {
      expect(segmentFiles(directory).length).toBeGreaterThan(9)
      expect(records.length).toBeGreaterThan(200)
      expect(new Set(records.map(({ leaderEpoch }) => leaderEpoch)).size).toBeGreaterThan(2)
      expect(truncatedCount).toBeGreaterThan(0)
    }
    const codecs = dump.dumps.flatMap(({ batches }) => batches.map((batch) => batch.compresscodec))
    expect(new Set(codecs)).toEqual(new Set(['none', 'gzip', 'snappy', 'lz4', 'zstd']))
  })

  it('has no complaint about segments, offset indexes and time indexes', () => {
    expect(dump.complaints.filter((line) => !isAboutGaps(line))).toEqual([])
    const batches = dump.dumps.flatMap((file) => file.batches)
    expect(batches.filter(({ isvalid, magic }) => !isvalid || magic !== 2)).toEqual([])
  })

  it('reads the same records', () => {
    for (const { seed, directory, records } of logs) {
      const read = recordsOf(directory)
      expect({ seed, read }).toEqual({ seed, read: records })
    }
  })
})

describe('kafka-dump-log over a log of a thousand operations, compactions among them', () => {
  it('was given something to judge', () => {
    const { append, compact, truncate, deleteRecords, reopen } = compacted.counts
    expect(append).toBeGreaterThan(700)
    expect(Math.min(compact, truncate, reopen)).toBeGreaterThan(10)
    expect(deleteRecords).toBeGreaterThan(3)
    expect(compacted.compactedCount).toBeGreaterThan(2_000)
    const codecs = batchesOf(compacted.directory).map(({ compresscodec }) => compresscodec)
    expect(new Set(codecs)).toEqual(new Set(['none', 'gzip', 'snappy', 'lz4', 'zstd']))
  })

  it('reads the same records, and we find no fault', () => {
    const read = recordsOf(compacted.directory)
    const { records, logStartOffset } = compacted
    expect(read.filter(({ offset }) => offset >= logStartOffset)).toEqual(records)
    const { faults } = verifyDirectories([compacted.directory], { allowGaps: true })
    expect(faults).toEqual([])
  })
})

describe('the judge', () => {
  it('notices a changed byte, a wrong index entry and a wrong time index entry', () => {
    const { directory } = logs[0]!
    const files = segmentFiles(directory)
    const first = (suffix: string): string => {
      return files.find((file) => file.endsWith(suffix) && readFileSync(file).length >= 24)!
    }
    const judge = (file: string, changed: number): Dump => {
      const bytes = readFileSync(file)
      const broken = Buffer.from(bytes)
      broken[changed < 0 ? broken.length + changed : changed]! ^= 1
      writeFileSync(file, broken)
      try {
        return dumpLogs([file], 'batches')
      } finally {
        writeFileSync(file, bytes)
      }
    }
    const segment = judge(first('.log'), -1)
    expect(segment.dumps[0]!.batches.at(-1)!.isvalid).toBe(false)
    // The offset of the first entry: a wrong position ends the tool with an exception.
    expect(judge(first('.index'), 3).complaints).not.toEqual([])
    expect(judge(first('.timeindex'), 7).complaints).not.toEqual([])
  })
})

function batchesOf(directory: string) {
  return dump.dumps
    .filter(({ file }) => dirname(file) === directory)
    .flatMap(({ batches }) => batches)
}

/** Compaction leaves gaps; the tool mentions those in Kafka's own compacted logs as well. */
function isAboutGaps(line: string): boolean {
  return (
    / is followed by \d+$/.test(line) ||
    (line.startsWith('Non-consecutive offsets in ') && line.includes(compacted.directory))
  )
}

/** As our own model tells them. */
function recordsOf(directory: string): ExpectedRecord[] {
  return batchesOf(directory).flatMap((batch) =>
    batch.records.map((record) => ({
      offset: record.offset,
      leaderEpoch: batch.partitionLeaderEpoch,
      timestampMs: record.CreateTime,
      key: record.key,
      value: record.payload,
      headerKeys: record.headerKeys,
    })),
  )
}
