/** What a broker tells whoever runs it, collected between two looks. */
import type { PartitionIndex } from '../ids.ts'
import type { PartitionLeaders } from '../replication/partition-leaders.ts'
import type { ReplicationEvent } from '../replication/replication-event.ts'
import type { CatchUp, CatchUpNote, CatchUpRead } from './catch-up.ts'
import type { PartitionStore } from './partition-store.ts'

export interface BrokerNews {
  readonly events: ReplicationEvent[]
  readonly catchUpReads: CatchUpRead[]
  readonly catchUpNotes: CatchUpNote[]
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
  store: PartitionStore,
): BrokerNews | undefined {
  const events = leaders.takeEvents()
  const catchUpReads = catchUp.takeJournal()
  const catchUpNotes = catchUp.takeNotes()
  const failures = store.takeFailures().map(({ partition, error }) => {
    return { partition, code: error.code, message: error.message }
  })
  const count = events.length + catchUpReads.length + catchUpNotes.length + failures.length
  return count === 0 ? undefined : { events, catchUpReads, catchUpNotes, failures }
}
