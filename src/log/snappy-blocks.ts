/**
 * Snappy as Kafka has it in a batch: the stream format of snappy-java (`SnappyOutputStream`), which
 * is a header of 16 bytes and then blocks, each an i32 with its length and raw Snappy. Read is also
 * raw Snappy without any header, as some clients write it.
 */
import { createRequire } from 'node:module'
import { bufferOf, corruptBlock, loadCodec, messageOf } from './codec-bytes.ts'

interface Snappy {
  compressSync(data: Uint8Array): Uint8Array
  uncompressSync(data: Uint8Array, options: { readonly asBuffer: true }): Uint8Array
}

/** Magic, then version and lowest compatible version as i32: 1 and 1. */
const header = Uint8Array.of(0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1)
const magicBytes = 8
const compatiblePosition = 12
const compatibleVersionMin = 1
const lengthBytes = 4
/** `SnappyOutputStream`'s default. */
const blockBytes = 32 * 1024
/** Of raw Snappy: three bytes stand for 64 at most. */
const expansionMax = 64 / 3
const statedBytesMax = 5

let snappy: Snappy | undefined

function library(): Snappy {
  snappy ??= loadCodec('snappy', () => createRequire(import.meta.url)('snappy') as Snappy)
  return snappy
}

/** One stream with the bytes from `start` to `end`, in memory of its own. */
export function compressSnappy(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const parts: Uint8Array[] = [header]
  for (let at = start; at < end; at += blockBytes) {
    const block = library().compressSync(bufferOf(bytes, at, Math.min(end, at + blockBytes)))
    const length = Buffer.alloc(lengthBytes)
    length.writeInt32BE(block.length)
    parts.push(length, block)
  }
  return Buffer.concat(parts)
}

/**
 * What the stream, or the raw block, from `start` to `end` holds. The lengths that the blocks state
 * are added up first, so that a hostile one cannot choose how much memory is taken.
 *
 * @throws {TidemarkError} CORRUPT_MESSAGE
 */
export function decompressSnappy(
  bytes: Uint8Array,
  start: number,
  end: number,
  bytesMax: number,
): Uint8Array {
  const input = bufferOf(bytes, start, end)
  if (!hasHeader(input, 0)) {
    checkTotal(statedLength(input), bytesMax)
    return uncompressBlock(input)
  }
  let total = 0
  forEachBlock(input, (block) => {
    total += statedLength(block)
    checkTotal(total, bytesMax)
  })
  const output = new Uint8Array(total)
  let at = 0
  forEachBlock(input, (block) => {
    const part = uncompressBlock(block)
    output.set(part, at)
    at += part.length
  })
  return output
}

/** A stream appended to another begins with a header again: where a length is expected. */
function forEachBlock(input: Buffer, visit: (block: Buffer) => void): void {
  let at = 0
  while (at < input.length) {
    if (hasHeader(input, at)) {
      const version = input.readInt32BE(at + compatiblePosition)
      if (version < compatibleVersionMin) throw corruptBlock('snappy', `version ${version}`)
      at += header.length
      continue
    }
    if (input.length - at < lengthBytes) throw corruptBlock('snappy', 'ends within a length')
    const length = input.readInt32BE(at)
    at += lengthBytes
    if (length < 0 || length > input.length - at) {
      throw corruptBlock('snappy', `a block of ${length} bytes where ${input.length - at} are left`)
    }
    visit(input.subarray(at, at + length))
    at += length
  }
}

function hasHeader(input: Buffer, position: number): boolean {
  if (input.length - position < header.length) return false
  for (let index = 0; index < magicBytes; index += 1) {
    if (input[position + index] !== header[index]) return false
  }
  return true
}

/** The length that a raw block says it has; no more than its bytes can stand for. */
function statedLength(block: Buffer): number {
  let length = 0
  for (let index = 0; index < statedBytesMax; index += 1) {
    if (index >= block.length) break
    const byte = block[index]
    length += (byte & 0x7f) * 2 ** (7 * index)
    if (byte >= 0x80) continue
    if (length <= block.length * expansionMax) return length
    throw corruptBlock('snappy', `${length} bytes stated by a block of ${block.length}`)
  }
  throw corruptBlock('snappy', 'a block without a length')
}

function checkTotal(total: number, bytesMax: number): void {
  if (total > bytesMax) throw corruptBlock('snappy', `${total} bytes, allowed are ${bytesMax}`)
}

function uncompressBlock(block: Buffer): Uint8Array {
  try {
    return library().uncompressSync(block, { asBuffer: true })
  } catch (cause) {
    throw corruptBlock('snappy', messageOf(cause), cause)
  }
}
