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
  const failures = store.takeFailures().map(({ partition, error }) => {
    return { partition, code: error.code, message: error.message }
  })
  const truncations = store.takeTruncations()
  const followed = { events, catchUpReads, catchUpNotes, truncations }
  const news = { ...followed, retentionNotes, doomedFiles, failures }
  return Object.values(news).every(({ length }) => length === 0) ? undefined : news
}
