import { crc32c, crc32cPortable } from '../../src/log/crc32c.ts'
import { type Bench, expectEqual } from '../bench.ts'
import { sampleValue } from './batches.ts'

/** What does a checksum of shared memory cost, with and without the native module? */
export function makeBenches(): Bench[] {
  return [512, 16 * 1024].flatMap((size) => [
    makeBench(`crc32c, ${size} bytes`, size, crc32c),
    makeBench(`crc32c without the native module, ${size} bytes`, size, crc32cPortable),
  ])
}

function makeBench(name: string, size: number, checksum: typeof crc32c): Bench {
  const bytes = new Uint8Array(new SharedArrayBuffer(size))
  bytes.set(sampleValue(size))
  const expected = crc32cPortable(bytes, 0, size)
  let result = 0
  return {
    name,
    bytes: size,
    run: () => {
      result = checksum(bytes, 0, size)
      return result
    },
    check: () => expectEqual(name, result, expected),
  }
}
