/** What a loss of power does to a log, one case each; `test/crash` looks for more of them. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { SeededRandom } from '../../src/lab/statistics-random.ts'
import { type FileSystem, realFileSystem } from '../../src/log/file-system.ts'
import { LogDirectory } from '../../src/log/log-directory.ts'
import { recoverLog } from '../../src/log/log-recovery.ts'
import { OpenFiles } from '../../src/log/open-files.ts'
import type { PartitionLog } from '../../src/log/partition-log.ts'
import { stampedRun, textRecords } from '../support/batch-builder.ts'
import { MemoryFileSystem, systemError } from '../support/memory-file-system.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { appendBatches, labelsOf, openLog, smallConfig } from './log-fixture.ts'

const random = new SeededRandom(1)
const directory = '/disk/t-0'

function newDisk(): MemoryFileSystem {
  const disk = new MemoryFileSystem()
  disk.makeDirectory('/disk')
  disk.syncDirectory('/')
  return disk
}

/** Batches of two records from the log's end on, as a leader of that epoch stamped them. */
function replicate(log: PartitionLog, batches: number, leaderEpoch: number): void {
  for (let at = 0; at < batches; at += 1) {
    const name = `e${leaderEpoch}-${log.logEndOffset}`
    log.appendReplicated(stampedRun([textRecords(2, name)], log.logEndOffset, leaderEpoch))
  }
}

describe('what was flushed', () => {
  it('survives in a directory that nobody had synced', () => {
    const disk = newDisk()
    const log = openLog({ directory, fs: disk })
    appendBatches(log, 20)
    log.flush()
    const labels = labelsOf(log)
    disk.crash(random, 'none')
    expect(labelsOf(openLog({ directory, fs: disk }))).toEqual(labels)
  })

  it('keeps the indexes of segments that nobody reads again', () => {
    const disk = newDisk()
    const log = openLog({ directory, fs: disk })
    while (log.segmentCount < 4) appendBatches(log, 1)
    log.flush()
    const names = disk.list(directory)!.filter((name) => name.endsWith('index'))
    const before = names.map((name) => disk.readFile(`${directory}/${name}`))
    expect(names.length).toBe(6)
    disk.crash(random, 'none')
    expect(names.map((name) => disk.readFile(`${directory}/${name}`))).toEqual(before)
  })

  it('keeps the indexes of a segment that was complete only after the flush', () => {
    const disk = newDisk()
    const log = openLog({ directory, fs: disk })
    while (log.sizeBytes < 850) appendBatches(log, 1)
    log.flush()
    const { recoveryPoint } = log
    while (log.segmentCount === 1) appendBatches(log, 1, 8)
    expect(log.segmentCount).toBe(2)
    const name = `${directory}/${'0'.repeat(20)}.index`
    const index = disk.readFile(name)
    disk.syncDirectory(directory)
    disk.crash(random, 'none')
    expect(disk.readFile(name)).not.toEqual(index)
    openLog({ directory, fs: disk, recoveryPoint })
    expect(disk.readFile(name)).toEqual(index)
  })

  it('stays cut off after a restart of the process, when the flush came later', () => {
    const disk = newDisk()
    const before = openLog({ directory, fs: disk })
    appendBatches(before, 40)
    before.flush()
    before.truncateTo(20)
    disk.closeAll()
    const files = new OpenFiles(disk)
    recoverLog(directory, { recoveryPoint: 20, logStartOffset: 0, config: smallConfig, files })
    const options = { directory, cleanShutdown: true, recoveryPoint: 20 }
    openLog({ ...options, files, recovered: true }).close()
    disk.crash(random, 'none')
    expect(openLog({ ...options, fs: disk }).logEndOffset).toBe(20)
  })
})

describe('a mark of a clean shutdown', () => {
  it('does not come back once it was read', () => {
    const disk = newDisk()
    const open = () =>
      LogDirectory.open({ directory: '/disk/b', clusterId: 'c', nodeId: 1, fs: disk })
    open().close(7)
    disk.crash(random, 'none')
    expect(open().cleanShutdown).toBe(true)
    disk.crash(random, 'none')
    expect(open().cleanShutdown).toBe(false)
  })
})

describe('recovery', () => {
  const options = { recoveryPoint: 0, logStartOffset: 0, config: smallConfig }

  it('ends the log at a hole between segments', () => {
    const disk = temporaryDirectory()
    const log = openLog({ directory: disk })
    appendBatches(log, 2)
    const { sizeBytes } = log
    appendBatches(log, 30)
    expect(log.segmentCount).toBeGreaterThan(2)
    log.close()
    fs.truncateSync(path.join(disk, `${'0'.repeat(20)}.log`), sizeBytes)
    expect(recoverLog(disk, options)).toMatchObject({ logEndOffset: 4 })
    expect(labelsOf(openLog({ directory: disk, cleanShutdown: true }))).toHaveLength(4)
  })

  it('ends the log where epochs go back: there the remains of a truncated log begin', () => {
    const [old, disk] = [temporaryDirectory(), temporaryDirectory()]
    const before = openLog({ directory: old })
    replicate(before, 3, 1)
    before.close()
    const log = openLog({ directory: disk })
    replicate(log, 1, 1)
    replicate(log, 1, 2)
    log.close()
    const name = `${'0'.repeat(20)}.log`
    const remains = fs.readFileSync(path.join(old, name)).subarray(log.sizeBytes)
    fs.appendFileSync(path.join(disk, name), remains)
    expect(recoverLog(disk, options)).toMatchObject({
      logEndOffset: 4,
      truncatedBytes: remains.length,
    })
  })
})

describe('a leader', () => {
  it('is refused when its epoch goes back', () => {
    const log = openLog()
    appendBatches(log, 1, 2, 5)
    expect(() => appendBatches(log, 1, 2, 4)).toThrow(
      expect.objectContaining({ code: 'FENCED_LEADER_EPOCH' }),
    )
    expect(log.logEndOffset).toBe(2)
    appendBatches(log, 1, 2, 5)
  })
})

describe('a truncation', () => {
  it('is on disk before a new segment is, which would go on from what was cut off', () => {
    const disk = newDisk()
    const log = openLog({ directory, fs: disk })
    replicate(log, 4, 1)
    log.flush()
    log.truncateTo(4)
    while (log.segmentCount === 1) replicate(log, 1, 2)
    disk.crash(random, 'none')
    const labels = labelsOf(openLog({ directory, fs: disk }))
    expect(labels.slice(0, 5).at(-1)).toBe('4:e2-4-0')
  })

  it('below the recovery point leaves no hole, whatever of it reached the disk', () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const disk = newDisk()
      const log = openLog({ directory, fs: disk })
      appendBatches(log, 40)
      log.flush()
      const labels = labelsOf(log)
      log.truncateTo(6)
      disk.crash(new SeededRandom(seed), 'mixed')
      const found = labelsOf(openLog({ directory, fs: disk, recoveryPoint: 80 }))
      expect(found).toEqual(labels.slice(0, found.length))
    }
  })

  it('within a batch, and a roll after it, leave a log that recovery takes whole', () => {
    const disk = temporaryDirectory()
    const log = openLog({ directory: disk })
    appendBatches(log, 1, 4)
    while (log.sizeBytes < 850) appendBatches(log, 1, 4)
    const end = log.logEndOffset
    log.truncateTo(end - 1)
    expect(log.logEndOffset).toBe(end - 1)
    appendBatches(log, 1, 40)
    expect(log.segmentCount).toBe(2)
    const labels = labelsOf(log)
    log.close()
    expect(labelsOf(openLog({ directory: disk }))).toEqual(labels)
  })

  it('is not undone by an append that fails after it', () => {
    const disk = temporaryDirectory()
    let isFull = false
    const faulty: FileSystem = {
      ...realFileSystem,
      open(file, mode) {
        if (isFull && file.includes('leader-epoch')) throw systemError('ENOSPC', file)
        return realFileSystem.open(file, mode)
      },
    }
    const log = openLog({ directory: disk, fs: faulty })
    appendBatches(log, 1)
    appendBatches(log, 3)
    log.truncateTo(6)
    const labels = labelsOf(log)
    isFull = true
    expect(() => appendBatches(log, 1, 2, 1)).toThrow(
      expect.objectContaining({ code: 'KAFKA_STORAGE_ERROR' }),
    )
    expect(labelsOf(log)).toEqual(labels)
    expect(labelsOf(openLog({ directory: disk }))).toEqual(labels)
  })
})

describe('the first segment', () => {
  it('has its entry on disk before there is a second, lest the beginning be lost alone', () => {
    const disk = newDisk()
    const log = openLog({ directory, fs: disk })
    while (log.segmentCount === 1) appendBatches(log, 1)
    disk.syncDirectory('/disk')
    disk.crash(random, 'none')
    expect(disk.list(directory)).toContain(`${'0'.repeat(20)}.log`)
  })
})

describe('partition.metadata', () => {
  const topicId = 'AAECAwQFBgcICQoLDA0ODw'
  const whole = `version: 0\ntopic_id: ${topicId}`

  it('torn anywhere is written anew', () => {
    for (let length = 0; length <= whole.length; length += 1) {
      const disk = temporaryDirectory()
      const file = path.join(disk, 'partition.metadata')
      const torn = length % 2 === 0 ? '' : '\0'.repeat(whole.length - length)
      fs.writeFileSync(file, whole.slice(0, length) + torn)
      openLog({ directory: disk, topicId }).close()
      expect(fs.readFileSync(file, 'utf8')).toBe(whole)
    }
  })

  it('of something else is refused', () => {
    const disk = temporaryDirectory()
    for (const text of ['version: 1', 'name: x', 'version: 0\ntopic: x', `${whole}\nmore`]) {
      fs.writeFileSync(path.join(disk, 'partition.metadata'), text)
      expect(() => openLog({ directory: disk, topicId })).toThrow(
        expect.objectContaining({ code: 'CORRUPT_FILE' }),
      )
    }
  })
})
