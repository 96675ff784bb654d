import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { segmentPath } from '../../src/log/file-names.ts'
import { readLeaderEpochs } from '../../src/log/leader-epochs.ts'
import { recoverLog } from '../../src/log/log-recovery.ts'
import type { PartitionLog } from '../../src/log/partition-log.ts'
import {
  labels as labelsOfRecords,
  stampedRun,
  textRecord,
  textRecords,
} from '../support/batch-builder.ts'
import { copyDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { appendBatches, labelsOf, openLog, readAll, smallConfig } from './log-fixture.ts'

const fromStart = { recoveryPoint: 0, logStartOffset: 0, config: smallConfig }

function fileOf(directory: string, baseOffset: number, suffix = '.log'): string {
  return path.join(directory, String(baseOffset).padStart(20, '0') + suffix)
}

function basesIn(directory: string): number[] {
  const names = fs.readdirSync(directory).filter((name) => name.endsWith('.log'))
  return names.map((name) => Number(name.slice(0, 20))).sort((a, b) => a - b)
}

/** A log as a crash leaves it: whatever was written is there, nothing was completed. */
function crashedLog(batches: number): { directory: string; log: PartitionLog; labels: string[] } {
  const directory = temporaryDirectory()
  const log = openLog({ directory })
  appendBatches(log, batches)
  return { directory, log, labels: labelsOf(log) }
}

function flipByte(file: string, position: number): void {
  const bytes = fs.readFileSync(file)
  bytes[position] ^= 0x01
  fs.writeFileSync(file, bytes)
}

describe('conformance 99: a torn tail', () => {
  it('at every byte of the last batch leaves all batches before it', () => {
    const { directory, log, labels } = crashedLog(5)
    const file = fileOf(directory, 0)
    const bytes = fs.readFileSync(file)
    const before = log.sizeBytes - Math.floor(log.sizeBytes / 5)
    const lastStart = bytes.lastIndexOf(bytes.subarray(8, 12), before + 20) - 8
    for (let size = lastStart; size < bytes.length; size += 1) {
      const copy = copyDirectory(directory)
      fs.truncateSync(fileOf(copy, 0), size)
      const summary = recoverLog(copy, fromStart)
      expect(summary).toMatchObject({ logEndOffset: 8, truncatedBytes: size - lastStart })
      expect(fs.statSync(fileOf(copy, 0)).size).toBe(lastStart)
      const again = openLog({ directory: copy, cleanShutdown: true })
      expect(labelsOf(again)).toEqual(labels.slice(0, 8))
      appendBatches(again, 1)
      expect(again.logEndOffset).toBe(10)
      again.close()
    }
  })

  it('of anything but batches is cut', () => {
    const { directory, labels } = crashedLog(4)
    const tails = [
      Buffer.alloc(1),
      Buffer.alloc(61),
      Buffer.alloc(5_000),
      Buffer.alloc(300, 0xff),
      Buffer.from('00000000000000080000003200000000020000', 'hex'),
    ]
    for (const tail of tails) {
      const copy = copyDirectory(directory)
      fs.appendFileSync(fileOf(copy, 0), tail)
      expect(recoverLog(copy, fromStart).truncatedBytes).toBe(tail.length)
      expect(labelsOf(openLog({ directory: copy, cleanShutdown: true }))).toEqual(labels)
    }
  })

  it('that repeats an earlier batch is cut', () => {
    const { directory, labels } = crashedLog(4)
    const file = fileOf(directory, 0)
    fs.appendFileSync(file, fs.readFileSync(file).subarray(0, 80))
    recoverLog(directory, fromStart)
    expect(labelsOf(openLog({ directory, cleanShutdown: true }))).toEqual(labels)
  })
})

describe('conformance 88: damage', () => {
  it('in a batch cuts there, and removes the segments after', () => {
    const { directory, labels } = crashedLog(50)
    const bases = basesIn(directory)
    expect(bases.length).toBeGreaterThan(3)
    flipByte(fileOf(directory, bases[1]), 200)
    const summary = recoverLog(directory, fromStart)
    expect(basesIn(directory)).toEqual(bases.slice(0, 2))
    expect(summary.logEndOffset).toBeLessThan(bases[2])
    expect(summary.logEndOffset).toBeGreaterThan(bases[1])
    expect(summary.segmentsScanned).toBe(2)
    const log = openLog({ directory, cleanShutdown: true })
    expect(labelsOf(log)).toEqual(labels.slice(0, summary.logEndOffset))
  })

  it('below the recovery point is not looked for', () => {
    const { directory } = crashedLog(50)
    const bases = basesIn(directory)
    flipByte(fileOf(directory, bases[0]), 200)
    const summary = recoverLog(directory, { ...fromStart, recoveryPoint: bases[2] + 1 })
    expect(summary).toMatchObject({ logEndOffset: 100, truncatedBytes: 0 })
    expect(summary.segmentsScanned).toBe(bases.length - 2)
  })

  it.each([
    ['missing', (file: string) => fs.rmSync(file)],
    ['empty', (file: string) => fs.writeFileSync(file, '')],
    ['cut', (file: string) => fs.truncateSync(file, 5)],
    ['of nonsense', (file: string) => fs.writeFileSync(file, Buffer.alloc(64, 0x7f))],
    ['of zeros', (file: string) => fs.writeFileSync(file, Buffer.alloc(240))],
  ])('in an index that is %s is repaired, and reads don’t depend on it', (_, damage) => {
    const { directory, log, labels } = crashedLog(50)
    log.close()
    const bases = basesIn(directory)
    const read = (name: string) => fs.readFileSync(path.join(directory, name))
    const indexes = fs.readdirSync(directory).filter((name) => name.endsWith('index'))
    expect(indexes.length).toBe(2 * bases.length)
    const originals = new Map(indexes.map((name) => [name, read(name)]))
    for (const name of indexes) damage(path.join(directory, name))
    const opened = openLog({ directory, cleanShutdown: true })
    expect(labelsOf(opened)).toEqual(labels)
    const target = batchMemory(new SharedArrayBuffer(1_000))
    for (let offset = 0; offset < 100; offset += 1) {
      expect(opened.read(offset, 100, 1, target, 0)).toBeGreaterThan(0)
    }
    recoverLog(directory, fromStart)
    for (const [name, bytes] of originals) expect(read(name), name).toEqual(bytes)
  })
})

describe('conformance 89: leader epochs', () => {
  it('are made anew from the batches', () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory, logStartOffset: 104 })
    for (const [offset, epoch] of [
      [104, 0],
      [105, 0],
      [106, 1],
      [108, 1],
      [110, 2],
    ]) {
      const count = offset === 106 || offset === 108 ? 2 : 1
      log.appendReplicated(stampedRun([textRecords(count, 'x')], offset, epoch))
    }
    const expected = [
      { leaderEpoch: 0, startOffset: 104 },
      { leaderEpoch: 1, startOffset: 106 },
      { leaderEpoch: 2, startOffset: 110 },
    ]
    const file = path.join(directory, 'leader-epoch-checkpoint')
    for (const damaged of ['0\n3\n0 1', '', '9\n', '0\n1\n7 3\n', undefined]) {
      if (damaged === undefined) fs.rmSync(file)
      else fs.writeFileSync(file, damaged)
      recoverLog(directory, { ...fromStart, logStartOffset: 104 })
      expect(readLeaderEpochs(directory)).toEqual(expected)
    }
  })

  it('conformance 101: cut at 2, they come back after an unclean reopen', () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory })
    for (const [offset, epoch] of [
      [0, 1],
      [1, 2],
      [2, 2],
      [3, 3],
    ]) {
      log.appendReplicated(stampedRun([textRecords(1, 'x')], offset, epoch))
    }
    const expected = [
      { leaderEpoch: 1, startOffset: 0 },
      { leaderEpoch: 2, startOffset: 1 },
      { leaderEpoch: 3, startOffset: 3 },
    ]
    expect(log.leaderEpochs.entries).toEqual(expected)
    log.leaderEpochs.truncateFromEnd(2)
    expect(log.leaderEpochs.entries).toEqual(expected.slice(0, 2))
    expect(openLog({ directory }).leaderEpochs.entries).toEqual(expected)
  })

  it('are made anew in full when the file lacks those below the recovery point', () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory })
    for (const epoch of [0, 2, 5]) appendBatches(log, 15, 2, epoch)
    const { entries } = log.leaderEpochs
    const bases = basesIn(directory)
    for (const text of ['', '0\n1\n5 60\n', 'rubbish']) {
      fs.writeFileSync(path.join(directory, 'leader-epoch-checkpoint'), text)
      recoverLog(directory, { ...fromStart, recoveryPoint: bases.at(-1)! })
      expect(readLeaderEpochs(directory)).toEqual(entries)
    }
  })

  it('that told of data now gone are dropped', () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory })
    appendBatches(log, 3, 2, 0)
    const size = log.sizeBytes
    appendBatches(log, 1, 2, 4)
    fs.truncateSync(fileOf(directory, 0), size + 30)
    expect(openLog({ directory }).leaderEpochs.entries).toEqual([
      { leaderEpoch: 0, startOffset: 0 },
    ])
  })

  it('of a stale file give way to what the batches say', () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory })
    appendBatches(log, 3, 2, 4)
    const file = path.join(directory, 'leader-epoch-checkpoint')
    fs.writeFileSync(file, '0\n2\n4 0\n5 2\n')
    expect(openLog({ directory }).leaderEpochs.entries).toEqual([
      { leaderEpoch: 4, startOffset: 0 },
    ])
  })
})

describe('conformance 97 and 98: offsets', () => {
  it('conformance 97: an unclean reopen finds the end; the recovery point stays until the next flush', () => {
    const { directory, log } = crashedLog(5)
    log.flush()
    appendBatches(log, 5)
    expect([log.recoveryPoint, log.logEndOffset]).toEqual([10, 20])
    const again = openLog({ directory, recoveryPoint: log.recoveryPoint })
    expect([again.recoveryPoint, again.logEndOffset]).toEqual([10, 20])
    again.flush()
    expect(again.recoveryPoint).toBe(20)
  })

  it('a recovery point beyond the data comes down to the end', () => {
    const { directory } = crashedLog(5)
    const again = openLog({ directory, recoveryPoint: 1_000 })
    expect([again.recoveryPoint, again.logEndOffset]).toEqual([10, 10])
  })

  it('a log start beyond the data leaves one empty segment at it', () => {
    const { directory, log } = crashedLog(1)
    log.close()
    for (const cleanShutdown of [false, true]) {
      const copy = copyDirectory(directory)
      const again = openLog({ directory: copy, cleanShutdown, logStartOffset: 4 })
      expect([again.logStartOffset, again.logEndOffset, again.sizeBytes]).toEqual([4, 4, 0])
      expect(basesIn(copy)).toEqual([4])
      expect(again.leaderEpochs.entries).toEqual([])
    }
  })

  it('the log start is kept, and never below the first segment', () => {
    const { directory } = crashedLog(40)
    const bases = basesIn(directory)
    expect(openLog({ directory, logStartOffset: 7 }).logStartOffset).toBe(7)
    fs.rmSync(fileOf(directory, 0))
    expect(openLog({ directory, logStartOffset: 7 }).logStartOffset).toBe(bases[1])
  })
})

describe('conformance 100: what an interrupted operation left', () => {
  it('is removed', () => {
    const { directory, labels } = crashedLog(4)
    const rubbish = [
      '00000000000000000000.log.deleted',
      '00000000000000000000.log.cleaned',
      '00000000000000000077.index',
      '00000000000000000077.timeindex',
    ]
    for (const name of rubbish) fs.writeFileSync(path.join(directory, name), 'x')
    fs.writeFileSync(path.join(directory, 'notes.txt'), 'x')
    expect(labelsOf(openLog({ directory }))).toEqual(labels)
    const names = fs.readdirSync(directory)
    for (const name of rubbish) expect(names).not.toContain(name)
    expect(names).toContain('notes.txt')
  })

  it('of a compaction, not whole, is not opened over', () => {
    const { directory } = crashedLog(4)
    fs.writeFileSync(path.join(directory, '00000000000000000000.log.swap'), 'x')
    expect(() => openLog({ directory })).toThrow(
      expect.objectContaining({
        code: 'CORRUPT_FILE',
        message: expect.stringContaining('.log.swap'),
      }),
    )
  })

  it.each(['log', 'both', 'index'])('of a swap by Apache Kafka is completed; left: %s', (left) => {
    const { directory, log, labels } = crashedLog(30)
    log.close()
    const [first, second, third] = basesIn(directory)
    const at = (base: number, suffix: string) => segmentPath(directory, base, suffix)
    // One segment with all that the first two hold, as a compaction that keeps everything makes.
    const merged = Buffer.concat([first!, second!].map((base) => fs.readFileSync(at(base, '.log'))))
    if (left !== 'index') fs.writeFileSync(at(first!, '.log.swap'), merged)
    else {
      fs.writeFileSync(at(first!, '.log'), merged)
      for (const suffix of ['.log', '.index', '.timeindex']) fs.rmSync(at(second!, suffix))
    }
    if (left !== 'log') fs.writeFileSync(at(first!, '.index.swap'), '')
    const again = openLog({ directory })
    expect(labelsOf(again)).toEqual(labels)
    expect(basesIn(directory).slice(0, 2)).toEqual([first, third])
    expect(fs.readdirSync(directory).filter((name) => name.endsWith('.swap'))).toEqual([])
  })

  it('of a swap that belongs to one under work is taken back', () => {
    const { directory, log, labels } = crashedLog(30)
    log.close()
    const [, second] = basesIn(directory)
    fs.writeFileSync(segmentPath(directory, 0, '.log.cleaned'), '')
    fs.copyFileSync(segmentPath(directory, 0, '.log'), segmentPath(directory, second!, '.log.swap'))
    const again = openLog({ directory })
    expect(labelsOf(again)).toEqual(labels)
  })
})

describe('a clean stop', () => {
  it('is believed but for the last segment’s end', () => {
    const { directory, log, labels } = crashedLog(30)
    log.close()
    const bases = basesIn(directory)
    flipByte(fileOf(directory, bases[0]), 75)
    const again = openLog({ directory, cleanShutdown: true })
    expect([again.logEndOffset, again.recoveryPoint]).toEqual([60, 60])
    again.close()
    const last = fileOf(directory, bases.at(-1)!)
    fs.truncateSync(last, fs.statSync(last).size - 1)
    const cut = openLog({ directory, cleanShutdown: true })
    expect(cut.logEndOffset).toBe(58)
    expect(labelsOfRecords(readAll(cut, bases[1]))).toEqual(labels.slice(bases[1], 58))
  })

  it('of a log of large batches is found without reading their records', () => {
    const directory = temporaryDirectory()
    const config = { segmentBytes: 2 ** 30, indexIntervalBytes: 4096 }
    const log = openLog({ directory, config })
    for (let offset = 0; offset < 8; offset += 1) {
      const records = [textRecord('x'.repeat(400_000))]
      log.appendReplicated(stampedRun([records], offset, 0))
    }
    log.close()
    const again = openLog({ directory, config, cleanShutdown: true })
    expect(again.logEndOffset).toBe(8)
    again.close()
    expect(recoverLog(directory, { ...fromStart, config: { ...smallConfig, ...config } })).toEqual({
      logEndOffset: 8,
      logStartOffset: 0,
      truncatedBytes: 0,
      segmentsScanned: 1,
      bytesScanned: log.sizeBytes,
    })
  })
})

describe('recovery of batches larger than what is read at once', () => {
  it('reads them whole, and cuts one that isn’t', () => {
    const directory = temporaryDirectory()
    const config = { segmentBytes: 2 ** 30, maxMessageBytes: 2 ** 23 }
    const log = openLog({ directory, config })
    for (const [offset, bytes] of [10, 3_000_000, 2_500_000, 10].entries()) {
      log.appendReplicated(stampedRun([[textRecord('x'.repeat(bytes))]], offset, 0))
    }
    const options = { ...fromStart, config: log.config }
    expect(recoverLog(directory, options)).toMatchObject({ logEndOffset: 4, truncatedBytes: 0 })
    fs.truncateSync(fileOf(directory, 0), 5_000_000)
    expect(recoverLog(directory, options).logEndOffset).toBe(2)
  })
})

describe('the topic id', () => {
  it('is written once, and another topic’s directory is refused', () => {
    const directory = temporaryDirectory()
    const topicId = 'AAAAAAAAAAAAAAAAAAAAAQ'
    openLog({ directory, topicId }).close()
    const text = fs.readFileSync(path.join(directory, 'partition.metadata'), 'utf8')
    expect(text).toBe(`version: 0\ntopic_id: ${topicId}`)
    openLog({ directory, topicId }).close()
    expect(() => openLog({ directory, topicId: 'AAAAAAAAAAAAAAAAAAAAAg' })).toThrow(
      expect.objectContaining({ code: 'INCONSISTENT_TOPIC_ID' }),
    )
    fs.writeFileSync(path.join(directory, 'partition.metadata'), 'version: 1\n')
    expect(() => openLog({ directory, topicId })).toThrow(
      expect.objectContaining({ code: 'CORRUPT_FILE' }),
    )
  })
})
