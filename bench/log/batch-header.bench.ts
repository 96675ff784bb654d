import {
  checkBatch,
  lastOffsetDeltaAt,
  nextOffsetAt,
  sizeInBytesAt,
  stampBatch,
} from '../../src/log/batch-header.ts'
import { forEachRecord } from '../../src/log/record-reader.ts'
import { type Bench, expectEqual } from '../bench.ts'
import { sampleBatch } from './batches.ts'

const batchBytes = 16 * 1024

/** What do a leader's and a follower's looks at one batch cost, beside its checksum? */
export function makeBenches(): Bench[] {
  return [stamp(), check(), read()]
}

function stamp(): Bench {
  const { memory, recordCount } = sampleBatch(batchBytes, 100)
  let next = 0
  let runs = 0
  return {
    name: 'stamp a batch and read its header back',
    items: 1,
    run: () => {
      stampBatch(memory, 0, next, 7)
      next = nextOffsetAt(memory, 0)
      runs += 1
      return sizeInBytesAt(memory, 0) + lastOffsetDeltaAt(memory, 0)
    },
    check: () => expectEqual('next offset', next, runs * recordCount),
  }
}

function check(): Bench {
  const { memory, sizeBytes } = sampleBatch(batchBytes, 100)
  let fault: unknown
  return {
    name: 'check a batch of 16 KiB',
    bytes: sizeBytes,
    run: () => {
      fault = checkBatch(memory, 0, sizeBytes)
      return fault
    },
    check: () => {
      expectEqual('fault', fault, undefined)
      memory.bytes[sizeBytes - 1] ^= 1
      expectEqual('fault of a changed byte', checkBatch(memory, 0, sizeBytes) === undefined, false)
    },
  }
}

function read(): Bench {
  const { memory, sizeBytes, recordCount } = sampleBatch(batchBytes, 100)
  let seen = 0
  const visit = (): void => {
    seen += 1
  }
  return {
    name: 'read every record of a batch of 100 B records',
    bytes: sizeBytes,
    items: recordCount,
    run: () => {
      seen = 0
      forEachRecord(memory, 0, visit)
      return seen
    },
    check: () => expectEqual('records', seen, recordCount),
  }
}
