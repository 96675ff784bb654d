/**
 * LZ4 frames inside messages of magic 0 carry a wrong header checksum, as Kafka's first clients
 * counted the magic number in (KAFKA-3160). Readers of the standard refuse it: it is set right.
 */
const magicBytes = 4
const flagPosition = magicBytes
const contentSizeFlag = 0x08
const descriptorBytes = 2
const contentSizeBytes = 8
const prime1 = 0x9e37_79b1
const prime2 = 0x85eb_ca77
const prime3 = 0xc2b2_ae3d
const prime4 = 0x27d4_eb2f
const prime5 = 0x1656_67b1

/** A copy of the frame with the right header checksum; as it is where it's too short for one. */
export function mendLz4Header(frame: Uint8Array): Uint8Array {
  const sizeBytes = (frame[flagPosition] & contentSizeFlag) === 0 ? 0 : contentSizeBytes
  const end = magicBytes + descriptorBytes + sizeBytes
  if (frame.length <= end) return frame
  const mended = Uint8Array.from(frame)
  mended[end] = (xxHash32(frame.subarray(magicBytes, end)) >>> 8) & 0xff
  return mended
}

/** For up to 15 bytes, with seed 0. Exported so that a test can hold it against known values. */
export function xxHash32(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let hash = (prime5 + bytes.length) | 0
  let at = 0
  for (; at + 4 <= bytes.length; at += 4) {
    hash = (hash + Math.imul(view.getInt32(at, true), prime3)) | 0
    hash = Math.imul((hash << 17) | (hash >>> 15), prime4)
  }
  for (; at < bytes.length; at += 1) {
    hash = (hash + Math.imul(bytes[at], prime5)) | 0
    hash = Math.imul((hash << 11) | (hash >>> 21), prime1)
  }
  hash = Math.imul(hash ^ (hash >>> 15), prime2)
  hash = Math.imul(hash ^ (hash >>> 13), prime3)
  return (hash ^ (hash >>> 16)) >>> 0
}
