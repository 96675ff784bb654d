/** Apache Kafka's own `kafka-dump-log` reads what we write. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Dump, dumpLogs } from '../../scripts/kafka/dump-log.mjs'
import { fetchKafka, kafkaObstacle } from '../../scripts/kafka/kafka-home.mjs'
import { type RandomLog, segmentFiles, writeRandomLogs } from './random-log.ts'

const seeds = [1, 2, 3, 4, 5, 6]
const fetchTimeoutMs = 300_000

const obstacle = kafkaObstacle()
let parent: string
let logs: RandomLog[]
let dump: Dump

beforeAll(() => {
  if (obstacle !== undefined) return
  fetchKafka()
  parent = mkdtempSync(join(tmpdir(), 'tidemark-interop-'))
  logs = seeds.flatMap((seed) => writeRandomLogs(parent, seed))
  // All at once: the tool starts in a second and reads in milliseconds.
  dump = dumpLogs(logs.flatMap(({ directory }) => segmentFiles(directory)))
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
    expect(dump.complaints).toEqual([])
    const batches = dump.dumps.flatMap((file) => file.batches)
    expect(batches.filter(({ isvalid, magic }) => !isvalid || magic !== 2)).toEqual([])
  })

  it('reads the same records', () => {
    for (const { seed, directory, records } of logs) {
      const read = batchesOf(directory).flatMap((batch) =>
        batch.records.map((record) => ({
          offset: record.offset,
          leaderEpoch: batch.partitionLeaderEpoch,
          timestampMs: record.CreateTime,
          key: record.key,
          value: record.payload,
          headerKeys: record.headerKeys,
        })),
      )
      expect({ seed, read }).toEqual({ seed, read: records })
    }
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
