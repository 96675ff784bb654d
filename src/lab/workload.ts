/**
 * What the options mean for a generator: sizes of batches, what of them is payload, how much in
 * flight.
 */

import { recordsPerBatch } from './batch-source.ts'
import type { InputRecords } from './input.ts'
import type { Workload } from './load-thread-data.ts'
import type { LoadOptions } from './result.ts'

/**
 * Closed loop: bytes that may be unanswered over all generators. More in flight only waits longer;
 * much less leaves threads idle between rounds.
 */
const inFlightBytesDefault = 32 * 1024 * 1024
const requestTimeoutMs = 120_000

export interface Pace {
  /** Payload bytes a second of one generator; undefined: closed loop. */
  readonly bytesPerSec: number | undefined
  readonly roundBytesMax: number
  readonly generators: number
  readonly replayTimeScale?: number
}

type Sizes = Pick<LoadOptions, 'recordBytes' | 'batchBytes' | 'compression' | 'acks' | 'seed'>

export function workloadOf(sizes: Sizes, input: InputRecords | undefined, pace: Pace): Workload {
  const { recordBytes, batchBytes, compression, acks, seed } = sizes
  return {
    recordBytes,
    batchBytes,
    compression,
    acks,
    seed,
    requestTimeoutMs,
    bytesPerSec: pace.bytesPerSec,
    payloadBytesPerBatch: payloadBytesPerBatch(sizes, input),
    replayTimeScale: pace.replayTimeScale,
    inFlightBytesMax: Math.max(batchBytes, inFlightBytesDefault / pace.generators),
    roundBytesMax: pace.roundBytesMax,
  }
}

/** Keys and values of a mean batch. */
export function payloadBytesPerBatch(
  { recordBytes, batchBytes }: Pick<Sizes, 'recordBytes' | 'batchBytes'>,
  input: InputRecords | undefined,
): number {
  const mean = input === undefined ? recordBytes : Math.max(1, input.bytes / input.recordCount)
  return recordsPerBatch(mean, batchBytes) * mean
}
