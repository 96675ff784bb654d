/** Every bench, by the source it measures. */
import type { Bench } from './bench.ts'
import { appendTrial } from './log/append.trial.ts'
import { appendRecordsTrial } from './log/append-records.trial.ts'
import { makeBenches as batchEncoder } from './log/batch-encoder.bench.ts'
import { makeBenches as batchHeader } from './log/batch-header.bench.ts'
import { makeBenches as crc32c } from './log/crc32c.bench.ts'
import { lookupTrial } from './log/lookup.trial.ts'
import { openLargeTrial, openManyTrial } from './log/open.trial.ts'
import { recoveryTrial } from './log/recovery.trial.ts'
import { scanTrial } from './log/scan.trial.ts'
import { storesTrial } from './log/stores.trial.ts'
import type { Trial } from './trial.ts'

export const suites: readonly (readonly [name: string, makeBenches: () => Bench[]])[] = [
  ['log/crc32c', crc32c],
  ['log/batch-encoder', batchEncoder],
  ['log/batch-header', batchHeader],
]

/** By the question they answer. */
export const trials: readonly (readonly [name: string, trial: Trial])[] = [
  ['log/append', appendTrial],
  ['log/append-records', appendRecordsTrial],
  ['log/scan', scanTrial],
  ['log/lookup', lookupTrial],
  ['log/recovery', recoveryTrial],
  ['log/stores', storesTrial],
  ['log/open-large', openLargeTrial],
  ['log/open-many', openManyTrial],
]
