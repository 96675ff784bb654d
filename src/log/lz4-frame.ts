/**
 * LZ4 frames as Kafka has them in a batch (`Lz4BlockOutputStream`): version 1, independent blocks
 * of 64 KiB, no checksums but the header's, no dictionary.
 *
 * The library makes and reads frames too, but its frames take half as long again as its blocks:
 * what is written is its blocks in a frame made here.
 */
import { createRequire } from 'node:module'
import { TidemarkError } from '../errors.ts'
import { batchOverheadBytes } from './batch-layout.ts'

interface Lz4 {
  /** A block behind four bytes with the size of what it holds. */
  compressSync(data: Uint8Array): Uint8Array
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
/** Magic, flags, block size, and the second byte of their xxHash32. */
const header = Uint8Array.of(0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82)
/** By bits 4 to 6 of the second descriptor byte. */
const blockBytesMax: readonly number[] = [0, 0, 0, 0, 1 << 16, 1 << 18, 1 << 20, 1 << 22]

const writtenBlockBytes = 1 << 16
/** What `compressSync` puts before its block. */
const prefixBytes = 4
const wordBytes = 8

let lz4: Lz4 | undefined
/**
 * Of this thread's last frame. It lies to a word as a frame lies in its batch: into shared memory
 * V8 copies by the word only then.
 */
let scratch = new Uint8Array(0)

/** Loaded at first use: threads that never compress don't need it. */
function library(): Lz4 {
  lz4 ??= createRequire(import.meta.url)('lz4-napi') as Lz4
  return lz4
}

function asBuffer(bytes: Uint8Array, start: number, end: number): Uint8Array {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start)
}

/** One frame with the bytes from `start` to `end`, in memory that the next call uses again. */
export function compressLz4(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const { compressSync } = library()
  const frame = scratchOf(end - start)
  frame.set(header)
  let at = header.length
  for (let from = start; from < end; from += writtenBlockBytes) {
    const block = asBuffer(bytes, from, Math.min(end, from + writtenBlockBytes))
    const compressed = compressSync(block).subarray(prefixBytes)
    const isStored = compressed.length >= block.length
    const content = isStored ? block : compressed
    writeWord(frame, at, isStored ? storedBit + content.length : content.length)
    frame.set(content, at + blockSizeBytes)
    at += blockSizeBytes + content.length
  }
  writeWord(frame, at, 0)
  return frame.subarray(0, at + blockSizeBytes)
}

/** A block that compression doesn't make smaller is stored, so this is room for any frame. */
function scratchOf(contentBytes: number): Uint8Array {
  const blocks = Math.ceil(contentBytes / writtenBlockBytes)
  const need = header.length + contentBytes + (blocks + 1) * blockSizeBytes
  if (scratch.length < need) {
    const alignment = batchOverheadBytes % wordBytes
    scratch = new Uint8Array(new ArrayBuffer(need + alignment), alignment)
  }
  return scratch
}

/** Four bytes, least significant first. */
function writeWord(bytes: Uint8Array, position: number, word: number): void {
  bytes[position] = word
  bytes[position + 1] = word >>> 8
  bytes[position + 2] = word >>> 16
  bytes[position + 3] = word >>> 24
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
