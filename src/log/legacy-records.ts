/** The records of a message of magic 0 or 1: itself, or those inside a compressed one. */
import { TidemarkError } from '../errors.ts'
import { limits } from '../limits.ts'
import { type BatchMemory, batchMemory } from './batch-memory.ts'
import { decompressRecords } from './codec.ts'
import { mendLz4Header } from './legacy-lz4.ts'
import {
  checkLegacyMessage,
  type LegacyMessage,
  legacyMessageAt,
  legacySizeAt,
} from './legacy-message.ts'
import type { LogRecord } from './record.ts'

/**
 * The records of the message at `position`, which must have been checked, in order.
 *
 * @throws {TidemarkError} CORRUPT_MESSAGE when what is inside a wrapper isn't whole messages of its
 *   magic, uncompressed, in ascending order.
 */
export function readLegacyRecords(memory: BatchMemory, position: number): LogRecord[] {
  const message = legacyMessageAt(memory, position)
  if (message.compression === 'none') return [recordOf(message, message.offset)]
  const inner = innerMessages(message)
  const last = inner.at(-1)
  if (last === undefined) throw corrupt(message, 'holds no message')
  // Inside a wrapper of magic 1 offsets count from 0, so that a broker need not compress again.
  const base = message.magic === 0 ? 0 : message.offset - last.offset
  if (base < 0 || base + last.offset !== message.offset) {
    throw corrupt(message, `ends with offset ${base + last.offset} inside`)
  }
  return inner.map((each) => {
    const record = recordOf(each, base + each.offset)
    return message.logAppendTime ? { ...record, timestampMs: message.timestampMs } : record
  })
}

function recordOf({ timestampMs, key, value }: LegacyMessage, offset: number): LogRecord {
  return { offset, timestampMs, key, value, headers: [] }
}

function innerMessages(wrapper: LegacyMessage): LegacyMessage[] {
  const { magic, compression, value } = wrapper
  if (value === null || compression === 'none') throw corrupt(wrapper, 'has no value')
  const block = magic === 0 && compression === 'lz4' ? mendLz4Header(value) : value
  const bytes = decompressRecords(compression, block, 0, block.length, limits.batchBytesMax)
  const memory = batchMemory(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const found: LegacyMessage[] = []
  for (let at = 0; at < bytes.length; at += legacySizeAt(memory, at)) {
    const fault = checkLegacyMessage(memory, at, bytes.length - at)
    if (fault !== undefined) throw corrupt(wrapper, `message at ${at} inside: ${fault}`)
    const message = legacyMessageAt(memory, at)
    if (message.magic !== magic || message.compression !== 'none') {
      throw corrupt(wrapper, `message at ${at} inside: magic ${message.magic} or compressed again`)
    }
    const before = found.at(-1)?.offset ?? -1
    if (message.offset <= before) {
      throw corrupt(wrapper, `message at ${at} inside: offset ${message.offset} after ${before}`)
    }
    found.push(message)
  }
  return found
}

function corrupt({ offset }: LegacyMessage, what: string): TidemarkError {
  return new TidemarkError('CORRUPT_MESSAGE', `compressed message up to offset ${offset} ${what}`)
}
