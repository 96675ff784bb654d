/** What a load generator's thread is given, and the words by which it is steered. */
import type { PartitionIndex } from '../ids.ts'
import type { ClusterMemory } from '../workers/cluster-memory.ts'
import type { InputRecords } from './input.ts'
import type { LoadLedgerBuffers } from './load-ledger.ts'
import type { Acks, Compression } from './result.ts'

/**
 * Word 0. `hold`: send nothing, ready for another round; `drain`: the last round is over, end when
 * everything is answered; `abandon`: end at once.
 */
export const loadControl = { hold: 0, run: 1, drain: 2, abandon: 3 } as const
/**
 * Word 1. `ready`: nothing is unanswered, a round may begin; `spent`: all that a round may send was
 * sent and answered, and that the round is over is not known yet.
 */
export const loadState = { starting: 0, ready: 1, running: 2, spent: 3, finished: 4 } as const

export interface Workload {
  readonly recordBytes: number
  readonly batchBytes: number
  readonly compression: Compression
  readonly acks: Acks
  readonly seed: number
  readonly requestTimeoutMs: number
  /** Payload bytes a second of this generator; undefined: closed loop. */
  readonly bytesPerSec: number | undefined
  /** Mean payload of a batch, to turn bytes a second into batches a second. */
  readonly payloadBytesPerBatch: number
  readonly replayTimeScale?: number | undefined
  readonly inFlightBytesMax: number
  /** Bytes of batches after which a round ends by itself. */
  readonly roundBytesMax: number
}

export interface LoadThreadData {
  readonly memory: ClusterMemory
  /** Number among the clients. */
  readonly slot: number
  /** Number among the generators of this run, from 0. */
  readonly generator: number
  readonly partitions: readonly PartitionIndex[]
  readonly ledger: LoadLedgerBuffers
  readonly control: SharedArrayBuffer
  readonly workload: Workload
  readonly input: InputRecords | undefined
}
