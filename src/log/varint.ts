/**
 * Zig-zag variable-length integers of the record format (Kafka: `ByteUtils`). `varint` is 32 bits
 * wide (at most 5 bytes), `varlong` 64 (at most 10), of which numbers hold 53 exactly.
 */
import { TidemarkError } from '../errors.ts'

const varintShiftMax = 28
const varlongBytesMax = 10
/** Largest magnitude whose zig-zag form a number still holds exactly. */
export const varlongMagnitudeMax = 2 ** 52 - 1

export function varintSize(value: number): number {
  const zigzag = ((value << 1) ^ (value >> 31)) >>> 0
  if (zigzag < 0x80) return 1
  if (zigzag < 0x4000) return 2
  if (zigzag < 0x20_0000) return 3
  return zigzag < 0x1000_0000 ? 4 : 5
}

/** `value` is an integer of magnitude up to `varlongMagnitudeMax`. */
export function varlongSize(value: number): number {
  let zigzag = value < 0 ? -2 * value - 1 : 2 * value
  let size = 1
  while (zigzag >= 0x80) {
    zigzag = Math.floor(zigzag / 0x80)
    size += 1
  }
  return size
}

/** Returns the position after the number. */
export function writeVarint(bytes: Uint8Array, position: number, value: number): number {
  let zigzag = ((value << 1) ^ (value >> 31)) >>> 0
  let at = position
  while (zigzag >= 0x80) {
    bytes[at] = (zigzag & 0x7f) | 0x80
    at += 1
    zigzag >>>= 7
  }
  bytes[at] = zigzag
  return at + 1
}

export function writeVarlong(bytes: Uint8Array, position: number, value: number): number {
  if (value >= -0x4000_0000 && value < 0x4000_0000) return writeVarint(bytes, position, value)
  let zigzag = value < 0 ? -2 * value - 1 : 2 * value
  let at = position
  while (zigzag >= 0x80) {
    bytes[at] = (zigzag % 0x80) | 0x80
    at += 1
    zigzag = Math.floor(zigzag / 0x80)
  }
  bytes[at] = zigzag
  return at + 1
}

/** Reads numbers one after the other from bytes that nobody vouches for. */
export class VarintCursor {
  bytes: Uint8Array
  position: number
  /** Exclusive; nothing is read at or after it. */
  end: number

  constructor(bytes: Uint8Array, position: number, end: number) {
    this.bytes = bytes
    this.position = position
    this.end = end
  }

  /** @throws {TidemarkError} CORRUPT_MESSAGE when it is cut off or wider than 32 bits. */
  readVarint(): number {
    let zigzag = 0
    for (let shift = 0; shift <= varintShiftMax; shift += 7) {
      const byte = this.readByte()
      zigzag |= (byte & 0x7f) << shift
      if (byte < 0x80) {
        if (shift === varintShiftMax && byte > 0x0f) break
        return (zigzag >>> 1) ^ -(zigzag & 1)
      }
    }
    throw this.corrupt('a number wider than 32 bits')
  }

  /** @throws {TidemarkError} CORRUPT_MESSAGE when it is cut off or not held exactly by a number. */
  readVarlong(): number {
    let zigzag = 0
    let scale = 1
    for (let count = 0; count < varlongBytesMax; count += 1) {
      const byte = this.readByte()
      zigzag += (byte & 0x7f) * scale
      if (byte < 0x80) {
        if (zigzag > 2 * varlongMagnitudeMax + 1) break
        return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2
      }
      scale *= 0x80
    }
    throw this.corrupt('a number beyond 2^52')
  }

  readByte(): number {
    if (this.position >= this.end) throw this.corrupt('the end')
    const byte = this.bytes[this.position]
    this.position += 1
    return byte
  }

  /** Steps over `length` bytes and returns where they begin. */
  skip(length: number): number {
    const { position } = this
    if (length > this.end - position) throw this.corrupt(`${length} bytes where fewer are left`)
    this.position = position + length
    return position
  }

  corrupt(what: string): TidemarkError {
    return new TidemarkError('CORRUPT_MESSAGE', `record bytes at ${this.position}: met ${what}`)
  }
}
