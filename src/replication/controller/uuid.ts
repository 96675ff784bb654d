/**
 * 128-bit ids of topics, directories and broker incarnations as Kafka writes them: 16 bytes on
 * disk, 22 characters of unpadded base64url in text. The code carries the text form, which
 * compares by value.
 */
import { randomBytes } from 'node:crypto'
import { TidemarkError } from '../../errors.ts'

export const uuidSizeBytes = 16

/** All bits 0: "no id". */
export const uuidZero = 'AAAAAAAAAAAAAAAAAAAAAA'

/**
 * Kafka keeps ids whose first 120 bits or so are zero for itself (Uuid.RESERVED: the first 100).
 */
const reservedUuidMax = 100

const hexForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The id of the 16 bytes at `position`; the caller has checked that they are there. */
export function uuidOfBytes(bytes: Uint8Array, position = 0): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + position, uuidSizeBytes).toString('base64url')
}

/** @throws {TidemarkError} INVALID_ARGUMENT when `text` isn't an id in Kafka's text form. */
export function bytesOfUuid(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length === uuidSizeBytes && bytes.toString('base64url') === text) return bytes
  throw new TidemarkError('INVALID_ARGUMENT', `id '${text}' is not 22 characters of base64url`)
}

/** Kafka's text form of an id given in that form or in hexadecimal with dashes; else undefined. */
export function parseUuid(text: string): string | undefined {
  if (hexForm.test(text)) return Buffer.from(text.replaceAll('-', ''), 'hex').toString('base64url')
  const bytes = Buffer.from(text, 'base64url')
  return bytes.length === uuidSizeBytes && bytes.toString('base64url') === text ? text : undefined
}

/**
 * A fresh id: never a reserved one, and never one that begins with a dash, which a command line
 * would take for an option (Kafka: Uuid.randomUuid).
 */
export function randomUuid(random: (sizeBytes: number) => Uint8Array = randomBytes): string {
  for (;;) {
    const bytes = random(uuidSizeBytes)
    const text = uuidOfBytes(bytes)
    if (!text.startsWith('-') && !isReserved(bytes)) return text
  }
}

function isReserved(bytes: Uint8Array): boolean {
  for (let i = 0; i < uuidSizeBytes - 1; i++) if (bytes[i] !== 0) return false
  return bytes[uuidSizeBytes - 1] < reservedUuidMax
}
