/**
 * May retention drop segments that a living follower has yet to copy? Apache Kafka drops them, and
 * the follower starts over. Here it is told before it happens, and a topic may have them held back
 * for a while (`retention.follower.hold.ms`): a bound, so that a follower that never comes back
 * doesn't fill the disk. Pure.
 */
import type { Offset } from '../ids.ts'

export interface RetentionGuardFacts {
  /** Up to where segments have expired, exclusive. */
  readonly expiredEnd: Offset
  /** Up to where they will have before long. */
  readonly soonExpiredEnd: Offset
  /** Log end of the living follower that is furthest behind; infinite: there is none. */
  readonly slowestEnd: Offset
  readonly nowMs: number
  /** Since when segments have been held back for a follower; 0: they aren't. */
  readonly heldSinceMs: number
  /** How long they may be; 0: not at all. */
  readonly holdMs: number
}

export interface RetentionVerdict {
  /**
   * - `clear`: nobody needs what has expired or soon will.
   * - `near`: what a follower needs next expires before long.
   * - `held`: it has expired, and is kept for the follower.
   * - `overtaken`: it is dropped; the follower will start over.
   */
  readonly kind: 'clear' | 'near' | 'held' | 'overtaken'
  /** Nothing at or above may be dropped; infinite: no bound by this rule. */
  readonly keepFrom: Offset
  readonly heldSinceMs: number
}

const unbounded = Number.POSITIVE_INFINITY

export function guardRetention(facts: RetentionGuardFacts): RetentionVerdict {
  const { expiredEnd, soonExpiredEnd, slowestEnd, nowMs, heldSinceMs, holdMs } = facts
  if (slowestEnd >= expiredEnd) {
    const kind = slowestEnd >= soonExpiredEnd ? 'clear' : 'near'
    return { kind, keepFrom: unbounded, heldSinceMs: 0 }
  }
  const sinceMs = heldSinceMs === 0 ? nowMs : heldSinceMs
  if (holdMs > 0 && nowMs - sinceMs < holdMs) {
    return { kind: 'held', keepFrom: slowestEnd, heldSinceMs: sinceMs }
  }
  // What was held stays given up until the follower has caught up: else it would be held anew.
  return { kind: 'overtaken', keepFrom: unbounded, heldSinceMs: sinceMs }
}
