/** Zstandard as Kafka has it in a batch: one frame or several, without a dictionary. */
import { bufferOf, corruptBlock, messageOf } from './codec-bytes.ts'
import { decompressedBound } from './zstd-frame.ts'
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
  const bound = decompressedBound(input)
  if (bound === 0) return new Uint8Array(0)
  const library = zstdLibrary()
  try {
    return library.decompress(input, Math.min(bound, bytesMax))
  } catch (cause) {
    throw corruptBlock('zstd', messageOf(cause), cause)
  }
}
