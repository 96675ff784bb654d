/**
 * Every bit of a small directory is flipped, one at a time. What goes unnoticed must be one of the
 * few things that no other byte on the disk bears witness of, or must mean the same.
 */
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { leaderEpochAt } from '../../src/log/batch-header.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import {
  parseEpochCheckpoint,
  parseOffsetCheckpoint,
} from '../../src/log-tools/checkpoint-lines.ts'
import { timeIndexEntries } from '../../src/log-tools/index-entries.ts'
import { recordsOf, walkSegment } from '../../src/log-tools/segment-walk.ts'
import { verifyDirectories } from '../../src/log-tools/verify-directories.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { highWatermark, logEndOffset, logStartOffset, writeBroker } from './broker-directory.ts'
import { MemoryFiles } from './memory-files.ts'

/** They name the directory and its last life; nothing else on its disk does. */
const unwitnessed = new Set(['meta.properties', '.kafka_cleanshutdown', '.lock'])

/** Why nothing could be noticed, seen from the files as they are with that bit flipped. */
type Excuse = (files: MemoryFiles, file: string, bit: number) => boolean

const excuses: Readonly<Record<string, Excuse>> = {
  'a high watermark may lie anywhere between log start and log end': (files, file) => {
    if (path.basename(file) !== 'replication-offset-checkpoint') return false
    const { entries, fault } = parseOffsetCheckpoint(files.bytes(file))
    const inside = entries.every(({ offset, partition }) => {
      return offset >= (partition === 0 ? logStartOffset : 0) && offset <= logEndOffset
    })
    return fault === undefined && inside && entries.some(({ offset }) => offset !== highWatermark)
  },
  'an epoch that wrote nothing is known by the checkpoint alone': (files, file, bit) => {
    if (path.basename(file) !== 'leader-epoch-checkpoint') return false
    const last = parseEpochCheckpoint(files.bytes(file)).entries.at(-1)!
    return last.startOffset === logEndOffset && bit >> 3 >= last.position
  },
  'below the log start nobody knows which epoch wrote what': (files, file, bit) => {
    if (!file.endsWith('.log')) return false
    const byte = bit >> 3
    for (const { filePosition, lastOffset } of walkSegment(files.fs, file)) {
      const inEpoch = byte >= filePosition + 12 && byte < filePosition + 16
      if (inEpoch) return path.basename(path.dirname(file)) === 't-0' && lastOffset < logStartOffset
    }
    return false
  },
  'the entry names another record of the same batch that is as new: the same lookup': (
    files,
    file,
    bit,
  ) => {
    if (!file.endsWith('.timeindex')) return false
    const index = Math.floor((bit >> 3) / 12)
    const changed = timeIndexEntries(files.bytes(file))[index]!
    files.flip(file, bit)
    const original = timeIndexEntries(files.bytes(file))[index]!
    files.flip(file, bit)
    if (changed.timestampMs !== original.timestampMs) return false
    const base = Number(path.basename(file, '.timeindex'))
    for (const batch of walkSegment(files.fs, file.replace('.timeindex', '.log'))) {
      const same = [...recordsOf(batch)].filter(({ timestampMs }) => {
        return timestampMs === changed.timestampMs
      })
      const offsets = same.map(({ offset }) => offset - base)
      if (offsets.includes(changed.relativeOffset)) return offsets.includes(original.relativeOffset)
    }
    return false
  },
}

describe('a bit that is flipped', () => {
  it('is noticed, wherever anything bears witness of it', () => {
    const directory = temporaryDirectory()
    writeBroker({ directory })
    const files = new MemoryFiles(directory)
    const faults = () => verifyDirectories([directory], { fs: files.fs }).faults
    expect(faults()).toEqual([])
    const excused = new Map<string, number>()
    const unnoticed: string[] = []
    let flips = 0
    for (const file of files.paths) {
      if (unwitnessed.has(path.basename(file))) continue
      for (let bit = 0; bit < 8 * files.bytes(file).length; bit += 1) {
        flips += 1
        files.flip(file, bit)
        if (faults().length === 0) {
          const excuse = Object.keys(excuses).find((each) => excuses[each]!(files, file, bit))
          if (excuse === undefined) {
            unnoticed.push(`${path.relative(directory, file)} byte ${bit >> 3} bit ${bit & 7}`)
          } else excused.set(excuse, (excused.get(excuse) ?? 0) + 1)
        }
        files.flip(file, bit)
      }
    }
    expect(unnoticed).toEqual([])
    expect(flips).toBeGreaterThan(10_000)
    // No excuse is kept that nothing needs, and none that much hides behind.
    expect([...excused.keys()].sort()).toEqual(Object.keys(excuses).sort())
    for (const count of excused.values()) expect(count).toBeLessThan(20)
  }, 120_000)

  it('in a leader epoch or an offset of a batch is found though its CRC is right', () => {
    const directory = temporaryDirectory()
    writeBroker({ directory })
    const files = new MemoryFiles(directory)
    const file = path.join(directory, 't-1', '00000000000000000006.log')
    const memory = batchMemory(files.bytes(file).buffer as ArrayBuffer)
    expect(leaderEpochAt(memory, 0)).toBe(2)
    files.flip(file, 8 * 15)
    files.flip(file, 8 * 7)
    const { faults } = verifyDirectories([directory], { fs: files.fs })
    expect(faults.map(({ check, offset, position }) => ({ check, offset, position }))).toEqual([
      { check: 'offset-order', offset: 7, position: 0 },
      { check: 'leader-epoch', offset: 7, position: 0 },
    ])
  })
})
