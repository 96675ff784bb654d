/** Zstandard as Kafka has it in a batch: one frame or several, without a dictionary. */
import { bufferOf, corruptBlock, messageOf } from './codec-bytes.ts'
import { zstdFrames } from './zstd-frame.ts'
import { zstdLibrary } from './zstd-library.ts'

export function compressZstd(bytes: Uint8Array, start: number, end: number): Uint8Array {
  return zstdLibrary().compress(bufferOf(bytes, start, end))
}

/**
 * What the frames from `start` to `end` hold. Their blocks are walked first, so that a hostile one
 * cannot choose how much memory is taken.
 *
 * @throws {TidemarkError} CORRUPT_MESSAGE
 */
export function decompressZstd(
  bytes: Uint8Array,
  start: number,
  end: number,
  bytesMax: number,
): Uint8Array {
  const input = bufferOf(bytes, start, end)
  const library = zstdLibrary()
  const parts: Uint8Array[] = []
  let left = bytesMax
  // One by one: Node's own stops after the first frame without a word.
  for (const frame of zstdFrames(input)) {
    if (frame.contentBytesMax === 0) continue
    try {
      const capacity = Math.min(frame.contentBytesMax, left)
      const part = library.decompress(input.subarray(frame.start, frame.end), capacity)
      left -= part.length
      parts.push(part)
    } catch (cause) {
      throw corruptBlock('zstd', messageOf(cause), cause)
    }
  }
  return parts.length === 1 ? parts[0] : Buffer.concat(parts)
}
