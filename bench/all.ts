/** Every bench, by the source it measures. */
import type { Bench } from './bench.ts'
import { busyLatencyTrial, slowLatencyTrial } from './cluster/ack-latency.trial.ts'
import { admissionTrial, detachTrial } from './cluster/admission.trial.ts'
import { catchUpTrial } from './cluster/catch-up.trial.ts'
import { endToEndCases, endToEndTrial } from './cluster/end-to-end.trial.ts'
import { leadersTrial } from './cluster/leaders.trial.ts'
import { partitionsCurveTrial } from './cluster/partitions-curve.trial.ts'
import { scaleTrial, startTrial } from './cluster/scale.trial.ts'
import { sustainedTrial } from './cluster/sustained.trial.ts'
import { throughputCases, throughputTrial } from './cluster/throughput.trial.ts'
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

export interface TrialEntry {
  /** What can be asked for by name. */
  readonly name: string
  readonly trial: Trial
  /** Only with `--full`, or when asked for by name. */
  readonly isLong?: boolean
}

/** By the question they answer. */
export const trials: readonly TrialEntry[] = [
  { name: 'log/append', trial: appendTrial },
  { name: 'log/append-records', trial: appendRecordsTrial },
  { name: 'log/scan', trial: scanTrial },
  { name: 'log/lookup', trial: lookupTrial },
  { name: 'log/recovery', trial: recoveryTrial },
  { name: 'log/stores', trial: storesTrial },
  { name: 'log/open-large', trial: openLargeTrial },
  { name: 'log/open-many', trial: openManyTrial },
  ...Object.entries(throughputCases).map(([name, sizes]) => {
    const trial = throughputTrial(sizes)
    return { name: `cluster/throughput-${name}`, trial, isLong: sizes.isLong === true }
  }),
  { name: 'cluster/leaders', trial: leadersTrial, isLong: true },
  { name: 'cluster/partitions-curve', trial: partitionsCurveTrial, isLong: true },
  ...Object.entries(endToEndCases).map(([name, sizes]) => {
    return {
      name: `cluster/end-to-end-${name}`,
      trial: endToEndTrial(sizes),
      isLong: name !== 'slow',
    }
  }),
  { name: 'cluster/sustained', trial: sustainedTrial, isLong: true },
  { name: 'cluster/ack-latency-1', trial: slowLatencyTrial(1) },
  { name: 'cluster/ack-latency-1000', trial: slowLatencyTrial(1_000), isLong: true },
  { name: 'cluster/ack-latency-100mb', trial: busyLatencyTrial(100, 'disk') },
  { name: 'cluster/ack-latency-200mb', trial: busyLatencyTrial(200, 'disk'), isLong: true },
  { name: 'cluster/ack-latency-100mb-tmpfs', trial: busyLatencyTrial(100, 'memory'), isLong: true },
  { name: 'cluster/ack-latency-200mb-tmpfs', trial: busyLatencyTrial(200, 'memory'), isLong: true },
  { name: 'cluster/admission', trial: admissionTrial, isLong: true },
  { name: 'cluster/detach', trial: detachTrial, isLong: true },
  { name: 'cluster/catch-up', trial: catchUpTrial, isLong: true },
  { name: 'cluster/start', trial: startTrial },
  { name: 'cluster/scale', trial: scaleTrial, isLong: true },
]
