/**
 * What a leader believes about the in-sync replicas of one partition: a closed union, in which a
 * proposal that the controller has not answered yet is another type than what it committed.
 *
 * ```
 *              propose                       applied (response or newer metadata)
 *  Committed ───────────▶ PendingExpand ───▶ Committed (the ISR that the controller tells)
 *      ▲      ╲           PendingShrink
 *      │       ╲────────▶       │  certainly not applied: OPERATION_NOT_ATTEMPTED,
 *      INELIGIBLE_REPLICA └────────────────────────┘  anything else: stays pending
 * ```
 *
 * Two readings of a pending state (Kafka: `PartitionState.isr` and `maximalIsr`, KIP-497): an
 * addition counts at once where that is the stricter reading (high watermark) and not yet where
 * not counting it is stricter (`min.insync.replicas`); a removal does not count anywhere until it
 * is committed.
 */
import type { ErrorCode } from '../errors.ts'
import type { BrokerId } from '../ids.ts'
import type { AlterPartitionItem } from './messages.ts'
import type { LeaderRecoveryState } from './registration.ts'

export interface CommittedIsr {
  readonly kind: 'committed'
  readonly inSyncReplicas: readonly BrokerId[]
  readonly leaderRecoveryState: LeaderRecoveryState
}

export interface PendingExpandIsr {
  readonly kind: 'pendingExpand'
  readonly lastCommitted: CommittedIsr
  readonly added: BrokerId
  readonly proposal: AlterPartitionItem
}

export interface PendingShrinkIsr {
  readonly kind: 'pendingShrink'
  readonly lastCommitted: CommittedIsr
  readonly removed: readonly BrokerId[]
  readonly proposal: AlterPartitionItem
}

export type PendingIsr = PendingExpandIsr | PendingShrinkIsr
export type IsrState = CommittedIsr | PendingIsr

/** What becomes of a pending state when the controller refuses its proposal. */
export type RefusalOutcome = 'reverted' | 'awaitingMetadata' | 'resubmitted'

export function committedIsr(
  inSyncReplicas: readonly BrokerId[],
  leaderRecoveryState: LeaderRecoveryState,
): CommittedIsr {
  return { kind: 'committed', inSyncReplicas, leaderRecoveryState }
}

export function isPending(state: IsrState): state is PendingIsr {
  return state.kind !== 'committed'
}

/** The ISR that the controller has committed, as far as this leader knows. */
export function committedInSyncReplicas(state: IsrState): readonly BrokerId[] {
  return isPending(state) ? state.lastCommitted.inSyncReplicas : state.inSyncReplicas
}

/** The committed ISR plus a proposed addition; a proposed removal is still a member. */
export function maximalInSyncReplicas(state: IsrState): readonly BrokerId[] {
  if (state.kind !== 'pendingExpand') return committedInSyncReplicas(state)
  return [...state.lastCommitted.inSyncReplicas, state.added]
}

/**
 * What to do after an error answer to a proposal (Kafka: `Partition.handleAlterPartitionError`).
 *
 * - reverted: certainly not applied, and our epochs were right. The next fetch or check decides
 *   anew.
 * - awaitingMetadata: our epochs are old or we are deposed, and it may even have been applied (a
 *   response was lost and the request sent again). Only newer metadata releases the partition.
 * - resubmitted: nobody knows whether it was applied; the same proposal goes out again.
 */
export function outcomeOfRefusal(error: ErrorCode): RefusalOutcome {
  switch (error) {
    case 'OPERATION_NOT_ATTEMPTED':
    case 'INELIGIBLE_REPLICA':
      return 'reverted'
    case 'UNKNOWN_TOPIC_OR_PARTITION':
    case 'UNKNOWN_TOPIC_ID':
    case 'FENCED_LEADER_EPOCH':
    case 'INVALID_UPDATE_VERSION':
    case 'INVALID_REQUEST':
    case 'NEW_LEADER_ELECTED':
      return 'awaitingMetadata'
    default:
      return 'resubmitted'
  }
}

/**
 * Whether two ISRs are the same ordered list. A mere reorder is a change (Kafka:
 * `PartitionRegistration`).
 */
export function isSameIsr(left: readonly BrokerId[], right: readonly BrokerId[]): boolean {
  return left.length === right.length && left.every((broker, place) => broker === right[place])
}
