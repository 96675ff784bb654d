/** What is wrong with a batch, in words: what was expected there, and what stands there. */
import { limits } from '../limits.ts'
import type { BatchFault } from '../log/batch-header.ts'
import { countedCrc, type WalkEnd, type WalkedBatch } from './segment-walk.ts'

export interface Expectation {
  readonly expected: string
  readonly found: string
}

export function hex32(value: number): string {
  return `0x${(value >>> 0).toString(16).padStart(8, '0')}`
}

/** Of a batch that is all there and fails its checks. */
export function batchExpectation(batch: WalkedBatch, fault: BatchFault): Expectation {
  const { crc, recordCount, compression } = batch
  switch (fault) {
    case 'crc':
      return { expected: `CRC ${hex32(crc)} as stated`, found: `CRC ${hex32(countedCrc(batch))}` }
    case 'base-offset':
      return { expected: 'an offset from 0 to 2^53 - 2^31', found: `offset ${batch.baseOffset}` }
    case 'codec':
      return { expected: 'a codec that its format has', found: `attributes ${batch.attributes}` }
    case 'last-offset-delta':
      return {
        expected: 'a last offset delta of 0 or more',
        found: `${batch.lastOffset - batch.baseOffset}`,
      }
    case 'record-count':
      return {
        expected: 'as many records as its offsets and bytes have room for',
        found: `${recordCount} records, offsets ${batch.baseOffset} to ${batch.lastOffset}, ${batch.sizeBytes} bytes, codec ${compression}`,
      }
    case 'timestamp':
      return { expected: 'timestamps within 2^53 ms', found: 'a timestamp beyond' }
    default:
      return { expected: 'a whole batch', found: faultWords[fault] }
  }
}

/** Of the place where a walk ended before the file did. */
export function endExpectation({ position, fileBytes, fault }: WalkEnd): Expectation {
  const left = fileBytes - position
  const expected = `a whole batch, or the end of the file, ${left} bytes before it`
  return { expected, found: fault === undefined ? 'nothing' : faultWords[fault] }
}

const faultWords: Readonly<Record<BatchFault, string>> = {
  'header-cut': 'the beginning of a batch header',
  'bytes-cut': 'a batch that is longer than the rest of the file',
  length: `a length that is too short for a batch, or above ${limits.batchBytesMax}`,
  magic: 'a magic number other than 0, 1 and 2',
  'base-offset': 'an offset that is negative or too large',
  crc: 'a wrong CRC',
  codec: 'an unknown codec',
  'last-offset-delta': 'a negative last offset delta',
  'record-count': 'an impossible number of records',
  timestamp: 'a timestamp beyond 2^53 ms',
}
