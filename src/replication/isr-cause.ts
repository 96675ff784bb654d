/**
 * Why a replica fell out of the in-sync ones, from what its leader can see. Kafka's leader only
 * says that it was not caught up for too long; who mends it needs to know whether to look at a
 * process, a disk, a throttle or the load.
 */

/**
 * - `disk`: its disk takes so long to write that nothing else gets done, or a log of it failed.
 * - `shutDown`: it is in controlled shutdown.
 * - `dead`: its process has ended, or the controller fenced it.
 * - `frozen`: it is registered, and silent: it doesn't fetch.
 * - `throttled`: it fetches under a limit of bytes a second.
 * - `notConverging`: it reads the leader's files, and the log end moves away from it or as fast.
 * - `slow`: it fetches and is not fast enough.
 * - `unassigned`: it is no replica any more.
 */
export type LagCause =
  | 'disk'
  | 'shutDown'
  | 'dead'
  | 'frozen'
  | 'throttled'
  | 'notConverging'
  | 'slow'
  | 'unassigned'

/** What the leader sees of a follower beside its fetches; rates since the last look. */
export interface FollowerSigns {
  readonly isThreadEnded: boolean
  readonly isLogFailed: boolean
  /** 0: no limit. */
  readonly throttleBytesPerSec: number
  /** It reads the leader's files; else what the leader has in memory. */
  readonly isReadingFiles: boolean
  readonly fileReadsPerSec: number
  /** Share of its time that it spent writing, from 0 to 1. */
  readonly writingShare: number
  readonly msPerWrite: number
}

/** All that the cause is told from. */
export interface LagSigns extends FollowerSigns {
  /** As the controller has it, in the leader's view. */
  readonly session: 'active' | 'shuttingDown' | 'fenced'
  readonly isReplica: boolean
  /** Since its last fetch. */
  readonly silentMs: number
  /** How fast the log end moved, and how fast the follower's did. */
  readonly leaderRecordsPerSec: number
  readonly followerRecordsPerSec: number
}

/** A follower that spends so much of its time in writes that take so long has a disk to blame. */
const writingShareMin = 0.5
const msPerWriteMin = 10

/** Which sign is the cause when several are there: the one that explains the others. */
export function causeOfLag(signs: LagSigns, replicaLagTimeMaxMs: number): LagCause {
  if (!signs.isReplica) return 'unassigned'
  if (signs.isLogFailed) return 'disk'
  if (signs.session === 'shuttingDown') return 'shutDown'
  if (signs.isThreadEnded || signs.session === 'fenced') return 'dead'
  // In one write for longer than that: it can't fetch meanwhile, and it isn't frozen.
  const isWriting = signs.writingShare >= writingShareMin && signs.msPerWrite >= msPerWriteMin
  if (signs.silentMs > replicaLagTimeMaxMs / 2) return isWriting ? 'disk' : 'frozen'
  if (signs.throttleBytesPerSec > 0) return 'throttled'
  if (isWriting) return 'disk'
  const isLosing = signs.followerRecordsPerSec <= signs.leaderRecordsPerSec
  return signs.isReadingFiles && isLosing ? 'notConverging' : 'slow'
}
