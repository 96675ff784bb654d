/**
 * Reader of Kafka's flexible-version primitives (KIP-482) from bytes that nobody has checked:
 * each read is bounded, and what doesn't fit is a CORRUPT_MESSAGE that says what was being read
 * and where.
 */
import { TidemarkError } from '../../errors.ts'
import { uuidOfBytes, uuidSizeBytes } from './uuid.ts'

const unsignedVarintBytesMax = 5

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export class CompactReader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #position = 0
  #end: number

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#end = bytes.byteLength
  }

  get position(): number {
    return this.#position
  }

  get remaining(): number {
    return this.#end - this.#position
  }

  int8(what: string): number {
    return this.#view.getInt8(this.#take(1, what))
  }

  bool(what: string): boolean {
    return this.int8(what) !== 0
  }

  int16(what: string): number {
    return this.#view.getInt16(this.#take(2, what))
  }

  uint16(what: string): number {
    return this.#view.getUint16(this.#take(2, what))
  }

  int32(what: string): number {
    return this.#view.getInt32(this.#take(4, what))
  }

  /**
   * A 64-bit number; beyond ±(2^53 - 1) it is refused, for no offset or epoch of ours gets there.
   */
  int64(what: string): number {
    const position = this.#take(8, what)
    const value = this.#view.getInt32(position) * 0x1_0000_0000 + this.#view.getUint32(position + 4)
    if (!Number.isSafeInteger(value)) throw corrupt(`${what}: ${value} is beyond 2^53 - 1`)
    return value
  }

  /** An unsigned varint of at most 31 bits, as Kafka's lengths and tags are. */
  unsignedVarint(what: string): number {
    let value = 0
    for (let i = 0; i < unsignedVarintBytesMax; i++) {
      const byte = this.#bytes[this.#take(1, what)]
      value += (byte & 0x7f) * 2 ** (7 * i)
      if (byte < 0x80) {
        if (value > 0x7fff_ffff) throw corrupt(`${what}: varint ${value} is beyond 2^31 - 1`)
        return value
      }
    }
    throw corrupt(`${what}: varint is longer than ${unsignedVarintBytesMax} bytes`)
  }

  uuid(what: string): string {
    return uuidOfBytes(this.#bytes, this.#take(uuidSizeBytes, what))
  }

  compactString(what: string): string | null {
    const sizeBytes = this.unsignedVarint(what) - 1
    if (sizeBytes < 0) return null
    const position = this.#take(sizeBytes, what)
    try {
      return utf8.decode(this.#bytes.subarray(position, position + sizeBytes))
    } catch (cause) {
      throw corrupt(`${what}: not UTF-8`, cause)
    }
  }

  /**
   * Count of an array's elements, -1 for null; never more than could follow, so that a wrong count
   * doesn't make anybody allocate.
   */
  arrayCount(what: string, elementSizeBytesMin: number): number {
    const count = this.unsignedVarint(what) - 1
    if (count * elementSizeBytesMin > this.remaining) {
      throw corrupt(`${what}: ${count} elements do not fit into ${this.remaining} bytes`)
    }
    return count
  }

  /** The next bytes, copied. */
  raw(sizeBytes: number, what: string): Uint8Array {
    const position = this.#take(sizeBytes, what)
    return Uint8Array.from(this.#bytes.subarray(position, position + sizeBytes))
  }

  skip(sizeBytes: number, what: string): void {
    this.#take(sizeBytes, what)
  }

  /** Runs `read` so that it must consume exactly the next `sizeBytes`. */
  within<T>(sizeBytes: number, what: string, read: () => T): T {
    const outerEnd = this.#end
    const end = this.#position + sizeBytes
    if (end > outerEnd)
      throw corrupt(`${what}: ${sizeBytes} bytes do not fit into ${this.remaining}`)
    this.#end = end
    const value = read()
    if (this.#position !== end) throw corrupt(`${what}: ${this.remaining} bytes too many`)
    this.#end = outerEnd
    return value
  }

  #take(sizeBytes: number, what: string): number {
    const position = this.#position
    if (sizeBytes > this.#end - position) {
      throw corrupt(`${what}: ${sizeBytes} bytes do not fit into ${this.#end - position}`)
    }
    this.#position = position + sizeBytes
    return position
  }
}

export function corrupt(detail: string, cause?: unknown): TidemarkError {
  return new TidemarkError('CORRUPT_MESSAGE', { detail: `metadata record: ${detail}`, cause })
}
