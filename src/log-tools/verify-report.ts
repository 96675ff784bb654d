/** What a verification counted and what it found wrong. */
import type { Expectation } from './fault-text.ts'

/** The rule that is broken. */
export type VerifyCheck =
  | 'batch'
  | 'offset-order'
  | 'leader-epoch'
  | 'record'
  | 'segment'
  | 'offset-index'
  | 'time-index'
  | 'transaction-index'
  | 'producer-snapshot'
  | 'epoch-checkpoint'
  | 'offset-checkpoint'
  | 'meta-file'
  | 'replica'

export interface LogFault extends Expectation {
  readonly file: string
  readonly check: VerifyCheck
  /** Of a record or batch; null: the fault is about none. */
  readonly offset: number | null
  /** Byte of the file; null: the fault is about the whole. */
  readonly position: number | null
}

export interface VerifyCounts {
  partitions: number
  segments: number
  batches: number
  records: number
  indexEntries: number
  checkpointEntries: number
  /** Batches of two replicas that were held against each other. */
  comparedBatches: number
  bytes: number
}

export interface FaultPlace {
  readonly offset?: number
  readonly position?: number
}

/** Bytes of segments that were read since the last call. */
export type BytesListener = (bytes: number) => void

/** Told at least this often within a segment. */
const progressBytes = 8 * 1024 * 1024

export class VerifyReport {
  readonly faults: LogFault[] = []
  readonly #onBytes: BytesListener | undefined
  #untoldBytes = 0
  readonly counts: VerifyCounts = {
    partitions: 0,
    segments: 0,
    batches: 0,
    records: 0,
    indexEntries: 0,
    checkpointEntries: 0,
    comparedBatches: 0,
    bytes: 0,
  }

  constructor(onBytes?: BytesListener) {
    this.#onBytes = onBytes
  }

  /** A batch was checked. */
  passed(bytes: number): void {
    this.#untoldBytes += bytes
    if (this.#untoldBytes >= progressBytes) this.tellProgress()
  }

  tellProgress(): void {
    this.#onBytes?.(this.#untoldBytes)
    this.#untoldBytes = 0
  }

  add(
    check: VerifyCheck,
    file: string,
    { offset, position }: FaultPlace,
    { expected, found }: Expectation,
  ): void {
    this.faults.push({
      file,
      check,
      offset: offset ?? null,
      position: position ?? null,
      expected,
      found,
    })
  }
}
