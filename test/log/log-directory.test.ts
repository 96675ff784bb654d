import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { LogDirectory } from '../../src/log/log-directory.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const owner = { clusterId: 'c', nodeId: 1 }

function openDirectory(directory: string): LogDirectory {
  return LogDirectory.open({ directory, ...owner })
}

describe('the lock', () => {
  it('refuses a second owner in this process, by name, until the first closes', () => {
    const directory = path.join(temporaryDirectory(), 'made', 'when', 'absent')
    const first = openDirectory(directory)
    expect(() => openDirectory(directory)).toThrow(
      expect.objectContaining({
        code: 'DIRECTORY_IN_USE',
        message: expect.stringContaining(directory),
      }),
    )
    first.close()
    first.close()
    openDirectory(directory).close()
  })

  it('keeps out, and is kept out by, another process', () => {
    const directory = temporaryDirectory()
    const fsExt = createRequire(import.meta.url).resolve('fs-ext')
    const script = `
      const fs = require('fs'), { flockSync } = require(${JSON.stringify(fsExt)})
      try { flockSync(fs.openSync(process.argv[1], 'r+'), 'exnb') } catch (e) { process.exit(9) }
      process.exit(0)`
    const lock = path.join(directory, '.lock')
    const other = () => spawnSync(process.execPath, ['-e', script, lock]).status
    const mine = openDirectory(directory)
    expect(other()).toBe(9)
    mine.close()
    expect(other()).toBe(0)
  })

  it('is let go when opening fails', () => {
    const directory = temporaryDirectory()
    fs.writeFileSync(path.join(directory, 'meta.properties'), 'version=7\n')
    expect(() => openDirectory(directory)).toThrow(
      expect.objectContaining({ code: 'CORRUPT_FILE' }),
    )
    fs.rmSync(path.join(directory, 'meta.properties'))
    openDirectory(directory).close()
  })

  it('on a path that is a file says so', () => {
    const file = path.join(temporaryDirectory(), 'file')
    fs.writeFileSync(file, '')
    expect(() => openDirectory(file)).toThrow(
      expect.objectContaining({
        code: 'KAFKA_STORAGE_ERROR',
        message: expect.stringContaining(file),
      }),
    )
  })
})

describe('meta.properties', () => {
  it('names the directory for good', () => {
    const directory = temporaryDirectory()
    const makeId = () => new Uint8Array(16).fill(1)
    const first = LogDirectory.open({ directory, ...owner, makeId })
    first.close()
    const text = fs.readFileSync(path.join(directory, 'meta.properties'), 'utf8')
    expect(text.trim().split('\n').sort()).toEqual([
      'cluster.id=c',
      'directory.id=AQEBAQEBAQEBAQEBAQEBAQ',
      'node.id=1',
      'version=1',
    ])
    const again = openDirectory(directory)
    expect(again.properties).toEqual(first.properties)
    again.close()
  })

  it('is read as Kafka writes it', () => {
    const directory = temporaryDirectory()
    const text = '#\n#Mon Nov 30 10:00:00 UTC 2026\ncluster.id=c\\=\\=\nversion=1\nnode.id=1\n'
    fs.writeFileSync(path.join(directory, 'meta.properties'), text)
    const opened = LogDirectory.open({ directory, clusterId: 'c==', nodeId: 1 })
    expect(opened.properties).toEqual({ clusterId: 'c==', nodeId: 1, directoryId: undefined })
    opened.close()
  })

  it.each([
    ['another cluster', { clusterId: 'd', nodeId: 1 }, 'INCONSISTENT_CLUSTER_ID'],
    ['another node', { clusterId: 'c', nodeId: 2 }, 'INVALID_CONFIG'],
  ])('of %s is refused', (_, other, code) => {
    const directory = temporaryDirectory()
    openDirectory(directory).close()
    expect(() => LogDirectory.open({ directory, ...other })).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(directory) }),
    )
  })

  it.each([
    'version=2\ncluster.id=c\nnode.id=1\n',
    'version=1\nnode.id=1\n',
    '',
    'version=1\ncluster.id=c\nnode.id=x\n',
  ])('that reads %j is refused', (text) => {
    const directory = temporaryDirectory()
    fs.writeFileSync(path.join(directory, 'meta.properties'), text)
    expect(() => openDirectory(directory)).toThrow(
      expect.objectContaining({ code: 'CORRUPT_FILE' }),
    )
  })
})

describe('conformance 102: the mark of a clean shutdown', () => {
  it('is gone as soon as the directory is opened, and written by a clean close only', () => {
    const directory = temporaryDirectory()
    const mark = path.join(directory, '.kafka_cleanshutdown')
    const first = openDirectory(directory)
    expect([first.cleanShutdown, first.previousBrokerEpoch]).toEqual([false, -1])
    first.close(17)
    expect(JSON.parse(fs.readFileSync(mark, 'utf8'))).toEqual({ version: 0, brokerEpoch: 17 })
    const second = openDirectory(directory)
    expect([second.cleanShutdown, second.previousBrokerEpoch]).toEqual([true, 17])
    expect(fs.existsSync(mark)).toBe(false)
    second.close()
    const third = openDirectory(directory)
    expect(third.cleanShutdown).toBe(false)
    third.close()
  })

  it.each(['', 'not json', '[]', 'null', '{"brokerEpoch":"x"}'])(
    'counts with content %j',
    (text) => {
      const directory = temporaryDirectory()
      fs.writeFileSync(path.join(directory, '.kafka_cleanshutdown'), text)
      const opened = openDirectory(directory)
      expect([opened.cleanShutdown, opened.previousBrokerEpoch]).toEqual([true, -1])
      opened.close()
    },
  )
})

describe('conformance 44: checkpoints', () => {
  it('are written as a whole and come back', () => {
    const directory = temporaryDirectory()
    const opened = openDirectory(directory)
    expect(opened.readCheckpoint('highWatermark')).toEqual(new Map())
    opened.writeCheckpoint('highWatermark', [
      { topic: 'a-b', partition: 0, offset: 5 },
      { topic: 'c', partition: 12, offset: 2 ** 40 },
    ])
    const file = path.join(directory, 'replication-offset-checkpoint')
    expect(fs.readFileSync(file, 'utf8')).toBe('0\n2\na-b 0 5\nc 12 1099511627776\n')
    expect([...opened.readCheckpoint('highWatermark')]).toEqual([
      ['a-b-0', 5],
      ['c-12', 2 ** 40],
    ])
    opened.writeCheckpoint('highWatermark', [])
    expect(opened.readCheckpoint('highWatermark').size).toBe(0)
    expect(opened.readCheckpoint('recoveryPoint').size).toBe(0)
    opened.close()
  })

  it.each([
    '0\n1\nt 0\n',
    '0\n1\nt x 5\n',
    '0\n1\nt 0 -5\n',
    '0\n1\n../t 0 5\n',
    '0\n1\nt 0 5 6\n',
  ])('that read %j are refused by file and line', (text) => {
    const directory = temporaryDirectory()
    const opened = openDirectory(directory)
    fs.writeFileSync(path.join(directory, 'recovery-point-offset-checkpoint'), text)
    expect(() => opened.readCheckpoint('recoveryPoint')).toThrow(
      expect.objectContaining({
        code: 'CORRUPT_FILE',
        message: expect.stringContaining('recovery-point-offset-checkpoint line 3'),
      }),
    )
    opened.close()
  })
})

it.each(['', '0\n2\na-b 0 5\n', '\0\0\0\0'])(
  'high watermarks that a loss of power left as %j are none',
  (text) => {
    const directory = temporaryDirectory()
    const opened = openDirectory(directory)
    fs.writeFileSync(path.join(directory, 'replication-offset-checkpoint'), text)
    expect(opened.readCheckpoint('highWatermark')).toEqual(new Map())
    opened.close()
  },
)

describe('partitions', () => {
  it('are the directories named as such', () => {
    const directory = temporaryDirectory()
    const opened = openDirectory(directory)
    for (const name of ['b-1', 'a-0', 'a-1.0123456789abcdef0123456789abcdef-delete', 'x']) {
      fs.mkdirSync(path.join(directory, name))
    }
    fs.writeFileSync(path.join(directory, 'file-0'), '')
    expect(opened.partitions()).toEqual([
      { topic: 'a', partition: 0, directory: path.join(directory, 'a-0') },
      { topic: 'b', partition: 1, directory: path.join(directory, 'b-1') },
    ])
    const partition = { topic: 'new', partition: 3 }
    expect(opened.partitionDirectory(partition)).toBe(path.join(directory, 'new-3'))
    expect(() => opened.partitionDirectory({ topic: '../x', partition: 0 })).toThrow(
      expect.objectContaining({ code: 'INVALID_TOPIC_EXCEPTION' }),
    )
    opened.close()
  })
})
