/** Writer of Kafka's flexible-version primitives (KIP-482) into memory that grows and is reused. */
import { bytesOfUuid, uuidSizeBytes } from './uuid.ts'

const capacityBytesInitial = 1024

/** Bytes of an unsigned varint: 7 bits a byte, low first. */
export function unsignedVarintSizeBytes(value: number): number {
  let sizeBytes = 1
  for (let rest = value >>> 7; rest !== 0; rest >>>= 7) sizeBytes++
  return sizeBytes
}

export class CompactWriter {
  #bytes = Buffer.allocUnsafe(capacityBytesInitial)
  #position = 0

  /** Bytes written since the last `reset`. */
  get position(): number {
    return this.#position
  }

  reset(): void {
    this.#position = 0
  }

  /** What was written, as a view: valid until the next write or reset. */
  written(): Uint8Array {
    // Not a Buffer, whose `slice` would be another view.
    return new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset, this.#position)
  }

  int8(value: number): void {
    const position = this.#room(1)
    this.#bytes.writeInt8(value, position)
  }

  bool(value: boolean): void {
    this.int8(value ? 1 : 0)
  }

  int16(value: number): void {
    const position = this.#room(2)
    this.#bytes.writeInt16BE(value, position)
  }

  uint16(value: number): void {
    const position = this.#room(2)
    this.#bytes.writeUInt16BE(value, position)
  }

  int32(value: number): void {
    const position = this.#room(4)
    this.#bytes.writeInt32BE(value, position)
  }

  /** A 64-bit number within ±(2^53 - 1). */
  int64(value: number): void {
    const position = this.#room(8)
    this.#bytes.writeInt32BE(Math.floor(value / 0x1_0000_0000), position)
    this.#bytes.writeUInt32BE(value >>> 0, position + 4)
  }

  unsignedVarint(value: number): void {
    let position = this.#room(unsignedVarintSizeBytes(value))
    let rest = value
    for (; rest > 0x7f; rest >>>= 7) this.#bytes[position++] = (rest & 0x7f) | 0x80
    this.#bytes[position] = rest
  }

  uuid(text: string): void {
    const id = bytesOfUuid(text)
    const position = this.#room(uuidSizeBytes)
    this.#bytes.set(id, position)
  }

  /** Length + 1 as a varint, then UTF-8; null is length 0. */
  compactString(text: string | null): void {
    if (text === null) {
      this.unsignedVarint(0)
      return
    }
    const sizeBytes = Buffer.byteLength(text)
    this.unsignedVarint(sizeBytes + 1)
    this.#bytes.write(text, this.#room(sizeBytes))
  }

  raw(bytes: Uint8Array): void {
    const position = this.#room(bytes.length)
    this.#bytes.set(bytes, position)
  }

  #room(sizeBytes: number): number {
    const position = this.#position
    const end = position + sizeBytes
    if (end > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(end, this.#bytes.length * 2))
      grown.set(this.#bytes.subarray(0, position))
      this.#bytes = grown
    }
    this.#position = end
    return position
  }
}
