/** Walks Zstandard frames without decompressing them (RFC 8878). */
import { corruptBlock } from './codec-bytes.ts'

const frameMagic = 0xfd2f_b528
const skippableMagic = 0x184d_2a50
const skippableMask = 0xffff_fff0
const magicBytes = 4
const blockHeaderBytes = 3
const checksumBytes = 4
const blockBytesMax = 128 * 1024
const windowLogMin = 10
const blockType = { raw: 0, rle: 1, compressed: 2 }
/** By the lowest two bits of the descriptor. */
const dictionaryIdBytes: readonly number[] = [0, 1, 2, 4]
/** By the highest two bits of the descriptor; the first counts for frames of one segment only. */
const contentSizeBytes: readonly number[] = [1, 2, 4, 8]
/** Two bytes count from here. */
const contentSizeBase = 256

interface FrameHeader {
  readonly bytes: number
  readonly blockBytesMax: number
  /** undefined: not stated. */
  readonly contentBytes: number | undefined
  readonly hasChecksum: boolean
}

export interface ZstdFrame {
  readonly start: number
  readonly end: number
  /** The most that it can hold; exact where it states its content's size. */
  readonly contentBytesMax: number
}

/**
 * The frames, without those to be skipped.
 *
 * @throws {TidemarkError} CORRUPT_MESSAGE for bytes that aren't whole frames.
 */
export function zstdFrames(input: Buffer): ZstdFrame[] {
  const frames: ZstdFrame[] = []
  let start = 0
  while (start < input.length) {
    need(input, start + magicBytes + 1)
    const magic = input.readUInt32LE(start)
    if ((magic & skippableMask) >>> 0 === skippableMagic) {
      need(input, start + 2 * magicBytes)
      start += 2 * magicBytes + input.readUInt32LE(start + magicBytes)
      need(input, start)
      continue
    }
    if (magic !== frameMagic) throw corruptBlock('zstd', 'wrong magic number')
    const header = readHeader(input, start + magicBytes)
    const blocks = walkBlocks(input, start + magicBytes + header.bytes, header.blockBytesMax)
    const { contentBytes = blocks.bound } = header
    if (contentBytes > blocks.bound) {
      throw corruptBlock('zstd', `${contentBytes} bytes stated, blocks for ${blocks.bound}`)
    }
    const end = blocks.end + (header.hasChecksum ? checksumBytes : 0)
    need(input, end)
    frames.push({ start, end, contentBytesMax: contentBytes })
    start = end
  }
  return frames
}

function readHeader(input: Buffer, start: number): FrameHeader {
  const descriptor = input[start]
  const singleSegment = (descriptor & 0x20) !== 0
  if ((descriptor & 0x08) !== 0) throw corruptBlock('zstd', 'a reserved bit is set')
  const sizeFlag = descriptor >>> 6
  const idBytes = dictionaryIdBytes[descriptor & 3]
  const sizeBytes = sizeFlag === 0 && !singleSegment ? 0 : contentSizeBytes[sizeFlag]
  const windowBytes = singleSegment ? 0 : 1
  const bytes = 1 + windowBytes + idBytes + sizeBytes
  need(input, start + bytes)
  const idPosition = start + 1 + windowBytes
  if (idBytes > 0 && input.readUIntLE(idPosition, idBytes) !== 0) {
    throw corruptBlock('zstd', 'needs a dictionary')
  }
  const contentBytes = readContentSize(input, idPosition + idBytes, sizeBytes)
  const window = singleSegment ? (contentBytes ?? 0) : windowSize(input[start + 1])
  return {
    bytes,
    blockBytesMax: Math.min(blockBytesMax, window),
    contentBytes,
    hasChecksum: (descriptor & 0x04) !== 0,
  }
}

function readContentSize(input: Buffer, at: number, bytes: number): number | undefined {
  if (bytes === 0) return undefined
  if (bytes === 2) return input.readUInt16LE(at) + contentSizeBase
  if (bytes < 8) return input.readUIntLE(at, bytes)
  // Rounded where it is beyond any bound.
  return input.readUInt32LE(at + 4) * 2 ** 32 + input.readUInt32LE(at)
}

function windowSize(descriptor: number): number {
  const base = 2 ** (windowLogMin + (descriptor >>> 3))
  return base + (base / 8) * (descriptor & 7)
}

function walkBlocks(
  input: Buffer,
  start: number,
  blockMax: number,
): { readonly end: number; readonly bound: number } {
  let at = start
  let bound = 0
  for (;;) {
    need(input, at + blockHeaderBytes)
    const word = input.readUIntLE(at, blockHeaderBytes)
    at += blockHeaderBytes
    const type = (word >>> 1) & 3
    const size = word >>> 3
    if (type > blockType.compressed) throw corruptBlock('zstd', 'a block of a reserved kind')
    if (size > blockMax) throw corruptBlock('zstd', `a block of ${size} bytes, at most ${blockMax}`)
    at += type === blockType.rle ? 1 : size
    need(input, at)
    bound += type === blockType.compressed ? blockMax : size
    if ((word & 1) === 1) return { end: at, bound }
  }
}

function need(input: Buffer, end: number): void {
  if (end > input.length) throw corruptBlock('zstd', `ends at ${input.length}, within a field`)
}
