/** Rolled segments reach the disk by another thread's syncs, whatever comes between. */
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import { SeededRandom } from '../../src/lab/statistics-random.ts'
import { BackgroundFlush } from '../../src/log/background-flush.ts'
import type { LogConfig } from '../../src/log/log-config.ts'
import { recoverLog } from '../../src/log/log-recovery.ts'
import { OpenFiles } from '../../src/log/open-files.ts'
import type { PartitionLog } from '../../src/log/partition-log.ts'
import { FaultyFileSystem } from '../support/faulty-file-system.ts'
import { ManualSyncs } from '../support/manual-syncs.ts'
import { MemoryFileSystem } from '../support/memory-file-system.ts'
import { appendBatches, labelsOf, openLog, smallConfig } from './log-fixture.ts'

const random = new SeededRandom(1)
const directory = '/disk/t-0'

function world(config: Partial<LogConfig> = {}, clock = new ManualClock()) {
  const disk = new MemoryFileSystem()
  disk.makeDirectory('/disk')
  disk.syncDirectory('/')
  const fs = new FaultyFileSystem(disk, random)
  const elsewhere = new FaultyFileSystem(disk, random)
  const syncs = new ManualSyncs(elsewhere)
  const background = new BackgroundFlush(syncs)
  const log = openLog({ directory, fs, config, clock, backgroundFlush: background })
  return { disk, fs, elsewhere, syncs, background, log }
}

/** Appends until `rolls` more segments are complete. */
function roll(log: PartitionLog, rolls: number, leaderEpoch = 0): void {
  const { segmentCount } = log
  while (log.segmentCount < segmentCount + rolls) appendBatches(log, 1, 2, leaderEpoch)
}

/** What is there after the power went, with the recovery point as the log told it last. */
function afterPowerLoss(disk: MemoryFileSystem, recoveryPoint: number): string[] {
  disk.crash(random, 'none')
  const files = new OpenFiles(disk)
  recoverLog(directory, { recoveryPoint, logStartOffset: 0, config: smallConfig, files })
  const log = openLog({ directory, fs: disk, cleanShutdown: true, recoveryPoint })
  const labels = labelsOf(log)
  log.close({ flush: false })
  return labels
}

describe('a roll', () => {
  it('has everything below the new segment synced elsewhere, then raises the recovery point', () => {
    const { disk, syncs, background, log } = world()
    roll(log, 2, 3)
    const base = log.endPosition.segmentBase
    expect([background.step(), log.recoveryPoint, syncs.waiting]).toEqual([1, 0, 13])
    syncs.finish()
    expect(log.recoveryPoint).toBe(0)
    background.step()
    expect(log.recoveryPoint).toBe(base)
    expect(syncs.synced.filter((path) => path.endsWith('.log'))).toHaveLength(2)
    const names = disk.list(directory)!.filter((name) => name.endsWith('index'))
    const before = names.map((name) => disk.readFile(`${directory}/${name}`))
    const labels = labelsOf(log)
    expect(afterPowerLoss(disk, base)).toEqual(labels.slice(0, base))
    expect(names.map((name) => disk.readFile(`${directory}/${name}`))).toEqual(before)
    expect(openLog({ directory, fs: disk }).leaderEpochs.entries).toEqual([
      { leaderEpoch: 3, startOffset: 0 },
    ])
  })

  it('never waits for the disk, not even the first', () => {
    const { fs, syncs, background, log } = world()
    // Every sync of the log's own thread would fail.
    fs.goodSyncs = 0
    for (let at = 0; at < 100; at += 1) {
      appendBatches(log, 1)
      background.step()
      syncs.finish()
      background.step()
    }
    expect(log.segmentCount).toBeGreaterThan(5)
    expect([log.failure, fs.syncFailed]).toEqual([undefined, false])
    expect(log.recoveryPoint).toBe(log.endPosition.segmentBase)
  })

  it('makes the name of a history of epochs last that was replaced since', () => {
    const { disk, syncs, background, log } = world()
    roll(log, 1)
    log.flush()
    log.truncateTo(log.endPosition.segmentBase)
    appendBatches(log, 1, 2, 7)
    background.step()
    syncs.finish()
    background.step()
    const { recoveryPoint, logEndOffset } = log
    expect(recoveryPoint).toBe(logEndOffset)
    log.close()
    // After a clean end nobody looks at the batches again.
    disk.crash(random, 'none')
    const reopened = openLog({ directory, fs: disk, cleanShutdown: true, recoveryPoint })
    expect(reopened.leaderEpochs.latest).toBe(7)
  })

  it('of a log that syncs each append leaves nothing to do', () => {
    const { syncs, background, log } = world({ flush: { kind: 'batch' } })
    roll(log, 3)
    expect([background.step(), syncs.waiting]).toEqual([0, 0])
    expect(log.recoveryPoint).toBe(log.logEndOffset)
  })

  it('while a sync is under way has the next one begun when that ends', () => {
    const { syncs, background, log } = world()
    roll(log, 1)
    background.step()
    roll(log, 2)
    expect([background.step(), background.underWayCount]).toEqual([0, 1])
    const first = syncs.waiting
    syncs.finish()
    background.step()
    expect([first, syncs.waiting]).toEqual([8, 11])
    syncs.finish()
    background.step()
    expect(log.recoveryPoint).toBe(log.endPosition.segmentBase)
  })
})

describe('a flush that is due by time', () => {
  it('is made elsewhere, of everything, and counts from when it was begun', () => {
    const clock = new ManualClock()
    const config = { flush: { kind: 'interval', ms: 100 } } as const
    const { fs, syncs, background, log } = world(config, clock)
    fs.goodSyncs = 0
    appendBatches(log, 2)
    expect(log.flushIfDue(clock.nowMs())).toBe(false)
    clock.advance(100)
    expect([log.flushIfDue(clock.nowMs()), log.recoveryPoint]).toEqual([true, 0])
    background.step()
    appendBatches(log, 1)
    clock.advance(99)
    expect(log.flushIfDue(clock.nowMs())).toBe(false)
    syncs.finish()
    background.step()
    expect([log.recoveryPoint, log.flushIfDue(clock.nowMs())]).toEqual([4, false])
    clock.advance(1)
    expect(log.flushIfDue(clock.nowMs())).toBe(true)
    background.step()
    syncs.finish()
    background.step()
    clock.advance(1_000)
    expect([log.recoveryPoint, log.flushIfDue(clock.nowMs())]).toEqual([6, false])
    expect(fs.syncFailed).toBe(false)
  })
})

describe('a sync elsewhere that fails', () => {
  it('ends the log’s writing life, at whatever file, and is never tried again', () => {
    for (let good = 0; good < 9; good += 1) {
      const { elsewhere, syncs, background, log } = world()
      roll(log, 2)
      const labels = labelsOf(log)
      elsewhere.goodSyncs = good
      background.step()
      syncs.finish()
      background.step()
      expect(log.failure).toMatchObject({
        code: 'KAFKA_STORAGE_ERROR',
        message: expect.stringContaining('EIO'),
      })
      expect(background.takeFailed()).toEqual([log])
      expect(background.hasFailed).toBe(false)
      for (const attempt of [() => appendBatches(log, 1), () => log.flush()]) {
        expect(attempt).toThrow(expect.objectContaining({ code: 'KAFKA_STORAGE_ERROR' }))
      }
      expect([background.step(), syncs.waiting, log.recoveryPoint]).toEqual([0, 0, 0])
      expect(labelsOf(log)).toEqual(labels)
      log.close()
    }
  })

  it('fails the log though its own thread has synced all of it meanwhile', () => {
    const { elsewhere, syncs, background, log } = world()
    roll(log, 2)
    background.step()
    log.flush()
    // The system tells of a write that failed once, and it was the other thread that heard it.
    expect(log.recoveryPoint).toBe(0)
    elsewhere.goodSyncs = 0
    syncs.finish()
    background.step()
    expect([log.failure?.code, log.recoveryPoint]).toEqual(['KAFKA_STORAGE_ERROR', 0])
  })

  it('a file that is missing is one, unless the log has dropped it', () => {
    const kept = world()
    roll(kept.log, 2)
    kept.background.step()
    kept.disk.remove(`${directory}/${'0'.repeat(20)}.log`)
    kept.syncs.finish()
    kept.background.step()
    expect(kept.log.failure?.message).toContain('is gone')
    const dropped = world()
    roll(dropped.log, 2)
    dropped.background.step()
    dropped.log.truncateFullyAndStartAt(700)
    dropped.syncs.finish()
    dropped.background.step()
    expect([dropped.log.failure, dropped.log.recoveryPoint]).toEqual([undefined, 0])
  })
})

describe('what happens while a sync is under way', () => {
  it('a flush makes all durable at once, and counts when the sync has ended', () => {
    const { disk, syncs, background, log } = world()
    roll(log, 2)
    background.step()
    syncs.advance()
    log.flush()
    const end = log.logEndOffset
    expect(log.recoveryPoint).toBe(0)
    syncs.finish()
    background.step()
    expect(log.recoveryPoint).toBe(end)
    const early = world()
    roll(early.log, 2)
    early.background.step()
    early.log.flush()
    const labels = labelsOf(early.log)
    expect(afterPowerLoss(early.disk, early.log.recoveryPoint)).toEqual(labels)
    expect(disk.openCount).toBeGreaterThan(0)
  })

  it('a truncation anywhere, at any moment of it, leaves no recovery point above the disk', () => {
    const { logEndOffset: end } = rolled(0).log
    for (let advances = 0; advances <= 10; advances += 1) {
      for (let cut = 0; cut <= end; cut += 4) {
        for (const appends of [0, 1, 30]) {
          const { disk, syncs, background, log } = rolled(advances)
          log.truncateTo(cut)
          appendBatches(log, appends, 2, 5)
          syncs.finish()
          background.step()
          const { recoveryPoint } = log
          const labels = labelsOf(log)
          const survived = afterPowerLoss(disk, recoveryPoint)
          const whole = labels.filter((label) => Number.parseInt(label, 10) < recoveryPoint)
          expect(survived.slice(0, whole.length), `${advances} ${cut} ${appends}`).toEqual(whole)
        }
      }
    }
  })

  it('closing drops it', () => {
    const { syncs, background, log } = world()
    roll(log, 1)
    background.step()
    log.close({ flush: false })
    syncs.finish()
    expect([background.step(), log.recoveryPoint]).toEqual([1, 0])
  })

  it('draining ends all of it, or says that it could not', () => {
    const { syncs, background, log } = world()
    roll(log, 3)
    background.step()
    const { waiting } = syncs
    expect(background.drain(waiting)).toBe(false)
    expect(background.drain(100)).toBe(true)
    expect(log.recoveryPoint).toBe(log.endPosition.segmentBase)
  })
})

/** Two segments complete, their sync under way and `advances` files far. */
function rolled(advances: number) {
  const all = world()
  roll(all.log, 2)
  appendBatches(all.log, 2)
  all.background.step()
  for (let at = 0; at < advances; at += 1) all.syncs.advance()
  return all
}
