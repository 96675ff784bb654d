/** What a cluster tells its user about in-sync replicas, leaders and brokers, as it happens. */
import { type ErrorCode, errorKinds, isTidemarkError, TidemarkError } from './errors.ts'
import type { BrokerId, PartitionIndex } from './ids.ts'
import type { ControllerEvent } from './replication/controller/controller-events.ts'
import type { InvariantViolation } from './replication/invariants/board-invariants.ts'
import type { ReplicationEvent } from './replication/replication-event.ts'
import type { BrokerNews } from './workers/broker-news.ts'
import type { CatchUpNote, CatchUpRead } from './workers/catch-up.ts'
import type { Truncation } from './workers/partition-store.ts'
import type { RecoveryProgress } from './workers/recovery-plan.ts'
import type { RetentionNote } from './workers/retention-sweep.ts'

export type ClusterEvent =
  /**
   * A leader decided or learned something about its in-sync replicas, with the numbers it stood on.
   */
  | { readonly type: 'replication'; readonly brokerId: BrokerId; readonly event: ReplicationEvent }
  /** The controller committed, refused, fenced or elected. */
  | { readonly type: 'controller'; readonly event: ControllerEvent }
  /** A follower read the leader's files. */
  | {
      readonly type: 'catchUpReads'
      readonly brokerId: BrokerId
      readonly reads: readonly CatchUpRead[]
    }
  /** A follower could not read its leader's files, or had to drop its log to go on from them. */
  | { readonly type: 'catchUpNote'; readonly brokerId: BrokerId; readonly note: CatchUpNote }
  /**
   * What has expired at a leader, or soon will have, a living follower has yet to copy: a warning,
   * that it is held back for the follower, or that it was dropped and the follower starts over.
   */
  | { readonly type: 'retention'; readonly brokerId: BrokerId; readonly note: RetentionNote }
  /** A broker cut off the end of a log: its leader's history is another one (KIP-101). */
  | ({ readonly type: 'truncated'; readonly brokerId: BrokerId } & Truncation)
  /** A partition's log failed on a broker. */
  | {
      readonly type: 'partitionFailed'
      readonly brokerId: BrokerId
      readonly partition: PartitionIndex
      readonly code: string
      readonly message: string
    }
  /** With `checkInvariants`: a promise of the replication protocol was found broken. */
  | ({ readonly type: 'invariantViolated' } & InvariantViolation)
  /**
   * A thread ended though nobody asked it to; broker 0 is the controller. `disk`: the broker
   * stopped itself because its disk failed, and others lead what it led.
   */
  | {
      readonly type: 'failed'
      readonly brokerId: BrokerId | 0
      readonly cause: 'disk' | 'error'
      readonly error: TidemarkError | Error
    }
  /** Logs of a broker being made whole after a crash. */
  | ({ readonly type: 'recovery'; readonly brokerId: BrokerId } & RecoveryProgress)

export type ClusterEventListener = (event: ClusterEvent) => void

/** What a broker's thread told, as events of the cluster. */
export function eventsOf(id: BrokerId, news: BrokerNews): ClusterEvent[] {
  const events: ClusterEvent[] = []
  for (const event of news.events) events.push({ type: 'replication', brokerId: id, event })
  if (news.catchUpReads.length > 0) {
    events.push({ type: 'catchUpReads', brokerId: id, reads: news.catchUpReads })
  }
  for (const note of news.retentionNotes) events.push({ type: 'retention', brokerId: id, note })
  for (const note of news.catchUpNotes) events.push({ type: 'catchUpNote', brokerId: id, note })
  for (const each of news.truncations) events.push({ type: 'truncated', brokerId: id, ...each })
  for (const { partition, code, message } of news.failures) {
    events.push({ type: 'partitionFailed', brokerId: id, partition, code, message })
  }
  return events
}

/** An error that a thread ended with comes as a copy: what it was is told by its code. */
export function asError(value: unknown): TidemarkError | Error {
  if (isTidemarkError(value)) return value
  if (!(value instanceof Error)) return new TidemarkError('UNKNOWN_SERVER_ERROR', String(value))
  const { code } = value as NodeJS.ErrnoException
  const isOurs = code !== undefined && Object.hasOwn(errorKinds, code)
  if (!isOurs) return value
  return new TidemarkError(code as ErrorCode, { detail: value.message, cause: value })
}
