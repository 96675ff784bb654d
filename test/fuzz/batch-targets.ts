/** Batches, their records under a right checksum, and the codecs alone. */
import { SeededRandom } from '../../src/lab/statistics-random.ts'
import { limits } from '../../src/limits.ts'
import {
  batchPositions,
  type Compression,
  checkBatch,
  checkBatchFraming,
  recordCountAt,
  sizeInBytesAt,
  stampBatch,
} from '../../src/log/batch-header.ts'
import { batchField, batchLengthPrefixBytes } from '../../src/log/batch-layout.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { type Codecs, compressRecords, decompressRecords } from '../../src/log/codec.ts'
import { crc32c } from '../../src/log/crc32c.ts'
import type { ProduceRecord } from '../../src/log/record.ts'
import { forEachRecord, readRecords, recordOf } from '../../src/log/record-reader.ts'
import { encodeBatch } from '../support/batch-builder.ts'
import type { FuzzTarget } from './fuzz-target.ts'
import { randomBytes } from './mutations.ts'

const MiB = 1024 * 1024
const compressions: readonly Compression[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd']
const codecs = compressions.slice(1) as Codecs[]
const positions = new Int32Array(16)

export const batchTargets: readonly FuzzTarget[] = [
  // What its CRC doesn't cover can't make its records wrong.
  { ...batchTarget('batch', compressions, 10), codes: [] },
  ...compressions.map((compression) => ({
    ...batchTarget(`records, ${compression}`, [compression], compression === 'none' ? 12 : 3),
    mend: mendBatch,
  })),
  ...codecs.map(codecTarget),
]

function batchTarget(name: string, kinds: readonly Compression[], weight: number): FuzzTarget {
  return {
    name,
    weight,
    inputs: kinds.flatMap(batchesOf),
    codes: ['CORRUPT_MESSAGE'],
    bytesMax: kinds.length === 1 && kinds[0] === 'none' ? MiB : limits.batchBytesMax + MiB,
    run: readBatch,
  }
}

function readBatch(bytes: Uint8Array, random: SeededRandom): void {
  // Somewhere in memory, with bytes around that must not matter.
  const before = random.nextBelow(8)
  const buffer = new Uint8Array(before + bytes.length).fill(0xee)
  buffer.set(bytes, before)
  const memory = batchMemory(buffer.buffer)
  const count = batchPositions(memory, before, bytes.length, positions)
  for (let index = 0; index < count; index += 1) {
    const end = positions[index]! + sizeInBytesAt(memory, positions[index]!)
    if (end > buffer.length) throw new Error(`a batch to ${end} of ${buffer.length} bytes`)
  }
  const framing = checkBatchFraming(memory, before, bytes.length)
  const fault = checkBatch(memory, before, bytes.length)
  if (framing !== undefined && fault === undefined) throw new Error(`${framing}, and yet good`)
  if (fault !== undefined) return
  let seen = 0
  forEachRecord(memory, before, (place) => {
    recordOf(place)
    seen += 1
  })
  const records = [...readRecords(memory, before)]
  if (seen !== records.length || seen !== recordCountAt(memory, before)) {
    throw new Error(`${seen} places, ${records.length} records`)
  }
}

/** Makes length and checksum right again, so that what lies behind them is read. */
function mendBatch(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  if (bytes.length < batchField.records || random.nextBelow(8) === 0) return bytes
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  view.setInt32(batchField.length, bytes.length - batchLengthPrefixBytes)
  view.setUint32(batchField.crc, crc32c(bytes, batchField.attributes, bytes.length))
  return bytes
}

function codecTarget(codec: Codecs): FuzzTarget {
  const random = new SeededRandom(3)
  const bytesMax = MiB
  const contents = [0, 1, 20, 400, 5_000].map((length) => {
    const bytes = randomBytes(random, length)
    return bytes.fill(0x61, 0, length >>> 1)
  })
  return {
    name: codec,
    weight: 3,
    inputs: contents.map((bytes) =>
      Uint8Array.from(compressRecords(codec, bytes, 0, bytes.length)),
    ),
    codes: ['CORRUPT_MESSAGE'],
    bytesMax: 8 * MiB,
    run(bytes) {
      const found = decompressRecords(codec, bytes, 0, bytes.length, bytesMax)
      if (found.length > bytesMax) throw new Error(`${found.length} bytes out of ${bytes.length}`)
    },
  }
}

function batchesOf(compression: Compression): Uint8Array[] {
  const random = new SeededRandom(5)
  return [1, 2, 3, 9, 40].map((count, index) => {
    const records = Array.from({ length: count }, (_, at) => recordFor(random, at))
    const memory = encodeBatch(records, { compression })
    stampBatch(memory, 0, index * 1_000, index)
    return Uint8Array.from(memory.bytes)
  })
}

function recordFor(random: SeededRandom, at: number): ProduceRecord {
  const part = (lengthMax: number) =>
    random.nextBelow(4) === 0 ? null : randomBytes(random, random.nextBelow(lengthMax))
  const headers =
    at % 3 === 0
      ? [
          { key: 'kéy', value: part(8) },
          { key: '', value: null },
        ]
      : []
  return { key: part(10), value: part(90), timestampMs: 1_000 + at * 7, headers }
}
