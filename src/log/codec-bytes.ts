/** What the codecs share: views over their input, and their errors. */
import { TidemarkError } from '../errors.ts'

/** The bytes from `start` to `end` as Node's own calls and native modules want them; no copy. */
export function bufferOf(bytes: Uint8Array, start: number, end: number): Buffer {
  return Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset + start, end - start)
}

export function corruptBlock(codec: string, what: string, cause?: unknown): TidemarkError {
  const detail = `${codec}: ${what}`
  return new TidemarkError('CORRUPT_MESSAGE', cause === undefined ? detail : { detail, cause })
}

/** A codec is loaded at first use, so that threads that never compress go without. */
export function loadCodec<T>(codec: string, load: () => T): T {
  try {
    return load()
  } catch (cause) {
    throw new TidemarkError('UNSUPPORTED_VERSION', {
      detail: `${codec}: its library does not load on this machine: ${messageOf(cause)}`,
      cause,
    })
  }
}

export function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
