/** A broker's recovery points: what is written down never vouches for what isn't on disk. */
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import { SeededRandom } from '../../src/lab/statistics-random.ts'
import { readOffsetCheckpoint } from '../../src/log/offset-checkpoint.ts'
import { OpenFiles } from '../../src/log/open-files.ts'
import type { PartitionRegistration } from '../../src/replication/registration.ts'
import { PartitionStore } from '../../src/workers/partition-store.ts'
import { ProgressBoard } from '../../src/workers/progress-board.ts'
import { allocateProgressBoard } from '../../src/workers/progress-board-layout.ts'
import { runOfRecords, stampedRun, textRecords } from '../support/batch-builder.ts'
import { FaultyFileSystem } from '../support/faulty-file-system.ts'
import { ManualSyncs } from '../support/manual-syncs.ts'
import { MemoryFileSystem } from '../support/memory-file-system.ts'

const directory = '/disk'
const file = path.join(directory, 'recovery-point-offset-checkpoint')
const random = new SeededRandom(1)
const small = new Map([
  ['segment.bytes', '16384'],
  ['max.message.bytes', '16384'],
])

function storeOn(disk: MemoryFileSystem, recoveryPoint: ReadonlyMap<string, number> = new Map()) {
  const fs = new FaultyFileSystem(disk, random)
  const elsewhere = new FaultyFileSystem(disk, random)
  const syncs = new ManualSyncs(elsewhere)
  const shape = { brokers: 2, partitionsMax: 8, clients: 1 }
  const store = new PartitionStore({
    brokerId: brokerId(1),
    board: new ProgressBoard(allocateProgressBoard(shape, 0)),
    directory,
    clock: new ManualClock(),
    fs,
    files: new OpenFiles(fs),
    stored: { isClean: true, recoveryPoint, highWatermark: new Map(), logStartOffset: new Map() },
    config: { 'producer.id.expiration.ms': 1_000 },
    syncPort: syncs,
  })
  return { store, fs, elsewhere, syncs }
}

function newDisk(): MemoryFileSystem {
  const disk = new MemoryFileSystem()
  disk.makeDirectory(directory)
  disk.syncDirectory('/')
  return disk
}

function open(store: PartitionStore, index: number, entries = small) {
  const registration = {
    topic: 't',
    partition: index,
    topicId: Buffer.alloc(16, 1).toString('base64url'),
    index: partitionIndex(index),
  } as PartitionRegistration
  return store.open(registration, entries).log
}

/** Appends until `rolls` more segments are complete. */
function roll(store: PartitionStore, index: number, rolls: number): void {
  const log = store.log(partitionIndex(index))
  const { segmentCount } = log
  while (log.segmentCount < segmentCount + rolls) {
    log.append(runOfRecords(textRecords(100, 'some text of a record')), 0)
  }
}

function written(disk: MemoryFileSystem): Record<string, number> {
  return Object.fromEntries(readOffsetCheckpoint(disk, file))
}

describe('recovery points', () => {
  it('rise by rolled segments, and are written down without the broker waiting', () => {
    const disk = newDisk()
    const { store, fs, syncs } = storeOn(disk)
    const log = open(store, 0)
    fs.goodSyncs = 0
    while (log.segmentCount < 3) {
      log.append(runOfRecords(textRecords(50, 'some text of a record')), 0)
      store.stepBackground()
      syncs.finish()
      store.stepBackground()
    }
    const { recoveryPoint } = log
    expect(recoveryPoint).toBe(log.endPosition.segmentBase)
    expect(recoveryPoint).toBeGreaterThan(0)
    store.checkpointRecoveryPoints()
    store.stepBackground()
    expect(written(disk)).toEqual({})
    syncs.finish()
    store.stepBackground()
    expect(written(disk)).toEqual({ 't-0': recoveryPoint })
    expect(fs.syncFailed).toBe(false)
    store.checkpointRecoveryPoints()
    expect([store.stepBackground(), syncs.waiting]).toEqual([0, 0])
    disk.syncDirectory(directory)
    disk.crash(random, 'none')
    expect(written(disk)).toEqual({ 't-0': recoveryPoint })
  })

  it('that went back are written down before the cut returns, whatever was on its way', () => {
    for (const isSynced of [false, true]) {
      const disk = newDisk()
      const { store, syncs } = storeOn(disk)
      const log = open(store, 0)
      roll(store, 0, 2)
      log.flush()
      store.checkpointRecoveryPoints()
      store.stepBackground()
      if (isSynced) syncs.finish()
      store.truncateTo(partitionIndex(0), 100)
      syncs.finish()
      store.stepBackground()
      store.stepBackground()
      expect(written(disk)['t-0'] ?? 0).toBeLessThanOrEqual(100)
      store.checkpointRecoveryPoints()
      store.stepBackground()
      syncs.finish()
      store.stepBackground()
      store.truncateTo(partitionIndex(0), 0)
      disk.crash(random, 'none')
      expect(written(disk)['t-0'] ?? 0).toBe(0)
    }
  })

  it('of a log that ends below them are lowered at its opening; others stay written', () => {
    const disk = newDisk()
    const points = new Map([
      ['t-0', 70],
      ['t-1', 500],
    ])
    const { store } = storeOn(disk, points)
    open(store, 0)
    expect(written(disk)).toEqual({ 't-0': 0, 't-1': 500 })
  })

  it('that cannot be written down are a failure of the disk, whichever way it failed', () => {
    for (const way of ['write', 'sync', 'gone'] as const) {
      const disk = newDisk()
      const { store, fs, elsewhere, syncs } = storeOn(disk)
      const log = open(store, 0)
      roll(store, 0, 1)
      log.flush()
      if (way === 'write') fs.roomBytes = 0
      if (way === 'sync') elsewhere.goodSyncs = 0
      store.checkpointRecoveryPoints()
      store.stepBackground()
      if (way === 'gone') disk.remove(`${file}.next`)
      syncs.finish()
      store.stepBackground()
      expect(written(disk)).toEqual({})
      expect(store.diskFailure?.code).toBe('KAFKA_STORAGE_ERROR')
      expect(store.takeFailures()).toEqual([])
    }
  })
})

describe('a sync in the background that fails', () => {
  it('is told with the partition', () => {
    const { store, elsewhere, syncs } = storeOn(newDisk())
    open(store, 0)
    open(store, 3)
    roll(store, 3, 1)
    elsewhere.goodSyncs = 0
    store.stepBackground()
    syncs.finish()
    store.stepBackground()
    expect(store.takeFailures()).toMatchObject([
      { partition: 3, error: { code: 'KAFKA_STORAGE_ERROR' } },
    ])
    expect(store.drainBackground()).toBe(true)
  })
})

describe('a topic that wants each append on disk', () => {
  const durable = new Map([...small, ['flush.messages', '1']])

  it('has it there before anybody is told where the follower’s log ends', () => {
    const disk = newDisk()
    const { store, fs } = storeOn(disk)
    const log = open(store, 0, durable)
    const batch = [textRecords(3, 'a')]
    log.appendReplicated(stampedRun(batch, 0, 0))
    disk.crash(random, 'none')
    expect(disk.readFile(`${directory}/t-0/${'0'.repeat(20)}.log`)?.length ?? 0).toBe(0)
    const again = storeOn(disk)
    open(again.store, 0, durable)
    again.store.appendReplicated(partitionIndex(0), stampedRun(batch, 0, 0))
    disk.crash(random, 'none')
    expect(disk.readFile(`${directory}/t-0/${'0'.repeat(20)}.log`)?.length).toBeGreaterThan(60)
    expect(fs.syncFailed).toBe(false)
  })
})
