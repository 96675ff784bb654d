import { BatchEncoder } from '../../src/log/batch-encoder.ts'
import { checkBatch, recordCountAt } from '../../src/log/batch-header.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { type Bench, expectEqual } from '../bench.ts'
import { sampleValue } from './batches.ts'

const batchBytes = 16 * 1024
const timestampMs = 1_700_000_000_000

/** What does it cost to encode a whole batch into shared memory, CRC included? */
export function makeBenches(): Bench[] {
  return [
    makeBench(100, 'none'),
    makeBench(1024, 'none'),
    makeBench(1024, 'lz4'),
    makeRawBench(100),
  ]
}

function makeBench(valueBytes: number, compression: 'none' | 'lz4'): Bench {
  const memory = batchMemory(new SharedArrayBuffer(batchBytes))
  const encoder = new BatchEncoder()
  const record = { key: null, value: sampleValue(valueBytes), timestampMs }
  const options = { compression }
  const name = `encode ${valueBytes} B records, compression ${compression}`
  return encoderBench(name, memory, () => {
    encoder.begin(memory, 0, batchBytes, options)
    while (encoder.tryAppend(record)) {
      // Until it is full.
    }
    return encoder.finish()
  })
}

/** As a load generator does it: room for a value is taken and filled in place. */
function makeRawBench(valueBytes: number): Bench {
  const memory = batchMemory(new SharedArrayBuffer(batchBytes))
  const encoder = new BatchEncoder()
  const value = sampleValue(valueBytes)
  const options = { compression: 'none' } as const
  return encoderBench(`encode ${valueBytes} B records in place`, memory, () => {
    encoder.begin(memory, 0, batchBytes, options)
    for (;;) {
      const position = encoder.tryAppendRaw(timestampMs, -1, valueBytes)
      if (position === -1) return encoder.finish()
      memory.bytes.set(value, position)
    }
  })
}

function encoderBench(name: string, memory: ReturnType<typeof batchMemory>, run: () => number) {
  let size = run()
  return {
    name,
    bytes: size,
    items: recordCountAt(memory, 0),
    run: () => {
      size = run()
      return size
    },
    check: () => expectEqual(name, checkBatch(memory, 0, size), undefined),
  }
}
