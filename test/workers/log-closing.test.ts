import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import { SeededRandom } from '../../src/lab/statistics-random.ts'
import type { FileSystem } from '../../src/log/file-system.ts'
import { logConfigDefaults } from '../../src/log/log-config.ts'
import { OpenFiles } from '../../src/log/open-files.ts'
import { PartitionLog } from '../../src/log/partition-log.ts'
import { DeferredSyncs } from '../../src/workers/deferred-syncs.ts'
import { fileSystemSync, tellsOfFailures } from '../../src/workers/file-system-sync.ts'
import { closeLogs } from '../../src/workers/log-closing.ts'
import { appendBatches, readAll } from '../log/log-fixture.ts'
import { MemoryFileSystem } from '../support/memory-file-system.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const root = '/broker'

/** A disk whose calls are counted, and logs on it with a batch each. */
function world(count: number) {
  const disk = new MemoryFileSystem()
  const calls = new Map<string, number>()
  const counted = Object.fromEntries(
    Object.getOwnPropertyNames(MemoryFileSystem.prototype).map((name) => [
      name,
      (...args: unknown[]) => {
        calls.set(name, (calls.get(name) ?? 0) + 1)
        return (disk as unknown as Record<string, (...args: unknown[]) => unknown>)[name]!(...args)
      },
    ]),
  ) as unknown as FileSystem
  const syncs = new DeferredSyncs(counted)
  const open = (fs: FileSystem, at: number, files = new OpenFiles(fs, 50)): PartitionLog =>
    PartitionLog.open({
      directory: `${root}/t-${at}`,
      topic: 't',
      partition: at,
      topicId: 'AAAAAAAAAAAAAAAAAAAAAA',
      config: logConfigDefaults,
      clock: new ManualClock(),
      cleanShutdown: true,
      files,
    })
  const files = new OpenFiles(syncs.fs, 50)
  const logs = Array.from({ length: count }, (_, at) => open(syncs.fs, at, files))
  for (const log of logs) appendBatches(log, 1)
  calls.clear()
  /** What the system's own call does: every file and every directory below. */
  const syncEverything = (directory: string): void => {
    disk.syncDirectory(directory)
    for (const name of disk.list(directory) ?? []) {
      const path = `${directory}/${name}`
      if (disk.isDirectory(path)) {
        syncEverything(path)
        continue
      }
      const fd = disk.open(path, 'read')
      disk.dataSync(fd)
      disk.close(fd)
    }
  }
  return { disk, calls, syncs, logs, open, syncEverything }
}

describe('many logs', () => {
  it('are closed with one sync, and the disk has all of them', () => {
    const { disk, calls, syncs, logs, open, syncEverything } = world(300)
    const synced: string[] = []
    const findSync = () => (directory: string) => {
      expect(logs.every(({ recoveryPoint }) => recoveryPoint === 2)).toBe(true)
      synced.push(directory)
      syncEverything('/')
      return true
    }
    const whole = { syncs, findSync }
    const outcome = closeLogs({ logs, directory: root, whole }, { flush: true })
    expect(outcome).toEqual({ isClean: true, arePointsTrue: true })
    expect(synced).toEqual([root])
    expect([calls.get('dataSync'), calls.get('syncDirectory')]).toEqual([undefined, undefined])
    disk.crash(new SeededRandom(1), 'none')
    for (let at = 0; at < 300; at += 1) expect(readAll(open(disk, at))).toHaveLength(2)
  })

  it('make no file each for what a look at their few batches tells as well', () => {
    const { calls, syncs, logs } = world(300)
    const whole = { syncs, findSync: () => () => true }
    closeLogs({ logs, directory: root, whole }, { flush: true })
    expect(calls.get('write')).toBeUndefined()
    expect(calls.get('rename')).toBeUndefined()
    // Each log's data file at most: what was closed meanwhile, for want of descriptors.
    expect(calls.get('open') ?? 0).toBeLessThanOrEqual(2 * 300)
  })

  it('are not vouched for when that sync fails', () => {
    const { syncs, logs } = world(300)
    const whole = { syncs, findSync: () => () => false }
    const outcome = closeLogs({ logs, directory: root, whole }, { flush: true })
    expect(outcome).toEqual({ isClean: false, arePointsTrue: false })
  })

  it('are synced for themselves where there is no such call, and not at all if not to be', () => {
    const { calls, syncs, logs } = world(300)
    const whole = { syncs, findSync: () => undefined }
    expect(closeLogs({ logs, directory: root, whole }, { flush: true }).isClean).toBe(true)
    expect(calls.get('dataSync')).toBeGreaterThanOrEqual(300)
    const other = world(300)
    const never = { syncs: other.syncs, findSync: () => expect.unreachable() }
    const parts = { logs: other.logs, directory: root, whole: never }
    expect(closeLogs(parts, { flush: false })).toEqual({ isClean: false, arePointsTrue: true })
  })
})

describe('few logs', () => {
  it('are synced one by one: others may have left the system much to write', () => {
    const { calls, syncs, logs } = world(20)
    const whole = { syncs, findSync: () => expect.unreachable() }
    const outcome = closeLogs({ logs, directory: root, whole }, { flush: true })
    expect(outcome).toEqual({ isClean: true, arePointsTrue: true })
    expect(calls.get('dataSync')).toBeGreaterThanOrEqual(20)
  })
})

describe('the sync of a whole file system', () => {
  it('is believed from the kernel on that tells of failed writes', () => {
    const told = ['4.19.0-25', '5.7.99', '5.8.0', '5.15.0-91-generic', '6.1', 'unknown']
    expect(told.map(tellsOfFailures)).toEqual([false, false, true, true, true, false])
  })

  it('does its work where there is one, and says when it could not', () => {
    const sync = fileSystemSync()
    if (sync === undefined) return
    const directory = temporaryDirectory()
    expect(sync(directory)).toBe(true)
    expect(sync(`${directory}/absent`)).toBe(false)
  })
})
