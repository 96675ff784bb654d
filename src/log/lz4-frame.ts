/** LZ4 frames as Kafka has them in a batch: independent blocks, no dictionary. */
import { createRequire } from 'node:module'
import { TidemarkError } from '../errors.ts'

interface Lz4 {
  compressFrameSync(data: Uint8Array): Uint8Array
  decompressFrameSync(data: Uint8Array): Uint8Array
}

const frameMagic = 0x184d_2204
const magicBytes = 4
const descriptorBytesMin = 3
const blockSizeBytes = 4
const checksumBytes = 4
const contentSizeBytes = 8
const flag = { dictionary: 0x01, contentChecksum: 0x04, contentSize: 0x08, blockChecksum: 0x10 }
const storedBit = 0x8000_0000
/** By bits 4 to 6 of the second descriptor byte. */
const blockBytesMax: readonly number[] = [0, 0, 0, 0, 1 << 16, 1 << 18, 1 << 20, 1 << 22]

let lz4: Lz4 | undefined

/** Loaded at first use: threads that never compress don't need it. */
function library(): Lz4 {
  lz4 ??= createRequire(import.meta.url)('lz4-napi') as Lz4
  return lz4
}

function asBuffer(bytes: Uint8Array, start: number, end: number): Uint8Array {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start)
}

/** One frame with the bytes from `start` to `end`, in memory of its own. */
export function compressLz4(bytes: Uint8Array, start: number, end: number): Uint8Array {
  return library().compressFrameSync(asBuffer(bytes, start, end))
}

/**
 * What the frame from `start` to `end` holds, in memory of its own. The frame's blocks are walked
 * first, so that a hostile one cannot choose how much memory is taken.
 *
 * @throws {TidemarkError} CORRUPT_MESSAGE for bytes that aren't a frame or hold more than
 *   `bytesMax`.
 */
export function decompressLz4(
  bytes: Uint8Array,
  start: number,
  end: number,
  bytesMax: number,
): Uint8Array {
  const frame = asBuffer(bytes, start, end)
  const bound = decompressedBound(frame)
  if (bound > bytesMax) throw corrupt(`blocks for up to ${bound} bytes, allowed are ${bytesMax}`)
  try {
    return library().decompressFrameSync(frame)
  } catch (cause) {
    throw new TidemarkError('CORRUPT_MESSAGE', { detail: `LZ4 frame: ${String(cause)}`, cause })
  }
}

/** Sum of the largest sizes that the frame's blocks can have. */
function decompressedBound(frame: Uint8Array): number {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength)
  const need = (end: number) => {
    if (end > view.byteLength) throw corrupt(`ends at ${view.byteLength}, within a field`)
  }
  need(magicBytes + descriptorBytesMin)
  if (view.getUint32(0, true) !== frameMagic) throw corrupt('wrong magic number')
  const flags = view.getUint8(magicBytes)
  const blockBytes = blockBytesMax[(view.getUint8(magicBytes + 1) >>> 4) & 7]
  if (blockBytes === 0) throw corrupt('unknown block size')
  if ((flags & flag.dictionary) !== 0) throw corrupt('needs a dictionary')
  let at = magicBytes + descriptorBytesMin
  if ((flags & flag.contentSize) !== 0) at += contentSizeBytes
  let bound = 0
  for (;;) {
    need(at + blockSizeBytes)
    const word = view.getUint32(at, true)
    at += blockSizeBytes
    if (word === 0) return bound
    const stored = word >= storedBit
    const size = stored ? word - storedBit : word
    at += size
    if ((flags & flag.blockChecksum) !== 0) at += checksumBytes
    need(at)
    // One compressed byte stands for 255 at most.
    bound += stored ? size : Math.min(blockBytes, size * 255)
  }
}

function corrupt(what: string): TidemarkError {
  return new TidemarkError('CORRUPT_MESSAGE', `LZ4 frame: ${what}`)
}
