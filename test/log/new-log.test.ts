/** What it costs to make a log: thousands are made at once. */
import { describe, expect, it } from 'vitest'
import type { FileSystem } from '../../src/log/file-system.ts'
import { readTopicId } from '../../src/log/partition-metadata.ts'
import { MemoryFileSystem } from '../support/memory-file-system.ts'
import { appendBatches, openLog, readAll } from './log-fixture.ts'

const topicId = 'AAAAAAAAAAAAAAAAAAAAAA'
const setup = { directory: '/broker/t-0', topicId, cleanShutdown: true }

function countedDisk() {
  const disk = new MemoryFileSystem()
  const calls: Record<string, number> = {}
  const fs = new Proxy(disk, {
    get(target, name: keyof FileSystem) {
      return (...args: never[]) => {
        calls[name] = (calls[name] ?? 0) + 1
        return (target[name] as (...args: never[]) => unknown)(...args)
      }
    },
  })
  return { disk, fs, calls }
}

describe('a log that ended cleanly', () => {
  function endedLog() {
    const counted = countedDisk()
    const log = openLog({ ...setup, fs: counted.disk })
    appendBatches(log, 2)
    log.close()
    return counted
  }

  it('lists its directory once, and believes its owner about the topic’s id', () => {
    const countsOf = (foundTopicId?: string) => {
      const { fs, calls } = endedLog()
      const log = openLog({ ...setup, fs, foundTopicId })
      const { list = 0, isDirectory = 0, readFile = 0 } = calls
      expect([log.logEndOffset, log.leaderEpochs.latest]).toEqual([4, 0])
      expect(readAll(log)).toHaveLength(4)
      return { list, isDirectory, readFile }
    }
    const { readFile } = countsOf()
    expect(countsOf()).toEqual({ list: 1, isDirectory: 1, readFile })
    expect(countsOf(topicId)).toEqual({ list: 1, isDirectory: 0, readFile: readFile - 1 })
  })

  it('is another topic’s, whoever has read that', () => {
    const { fs } = endedLog()
    const foundTopicId = 'BAAAAAAAAAAAAAAAAAAAAA'
    const expected = expect.objectContaining({ code: 'INCONSISTENT_TOPIC_ID' })
    expect(() => openLog({ ...setup, fs, foundTopicId })).toThrow(expected)
  })
})

describe('a new log', () => {
  it('takes a directory, its topic’s id and a segment, and looks for nothing in it', () => {
    const { disk, fs, calls } = countedDisk()
    openLog({ ...setup, fs })
    expect(calls).toEqual({
      isDirectory: 1,
      makeDirectory: 1,
      open: 2,
      write: 1,
      close: 2,
    })
    expect(disk.list(setup.directory)?.sort()).toEqual([
      '00000000000000000000.log',
      'partition.metadata',
    ])
    expect(readTopicId(disk, setup.directory)).toBe(topicId)
  })

  it.each(['version: 0\ntopic_id: AAAA', '', '\0\0\0\0'])(
    'whose id a crash has torn (%j) gets it again',
    (torn) => {
      const { disk } = countedDisk()
      disk.makeDirectory(setup.directory)
      const fd = disk.open(`${setup.directory}/partition.metadata`, 'create')
      const bytes = Buffer.from(torn)
      disk.write(fd, bytes, 0, bytes.length, 0)
      disk.close(fd)
      const log = openLog({ ...setup, fs: disk })
      appendBatches(log, 2)
      expect(readTopicId(disk, setup.directory)).toBe(topicId)
      log.close()
      expect(readAll(openLog({ ...setup, fs: disk }))).toHaveLength(4)
    },
  )

  it('begins where it is told to', () => {
    const { disk } = countedDisk()
    const log = openLog({ ...setup, fs: disk, logStartOffset: 7 })
    expect([log.logStartOffset, log.logEndOffset]).toEqual([7, 7])
    expect(disk.list(setup.directory)).toContain('00000000000000000007.log')
  })
})
