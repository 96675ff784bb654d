/** What a broker tells whoever runs it, collected between two looks. */
import type { PartitionIndex } from '../ids.ts'
import type { PartitionLeaders } from '../replication/partition-leaders.ts'
import type { ReplicationEvent } from '../replication/replication-event.ts'
import type { CatchUp, CatchUpNote, CatchUpRead } from './catch-up.ts'
import type { PartitionStore, Truncation } from './partition-store.ts'
import type { RetentionNote, RetentionSweep } from './retention-sweep.ts'

export interface BrokerNews {
  readonly events: ReplicationEvent[]
  readonly catchUpReads: CatchUpRead[]
  readonly catchUpNotes: CatchUpNote[]
  readonly retentionNotes: RetentionNote[]
  /** Files that nobody needs any more. */
  readonly doomedFiles: string[]
  readonly truncations: Truncation[]
  readonly failures: {
    readonly partition: PartitionIndex
    readonly code: string
    readonly message: string
  }[]
}

/** @returns undefined when there is nothing new */
export function takeBrokerNews(
  leaders: PartitionLeaders,
  catchUp: CatchUp,
  retention: RetentionSweep,
  store: PartitionStore,
): BrokerNews | undefined {
  const events = leaders.takeEvents()
  const catchUpReads = catchUp.takeJournal()
  const catchUpNotes = catchUp.takeNotes()
  const retentionNotes = retention.takeNotes()
  const doomedFiles = retention.takeDoomed()
  const failed = store.takeFailures()
  const truncations = store.takeTruncations()
  // Asked after each step, and nearly always there is nothing.
  const ofReplicas = events.length + catchUpReads.length + catchUpNotes.length
  const ofLogs = retentionNotes.length + doomedFiles.length + failed.length + truncations.length
  if (ofReplicas + ofLogs === 0) return undefined
  const failures = failed.map(({ partition, error }) => {
    return { partition, code: error.code, message: error.message }
  })
  const followed = { events, catchUpReads, catchUpNotes, truncations }
  return { ...followed, retentionNotes, doomedFiles, failures }
}
