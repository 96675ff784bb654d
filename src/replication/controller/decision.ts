/** What a decision yields: it changes nothing by itself (Kafka: ControllerResult). */
import type { ControllerEvent } from './controller-events.ts'
import type { MetadataRecord } from './metadata-records.ts'

export interface Decision<Response> {
  /** To be appended together, then replayed in order; none: nothing changes. */
  readonly records: readonly MetadataRecord[]
  /** The answer once the records are in the log. */
  readonly response: Response
  readonly events: readonly ControllerEvent[]
}
