/** CRC-32C (Castagnoli), native where the module loads, else eight bytes a step in TypeScript. */
import { createRequire } from 'node:module'

type NativeCrc32c = (bytes: Uint8Array) => number

const polynomialReversed = 0x82f63b78
const slices = 8

function loadNative(): NativeCrc32c | undefined {
  try {
    const require = createRequire(import.meta.url)
    const native = require('@node-rs/crc32') as { crc32c: NativeCrc32c }
    return native.crc32c
  } catch {
    return undefined
  }
}

const native = loadNative()

/**
 * Checksum of the bytes from `start` (inclusive) to `end` (exclusive), as an unsigned 32-bit
 * number. Makes one small view a call; the bytes may be shared memory.
 */
export function crc32c(bytes: Uint8Array, start: number, end: number): number {
  if (native === undefined) return crc32cPortable(bytes, start, end)
  return native(bytes.subarray(start, end))
}

/** The same without the native module. Exported so that a test can hold the two together. */
export function crc32cPortable(bytes: Uint8Array, start: number, end: number): number {
  const table = slicingTable()
  let crc = 0xffff_ffff
  let at = start
  for (; at + slices <= end; at += slices) {
    const low =
      crc ^ (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24))
    crc =
      table[0x700 + (low & 0xff)] ^
      table[0x600 + ((low >>> 8) & 0xff)] ^
      table[0x500 + ((low >>> 16) & 0xff)] ^
      table[0x400 + (low >>> 24)] ^
      table[0x300 + bytes[at + 4]] ^
      table[0x200 + bytes[at + 5]] ^
      table[0x100 + bytes[at + 6]] ^
      table[bytes[at + 7]]
  }
  for (; at < end; at += 1) crc = table[(crc ^ bytes[at]) & 0xff] ^ (crc >>> 8)
  return (crc ^ 0xffff_ffff) >>> 0
}

let table: Uint32Array | undefined

/** Made at first use: 8 KiB that a thread with the native module never needs. */
function slicingTable(): Uint32Array {
  if (table !== undefined) return table
  table = new Uint32Array(256 * slices)
  for (let byte = 0; byte < 256; byte += 1) {
    let crc = byte
    for (let bit = 0; bit < 8; bit += 1) {
      crc = (crc & 1) === 1 ? (crc >>> 1) ^ polynomialReversed : crc >>> 1
    }
    table[byte] = crc
  }
  for (let at = 256; at < table.length; at += 1) {
    const before = table[at - 256]
    table[at] = table[before & 0xff] ^ (before >>> 8)
  }
  return table
}
