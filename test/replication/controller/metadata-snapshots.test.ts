/** Snapshots on disk that are damaged, of the future, or cut off by a loss of power. */
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/clock.ts'
import { isTidemarkError } from '../../../src/errors.ts'
import { SeededRandom } from '../../../src/lab/statistics-random.ts'
import { logConfigDefaults } from '../../../src/log/log-config.ts'
import { PartitionLog } from '../../../src/log/partition-log.ts'
import { MetadataBatches } from '../../../src/replication/controller/metadata-batches.ts'
import { MetadataLog } from '../../../src/replication/controller/metadata-log.ts'
import { FaultyFileSystem } from '../../support/faulty-file-system.ts'
import { MemoryFileSystem } from '../../support/memory-file-system.ts'
import { ControllerHarness, contentsOf } from './controller-harness.ts'
import {
  batchStarts,
  contentsOn,
  decide,
  filesOf,
  logDirectory,
  openLog,
  overwrite,
  worldOf,
} from './snapshot-world.ts'

const snapshot = '.checkpoint'
const setAside = '.checkpoint.corrupt'

function codeOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (isTidemarkError(error)) return error.code
    throw error
  }
  return 'NONE'
}

function flipped(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = bytes.slice()
  copy[bit >> 3]! ^= 1 << (bit & 7)
  return copy
}

/** A batch of one control record. */
function controlBatch(type: number, version: number): Uint8Array {
  const batches = new MetadataBatches()
  const key = Buffer.from([0, 0, 0, type])
  const value = Buffer.alloc(11)
  value.writeInt16BE(version)
  const record = { key, value, timestampMs: 0 }
  const size = batches.encodeRaw([record], { compression: 'none', control: true })
  return batches.memory.bytes.slice(0, size)
}

/** The same batch, of one record, at the offset after it. */
function followerOf(batch: Uint8Array): Uint8Array {
  const copy = Buffer.from(batch)
  copy.writeBigInt64BE(copy.readBigInt64BE(0) + 1n, 0)
  return new Uint8Array(copy)
}

/** Each a way in which a file isn't what was written. */
function damages(bytes: Uint8Array): [string, Uint8Array][] {
  const starts = batchStarts(bytes)
  const footer = starts.at(-2)!
  const firstRecords = starts[1]!
  const cuts = [...starts.slice(0, -1), ...starts.slice(1).map((start) => start - 1)]
  const bits = Array.from({ length: 40 }, (_, at) => Math.floor((bytes.length * 8 * at) / 40))
  // The offset before each batch and the epoch in it lie outside the CRC.
  bits.push(...starts.slice(0, -1).flatMap((start) => [8 * (start + 7), 8 * (start + 15)]))
  const join = (...parts: Uint8Array[]) => new Uint8Array(Buffer.concat(parts))
  return [
    ...cuts.map((length): [string, Uint8Array] => [`cut at ${length}`, bytes.slice(0, length)]),
    ...bits.map((bit): [string, Uint8Array] => [`bit ${bit}`, flipped(bytes, bit)]),
    ['another header for a footer', join(bytes.slice(0, footer), bytes.slice(0, firstRecords))],
    ['a footer of another offset', join(bytes.slice(0, footer), controlBatch(4, 0))],
    ['a footer twice', join(bytes, followerOf(bytes.slice(footer)))],
    ['something after the footer', join(bytes, new Uint8Array(1))],
    ['no header', bytes.slice(firstRecords)],
    ['the footer alone', bytes.slice(footer)],
  ]
}

describe('a damaged snapshot', () => {
  it('is set aside, and the one before it is gone on from', { timeout: 60_000 }, () => {
    const { fs, contents } = worldOf()
    const [older, newest] = filesOf(fs, snapshot)
    const whole = fs.readFile(newest!)!
    const damaged = damages(whole)
    expect(damaged.length).toBeGreaterThan(50)
    for (const [how, bytes] of damaged) {
      overwrite(fs, newest!, bytes)
      expect(contentsOn(fs), how).toEqual(contents)
      expect(filesOf(fs, setAside), how).toEqual([`${newest}.corrupt`])
      expect(filesOf(fs, snapshot), how).toEqual([older])
      fs.remove(`${newest}.corrupt`)
    }
  })

  it('is no matter as long as there is a newer one', () => {
    const { fs, contents } = worldOf()
    const [older] = filesOf(fs, snapshot)
    overwrite(fs, older!, new Uint8Array(0))
    expect(contentsOn(fs)).toEqual(contents)
    expect(filesOf(fs, setAside)).toEqual([])
  })

  it('both: from the log, if it still has all; else CORRUPT_FILE, and nothing is made up', () => {
    for (const [segmentBytes, expected] of [
      [1 << 20, 'NONE'],
      [4_096, 'CORRUPT_FILE'],
    ] as const) {
      const { fs, contents } = worldOf(30, segmentBytes)
      const snapshots = filesOf(fs, snapshot)
      for (const file of snapshots) overwrite(fs, file, fs.readFile(file)!.slice(0, -1))
      expect(codeOf(() => expect(contentsOn(fs)).toEqual(contents))).toBe(expected)
      expect(filesOf(fs, setAside)).toEqual(snapshots.map((file) => `${file}.corrupt`))
      expect(codeOf(() => contentsOn(fs))).toBe(expected)
    }
  })

  it('files that only look like one are passed over', () => {
    const { fs, contents } = worldOf()
    const whole = fs.readFile(filesOf(fs, snapshot)[1]!)!
    for (const name of ['99999999999999999999-0000000001', `${'1'.padStart(20, '0')}-2147483647`]) {
      overwrite(fs, `${logDirectory}/${name}.checkpoint`, whole)
    }
    overwrite(fs, `${logDirectory}/00000000000000000099-0000000001.checkpoint.part`, whole)
    expect(contentsOn(fs)).toEqual(contents)
    expect(filesOf(fs, '.part')).toEqual([])
    expect(filesOf(fs, setAside)).toEqual([])
    expectToGoOn(fs)
  })
})

describe('of a newer version', () => {
  it('a snapshot: UNSUPPORTED_VERSION, and it stays', () => {
    const { fs, contents } = worldOf()
    const newest = filesOf(fs, snapshot)[1]!
    const whole = fs.readFile(newest)!
    const header = controlBatch(3, 1)
    // The epoch, as of all others of the file.
    header.set(whole.subarray(12, 16), 12)
    overwrite(fs, newest, new Uint8Array(Buffer.concat([header, whole.slice(header.length)])))
    expect(codeOf(() => contentsOn(fs))).toBe('UNSUPPORTED_VERSION')
    expect(filesOf(fs, snapshot)).toContain(newest)
    expect(filesOf(fs, setAside)).toEqual([])
    overwrite(fs, newest, whole)
    expect(contentsOn(fs)).toEqual(contents)
  })

  it('a record of the log, and a level of the metadata: UNSUPPORTED_VERSION', () => {
    const { fs } = worldOf()
    const copy = copyOf(fs)
    const log = openLog(fs)
    log.append([{ type: 'featureLevel', name: 'metadata.version', featureLevel: 1_000 }])
    log.close()
    const files = () => filesOf(fs, '.log').map((name) => fs.readFile(name))
    const before = files()
    expect(codeOf(() => contentsOn(fs))).toBe('UNSUPPORTED_VERSION')
    expect(files()).toEqual(before)
    // Frame version 1, a topic (2) of version 77.
    appendRaw(copy, Buffer.from([1, 2, 77, 0, 0]))
    expect(codeOf(() => contentsOn(copy))).toBe('UNSUPPORTED_VERSION')
  })
})

describe('the metadata log', () => {
  it('is as long as two snapshots and a segment, however much was decided', () => {
    const fs = new MemoryFileSystem()
    const log = openLog(fs)
    const harness = new ControllerHarness(log)
    const sizes: number[] = []
    for (let part = 0; part < 6; part += 1) {
      decide(harness, 20)
      const files = filesOf(fs, '.log')
      sizes.push(files.reduce((sum, file) => sum + fs.sizeOf(file)!, 0))
    }
    expect(log.startOffset).toBeGreaterThan(500)
    expect(Math.max(...sizes)).toBeLessThan(3 * 6_000 + 2 * 4_096)
    expect(filesOf(fs, '.deleted')).toEqual([])
    expect(filesOf(fs, snapshot)).toHaveLength(2)
    const starts = filesOf(fs, '.log').map((file) => Number(file.slice(-24, -4)))
    expect(starts.filter((start) => start <= log.startOffset)).toHaveLength(1)
    log.close()
    expect(contentsOn(fs)).toEqual(contentsOf(harness.image))
  })

  it('takes a decision far larger than what lies between two snapshots', () => {
    const fs = new MemoryFileSystem()
    const options = { directory: '/c', clock: new ManualClock(), fs, snapshotBytes: 1_000 }
    const log = MetadataLog.open(options)
    const harness = new ControllerHarness(log, 10_000).start(1, 2, 3)
    expect(harness.createTopic('t', Array(5_000).fill([1, 2, 3])).error).toBe('NONE')
    expect(harness.controller.step(harness.clock.nowMs())).toBe(1)
    log.close()
    expect(fs.sizeOf(filesOf(fs, '.log')[0]!)).toBeGreaterThan(300_000)
    expect(contentsOn(fs)).toEqual(contentsOf(harness.image))
  })

  it.each([
    ['with snapshots: up to the newest at least', 4_096, 3],
    ['without: up to the cut', Number.MAX_SAFE_INTEGER, 40],
  ])('cut anywhere, what is left are whole decisions; %s', (_, snapshotBytes, endsMin) => {
    const fs = new MemoryFileSystem()
    const log = openLog(fs, 4_096, snapshotBytes)
    const harness = new ControllerHarness(log)
    const known = new Map([[harness.image.endOffset, contentsOf(harness.image)]])
    decide(harness, 30, () => known.set(harness.image.endOffset, contentsOf(harness.image)))
    log.close()
    const ends = new Set<number>()
    const names = filesOf(fs, '')
    const files = new Map(names.map((name) => [name, fs.readFile(name)!]))
    const newest = endOffsetOf(filesOf(fs, snapshot).at(-1))
    for (const segment of filesOf(fs, '.log')) {
      const bytes = files.get(segment)!
      for (let length = 0; length < bytes.length; length += 197) {
        for (const name of filesOf(fs, '')) if (!files.has(name)) fs.remove(name)
        for (const [name, content] of files) overwrite(fs, name, content)
        overwrite(fs, segment, bytes.slice(0, length))
        const left = contentsOn(fs) as { endOffset: number }
        expect(left.endOffset).toBeGreaterThanOrEqual(newest)
        expect(known.get(left.endOffset)).toEqual(left)
        ends.add(left.endOffset)
        if (length % 985 === 0) expectToGoOn(fs)
      }
    }
    expect(ends.size).toBeGreaterThanOrEqual(endsMin)
  })

  it('a controller that restarts after every decision knows what one knows that doesn’t', () => {
    const fs = new MemoryFileSystem()
    const log = openLog(fs)
    const harness = new ControllerHarness(log)
    let lives = 0
    decide(harness, 12, () => {
      const copy = copyOf(fs)
      expect(contentsOn(copy)).toEqual(contentsOf(harness.image))
      lives += 1
    })
    expect(lives).toBeGreaterThan(100)
    expect(filesOf(fs, snapshot)).toHaveLength(2)
    log.close()
  })

  it('the power goes at any call: a whole decision, and none that a snapshot tells is lost', () => {
    let cut = 0
    for (let calls = 3; calls < 600; calls += 13) {
      const disk = new MemoryFileSystem()
      const fs = new FaultyFileSystem(disk, new SeededRandom(calls))
      const known = new Map<number, unknown>()
      let durableEnd = 0
      try {
        const log = openLog(fs)
        const harness = new ControllerHarness(log)
        fs.callsToPowerCut = calls
        known.set(harness.image.endOffset, contentsOf(harness.image))
        decide(harness, 30, () => {
          if (harness.controller.failure !== undefined) throw new Error('power')
          known.set(harness.image.endOffset, contentsOf(harness.image))
          if (!fs.powerIsGone) durableEnd = endOffsetOf(filesOf(fs, snapshot).at(-1))
        })
      } catch (error) {
        if (!fs.powerIsGone) throw error
      }
      if (!fs.powerIsGone) continue
      cut += 1
      disk.crash(new SeededRandom(calls))
      const left = contentsOn(disk) as { endOffset: number }
      expect(left.endOffset, `cut at call ${calls}`).toBeGreaterThanOrEqual(durableEnd)
      if (known.has(left.endOffset)) expect(known.get(left.endOffset)).toEqual(left)
      // The one that was under way.
      else expect(left.endOffset).toBeGreaterThan(Math.max(0, ...known.keys()))
    }
    expect(cut).toBeGreaterThan(12)
  })
})

function copyOf(fs: MemoryFileSystem): MemoryFileSystem {
  const copy = new MemoryFileSystem()
  copy.makeDirectory(logDirectory)
  for (const name of filesOf(fs, '')) overwrite(copy, name, fs.readFile(name)!)
  return copy
}

/** Another decision is made, and is there when the next controller comes. */
function expectToGoOn(fs: MemoryFileSystem): void {
  const log = openLog(fs)
  expect(log.epoch).toBeLessThan(1_000)
  const harness = new ControllerHarness(log)
  decide(harness, 1)
  log.close()
  expect(contentsOn(fs)).toEqual(contentsOf(harness.image))
}

/** Of a snapshot, from its name. */
function endOffsetOf(file: string | undefined): number {
  return file === undefined ? 0 : Number(file.slice(-42, -22))
}

function appendRaw(fs: MemoryFileSystem, value: Uint8Array): void {
  const batches = new MetadataBatches()
  batches.encodeRaw([{ key: null, value, timestampMs: 0 }], { compression: 'none' })
  const log = PartitionLog.open({
    directory: logDirectory,
    topic: '__cluster_metadata',
    partition: 0,
    config: logConfigDefaults,
    clock: new ManualClock(),
    cleanShutdown: false,
    fs,
  })
  const { memory } = batches
  log.append({ memory, positions: new Int32Array(1), count: 1 }, log.leaderEpochs.latest)
  log.close()
}
