/** What a row of segments needs for all below an offset to be on disk, and what that settles. */
import type { Segment } from './segment.ts'

export interface SyncPlan {
  /** Segments to sync, in order, each with its size when the plan was made. */
  readonly segments: readonly { readonly segment: Segment; readonly sizeBytes: number }[]
  /** Data in order of offsets, each before its indexes. */
  readonly files: readonly string[]
  readonly directories: readonly string[]
  /** Exclusive. */
  readonly endOffset: number
  /** A truncation is among what the plan makes last. */
  readonly hasCut: boolean
}
