/**
 * The bytes of a record batch, Kafka's magic 2 (`DefaultRecordBatch`); integers are big-endian.
 *
 *     0  base offset            i64 ┐
 *     8  batch length           i32 │ outside the CRC: the leader stamps base offset and epoch
 *    12  partition leader epoch i32 │ without counting again
 *    16  magic                  i8  │
 *    17  CRC-32C of 21..end     u32 ┘
 *    21  attributes             i16   bits 0-2 codec, 3 log append time, 4 transactional,
 *                                     5 control, 6 delete horizon in base timestamp
 *    23  last offset delta      i32
 *    27  base timestamp         i64
 *    35  max timestamp          i64
 *    43  producer id            i64   -1: none
 *    51  producer epoch         i16
 *    53  base sequence          i32
 *    57  record count           i32
 *    61  records, perhaps compressed as one block
 *
 * Batch length counts the bytes after its own field.
 */
import { invariant } from '../invariant.ts'

const int8Bytes = 1
const int16Bytes = 2
const int32Bytes = 4
const int64Bytes = 8

const baseOffset = 0
const length = baseOffset + int64Bytes
const leaderEpoch = length + int32Bytes
const magic = leaderEpoch + int32Bytes
const crc = magic + int8Bytes
const attributes = crc + int32Bytes
const lastOffsetDelta = attributes + int16Bytes
const baseTimestamp = lastOffsetDelta + int32Bytes
const maxTimestamp = baseTimestamp + int64Bytes
const producerId = maxTimestamp + int64Bytes
const producerEpoch = producerId + int64Bytes
const baseSequence = producerEpoch + int16Bytes
const recordCount = baseSequence + int32Bytes
const records = recordCount + int32Bytes

/** Byte of each field, from the batch's first. */
export const batchField = {
  baseOffset,
  length,
  leaderEpoch,
  magic,
  crc,
  attributes,
  lastOffsetDelta,
  baseTimestamp,
  maxTimestamp,
  producerId,
  producerEpoch,
  baseSequence,
  recordCount,
  records,
} as const

/** Bytes of a batch without records. */
export const batchOverheadBytes = records
/** Bytes that the length field doesn't count: itself and what stands before it. */
export const batchLengthPrefixBytes = leaderEpoch
export const batchMagic = 2

export const attributeBit = {
  codecMask: 0x07,
  logAppendTime: 0x08,
  transactional: 0x10,
  control: 0x20,
  deleteHorizon: 0x40,
} as const

/** Fewest bytes of a record: length, attributes, two deltas, key and value length, header count. */
export const recordBytesMin = 7

invariant(batchOverheadBytes === 61, 'a batch header takes 61 bytes')
invariant(batchLengthPrefixBytes === 12, 'the length field ends at byte 12')
invariant(attributes === 21, 'the CRC covers what follows byte 21')
