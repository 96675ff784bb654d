import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/clock.ts'
import { isTidemarkError } from '../../../src/errors.ts'
import { brokerId } from '../../../src/ids.ts'
import { BatchEncoder } from '../../../src/log/batch-encoder.ts'
import {
  baseOffsetAt,
  leaderEpochAt,
  recordCountAt,
  sizeInBytesAt,
} from '../../../src/log/batch-header.ts'
import { batchMemory } from '../../../src/log/batch-memory.ts'
import { type FileSystem, realFileSystem } from '../../../src/log/file-system.ts'
import { logConfigDefaults } from '../../../src/log/log-config.ts'
import { PartitionLog } from '../../../src/log/partition-log.ts'
import { MetadataLog } from '../../../src/replication/controller/metadata-log.ts'
import type { MetadataRecord } from '../../../src/replication/controller/metadata-records.ts'
import { ControllerHarness, contentsOf, topicIdOf } from './controller-harness.ts'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tidemark-metadata-'))
})

afterEach(() => {
  rmSync(root, { recursive: true, force: true })
})

function open(fs?: FileSystem): MetadataLog {
  const options = { directory: root, clock: new ManualClock() }
  return MetadataLog.open(fs === undefined ? options : { ...options, fs })
}

function recordsOf(log: MetadataLog, fromOffset = 0): [number, MetadataRecord][] {
  const records: [number, MetadataRecord][] = []
  log.replay(fromOffset, (record, offset) => records.push([offset, record]))
  return records
}

function topic(number: number): MetadataRecord {
  return { type: 'topic', name: `topic-${number}`, topicId: topicIdOf(number) }
}

function partitions(count: number): MetadataRecord[] {
  return Array.from({ length: count }, (_, partitionId) => ({
    type: 'partition',
    topicId: topicIdOf(1),
    partitionId,
    replicas: [brokerId(1), brokerId(2), brokerId(3)],
    isr: [brokerId(1), brokerId(2), brokerId(3)],
    addingReplicas: [],
    removingReplicas: [],
    leader: brokerId(1),
    leaderEpoch: 0,
    partitionEpoch: 0,
  }))
}

function segmentPath(): string {
  return join(root, '__cluster_metadata-0', '00000000000000000000.log')
}

function batchesOf(bytes: Uint8Array) {
  const memory = batchMemory(new Uint8Array(bytes).buffer)
  const batches: { base: number; epoch: number; records: number; start: number }[] = []
  for (let start = 0; start < bytes.length; start += sizeInBytesAt(memory, start)) {
    batches.push({
      base: baseOffsetAt(memory, start),
      epoch: leaderEpochAt(memory, start),
      records: recordCountAt(memory, start),
      start,
    })
  }
  return batches
}

describe('metadata log on disk', () => {
  it('gives back what was appended, also after it was opened again', () => {
    const log = open()
    expect(log.append([topic(1), topic(2)])).toBe(0)
    expect(log.append([topic(3)])).toBe(2)
    const expected = [1, 2, 3].map((number, offset) => [offset, topic(number)])
    expect(recordsOf(log)).toEqual(expected)
    log.close()
    const again = open()
    expect(again.endOffset).toBe(3)
    expect(recordsOf(again)).toEqual(expected)
    expect(recordsOf(again, 1)).toEqual(expected.slice(1))
    expect(recordsOf(again, 3)).toEqual([])
    again.close()
  })

  it('one append is one batch; each life of the controller has an epoch of its own', () => {
    const first = open()
    first.append(Array.from({ length: 1_000 }, (_, i) => topic(i)))
    first.append([topic(1_000)])
    first.close()
    const second = open()
    second.append([topic(1_001)])
    expect([first.epoch, second.epoch]).toEqual([1, 2])
    second.close()
    expect(batchesOf(readFileSync(segmentPath())).map(({ start, ...batch }) => batch)).toEqual([
      { base: 0, epoch: 1, records: 1_000 },
      { base: 1_000, epoch: 1, records: 1 },
      { base: 1_001, epoch: 2, records: 1 },
    ])
  })

  it('a batch larger than the memory it starts with', () => {
    const log = open()
    const records = partitions(20_000)
    log.append(records)
    log.close()
    expect(readFileSync(segmentPath()).length).toBeGreaterThan(1024 * 1024)
    const again = open()
    expect(recordsOf(again).map(([, record]) => record)).toEqual(records)
    again.close()
  })

  it('a last batch that is torn is gone whole; what was before stays', () => {
    const log = open()
    log.append([topic(1)])
    log.append([topic(2), topic(3)])
    log.close()
    const whole = readFileSync(segmentPath())
    const last = batchesOf(whole).at(-1)!
    for (let length = last.start; length < whole.length; length += 9) {
      writeFileSync(segmentPath(), whole.subarray(0, length))
      const torn = open()
      expect(torn.endOffset).toBe(1)
      expect(recordsOf(torn)).toEqual([[0, topic(1)]])
      expect(torn.append([topic(4)])).toBe(1)
      torn.close()
    }
  })

  it('a value that is no metadata record: CORRUPT_MESSAGE', () => {
    const directory = join(root, '__cluster_metadata-0')
    const foreign = PartitionLog.open({
      directory,
      topic: '__cluster_metadata',
      partition: 0,
      config: logConfigDefaults,
      clock: new ManualClock(),
      cleanShutdown: true,
    })
    const memory = batchMemory(new ArrayBuffer(1024))
    const encoder = new BatchEncoder()
    encoder.begin(memory, 0, 1024, { compression: 'none' })
    encoder.tryAppend({ key: null, value: Buffer.from([1, 20, 0, 9]), timestampMs: 0 })
    encoder.finish()
    foreign.append({ memory, positions: new Int32Array(1), count: 1 }, 1)
    foreign.close()
    const log = open()
    expect(
      isTidemarkError(
        catchError(() => recordsOf(log)),
        'CORRUPT_MESSAGE',
      ),
    ).toBe(true)
    log.close()
  })
})

describe('a controller over it', () => {
  it('replays to the same image, and goes on in a higher epoch', () => {
    const log = open()
    const harness = new ControllerHarness(log).start(1, 2, 3)
    harness.createTopic('t', [[1, 2, 3]])
    harness.proposeOne(0, [1, 2])
    harness.silence(1)
    const before = contentsOf(harness.image)
    log.close()
    const again = open()
    const restarted = new ControllerHarness(again)
    expect(contentsOf(restarted.image)).toEqual(before)
    expect(restarted.proposeOne(0, [2, 1]).error).toBe('INELIGIBLE_REPLICA')
    again.close()
  })

  it('a full disk is an answer, and what was committed stays', () => {
    let full = false
    const fs: FileSystem = {
      ...realFileSystem,
      write: (...args) => {
        if (full) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
        return realFileSystem.write(...args)
      },
    }
    const log = open(fs)
    const harness = new ControllerHarness(log).start(1, 2)
    harness.createTopic('t', [[1, 2]])
    const before = contentsOf(harness.image)
    full = true
    expect(harness.propose(1, [harness.item(0, [1])]).error).toBe('KAFKA_STORAGE_ERROR')
    expect(harness.controller.failure?.message).toMatch(/no space left/)
    expect(contentsOf(harness.image)).toEqual(before)
    log.close()
    const again = open()
    expect(contentsOf(new ControllerHarness(again).image)).toEqual(before)
    again.close()
  })
})

function catchError(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  return undefined
}
