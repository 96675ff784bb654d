/**
 * Invariant: two replicas that have a batch of the same leader epoch at the same offset have the
 * very same bytes there, and before it. So they agree byte for byte up to where their histories of
 * epochs part, or one of them ends.
 */
import type { LeaderEpoch, Offset } from '../../../src/ids.ts'

/** One batch of a log. */
export interface LogBatch {
  readonly baseOffset: Offset
  readonly leaderEpoch: LeaderEpoch
  readonly bytes: Uint8Array
}

/**
 * @param left and `right`: batches in order of their offsets
 * @returns what is broken; undefined: nothing
 */
export function differentBatch(
  left: readonly LogBatch[],
  right: readonly LogBatch[],
): string | undefined {
  const byOffset = new Map(right.map((batch) => [batch.baseOffset, batch]))
  let parted: LogBatch | undefined
  const start = Math.max(left[0]?.baseOffset ?? 0, right[0]?.baseOffset ?? 0)
  for (const batch of left) {
    if (batch.baseOffset < start) continue
    const other = byOffset.get(batch.baseOffset)
    const isSame = other !== undefined && other.leaderEpoch === batch.leaderEpoch
    if (!isSame) parted ??= batch
    else if (parted !== undefined) {
      return `both have epoch ${batch.leaderEpoch} at offset ${batch.baseOffset}, but not at ${parted.baseOffset} before it`
    } else if (!sameBytes(batch.bytes, other.bytes)) {
      return `different bytes at offset ${batch.baseOffset} of epoch ${batch.leaderEpoch}`
    }
  }
  return undefined
}

function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false
  for (let at = 0; at < left.length; at++) if (left[at] !== right[at]) return false
  return true
}
