/** Every bench, by the source it measures. */
import type { Bench } from './bench.ts'
import { makeBenches as batchEncoder } from './log/batch-encoder.bench.ts'
import { makeBenches as batchHeader } from './log/batch-header.bench.ts'
import { makeBenches as crc32c } from './log/crc32c.bench.ts'
import { makeBenches as log } from './log/log.bench.ts'

export const suites: readonly (readonly [name: string, makeBenches: () => Bench[]])[] = [
  ['log/crc32c', crc32c],
  ['log/batch-encoder', batchEncoder],
  ['log/batch-header', batchHeader],
  ['log/log', log],
]
