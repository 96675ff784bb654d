/** What the measuring thread and its writers say to each other. */
import type { FlushPolicy } from '../log/log-config.ts'

/**
 * Shared words, each set once, by the measuring thread. Writers wait on `gate`; which of the two
 * others is set tells why it opened. `stop` is looked at once a round.
 */
export const limitWord = { gate: 0, start: 1, stop: 2, count: 3 } as const

export interface LimitTask {
  /** Batches of `batchBytes`, one every `batchStride` bytes, used in turn. */
  readonly pool: SharedArrayBuffer
  readonly words: Int32Array
  /** Of this replica; the writer makes it. */
  readonly directory: string
  readonly partitions: number
  readonly batchBytes: number
  readonly batchStride: number
  readonly poolBatches: number
  readonly totalBatches: number
  readonly flush: FlushPolicy
}

export type LimitWriterMessage =
  | { readonly kind: 'ready' }
  /** By the clock that all threads of the process share. */
  | { readonly kind: 'done'; readonly endMs: number }
