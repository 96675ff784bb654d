/** Compresses and decompresses the records of a batch, all of them as one block. */
import type { Compression } from './batch-header.ts'
import { compressGzip, decompressGzip } from './gzip.ts'
import { compressLz4, decompressLz4 } from './lz4-frame.ts'
import { compressSnappy, decompressSnappy } from './snappy-blocks.ts'
import { compressZstd, decompressZstd } from './zstd.ts'

interface Codec {
  /** The bytes from `start` to `end`, compressed, in memory that the next call may use again. */
  readonly compress: (bytes: Uint8Array, start: number, end: number) => Uint8Array
  /**
   * What the bytes from `start` to `end` hold, at most `bytesMax`, in memory that the caller may
   * keep.
   */
  readonly decompress: (
    bytes: Uint8Array,
    start: number,
    end: number,
    bytesMax: number,
  ) => Uint8Array
}

export type Codecs = Exclude<Compression, 'none'>

const codecs: Readonly<Record<Codecs, Codec>> = {
  gzip: { compress: compressGzip, decompress: decompressGzip },
  snappy: { compress: compressSnappy, decompress: decompressSnappy },
  lz4: { compress: compressLz4, decompress: decompressLz4 },
  zstd: { compress: compressZstd, decompress: decompressZstd },
}

/**
 * The bytes from `start` to `end`, compressed. What it gives is good until the next call.
 *
 * @throws {TidemarkError} UNSUPPORTED_VERSION when the codec's library does not load here.
 */
export function compressRecords(
  compression: Codecs,
  bytes: Uint8Array,
  start: number,
  end: number,
): Uint8Array {
  return codecs[compression].compress(bytes, start, end)
}

/**
 * @throws {TidemarkError} CORRUPT_MESSAGE for bytes that the codec did not make or that hold more
 *   than `bytesMax`; UNSUPPORTED_VERSION when the codec's library does not load here.
 */
export function decompressRecords(
  compression: Codecs,
  bytes: Uint8Array,
  start: number,
  end: number,
  bytesMax: number,
): Uint8Array {
  return codecs[compression].decompress(bytes, start, end, bytesMax)
}
