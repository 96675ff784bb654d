/** gzip as Kafka has it in a batch: one member or several, one after the other. */
import { gunzipSync, gzipSync } from 'node:zlib'
import { bufferOf, corruptBlock, messageOf } from './codec-bytes.ts'

const chunkBytesMin = 16 * 1024
const chunkBytesMax = 1024 * 1024
const expansionExpected = 4

export function compressGzip(bytes: Uint8Array, start: number, end: number): Uint8Array {
  return gzipSync(bufferOf(bytes, start, end))
}

/** @throws {TidemarkError} CORRUPT_MESSAGE */
export function decompressGzip(
  bytes: Uint8Array,
  start: number,
  end: number,
  bytesMax: number,
): Uint8Array {
  const expected = (end - start) * expansionExpected
  const chunkSize = Math.min(chunkBytesMax, Math.max(chunkBytesMin, expected))
  try {
    return gunzipSync(bufferOf(bytes, start, end), { maxOutputLength: bytesMax, chunkSize })
  } catch (cause) {
    throw corruptBlock('gzip', messageOf(cause), cause)
  }
}
