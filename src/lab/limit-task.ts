/** What the measuring thread and its writers say to each other. */
import type { FlushPolicy } from '../log/log-config.ts'

export interface LimitTask {
  /** Batches of `batchBytes`, one every `batchStride` bytes, used in turn. */
  readonly pool: SharedArrayBuffer
  /** One word, 0 until the writers are to stop; looked at now and then. */
  readonly stopped: Int32Array
  /** Of this replica; the writer makes it. */
  readonly directory: string
  readonly partitions: number
  readonly batchBytes: number
  readonly batchStride: number
  readonly poolBatches: number
  readonly flush: FlushPolicy
}

export type LimitCommand =
  | { readonly kind: 'write'; readonly totalBatches: number }
  | { readonly kind: 'close' }

export type LimitWriterMessage =
  /** Its files are there and empty. */
  | { readonly kind: 'ready' }
  /** By the clock that all threads of the process share. */
  | { readonly kind: 'done'; readonly endMs: number }
