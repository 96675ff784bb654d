/**
 * TimelineReplay: takes a metadata log item by item and keeps what became of whom. It doubts what
 * it reads: what the log speaks of without having introduced it becomes a note, not an end.
 */
import { isTidemarkError } from '../errors.ts'
import { type BrokerId, partitionIndex } from '../ids.ts'
import { mergePartitionChange } from '../replication/controller/merge-partition-change.ts'
import {
  controlledShutdownChanges,
  fencingChanges,
  leaderRecoveryStates,
  type PartitionChangeRecord,
  type PartitionRecord,
} from '../replication/controller/metadata-records.ts'
import { registrationOf } from '../replication/controller/partition-record.ts'
import type { PartitionRegistration } from '../replication/registration.ts'
import type { MetadataItem } from './timeline-files.ts'
import type {
  BrokerEvent,
  BrokerEventKind,
  ControllerTerm,
  MetadataTimeline,
  PartitionHistory,
  TimelineFault,
  TimelineNote,
} from './timeline-model.ts'
import { type BrokerFate, type ChangePlace, PartitionTrack } from './timeline-partition.ts'

type DataItem = Extract<MetadataItem, { type: 'record' }>

/** What a log tells by itself; storms and the like are found in it afterwards. */
export type Replayed = Omit<MetadataTimeline, 'directory' | 'files' | 'storms' | 'flapping'>

export class TimelineReplay {
  readonly #topicNames = new Map<string, string>()
  readonly #tracks = new Map<string, PartitionTrack>()
  /** Of removed topics, and of partitions that were there before. */
  readonly #past: PartitionTrack[] = []
  readonly #brokers = new Map<BrokerId, BrokerEvent[]>()
  readonly #controllers: ControllerTerm[] = []
  readonly #notes: TimelineNote[] = []
  readonly #faults: TimelineFault[] = []
  /** First offset and number of what was skipped, by its name. */
  readonly #skipped = new Map<string, { readonly offset: number; count: number }>()
  /** Of the batch, or of a transaction, which counts at its end (KIP-868). */
  #held: DataItem[] = []
  #isInTransaction = false
  #fates: BrokerFate[] = []
  #isSnapshot = false
  #fromOffset = -1
  #endOffset = 0
  #records = 0
  #fromMs: number | null = null
  #toMs: number | null = null

  note(offset: number | null, text: string): void {
    this.#notes.push({ offset, text })
  }

  take(item: MetadataItem): void {
    switch (item.type) {
      case 'batch':
        this.#beginBatch(item)
        break
      case 'controller':
        this.#nameController(item.controllerId, item.epoch)
        break
      case 'skipped':
        this.#count(item.offset)
        this.#skip(item.name, item.offset)
        break
      case 'fault':
        this.#faults.push(item.fault)
        break
      case 'record':
        this.#count(item.offset)
        this.#seen(item.atMs)
        this.#takeRecord(item)
        break
      default:
        item satisfies never
    }
  }

  /** What there is after the last item. */
  finish(): Replayed {
    this.#flush()
    this.#endNotes()
    const endMs = this.#toMs ?? 0
    const tracks = [...this.#past, ...this.#tracks.values()]
    const partitions: PartitionHistory[] = tracks.map((track) => track.history(endMs))
    const brokers = [...this.#brokers].map(([brokerId, events]) => ({ brokerId, events }))
    return {
      fromOffset: Math.max(0, this.#fromOffset),
      endOffset: this.#endOffset,
      records: this.#records,
      fromMs: this.#fromMs,
      toMs: this.#toMs,
      controllers: this.#controllers,
      brokers: brokers.sort((a, b) => a.brokerId - b.brokerId),
      partitions,
      notes: this.#notes,
      faults: this.#faults,
    }
  }

  #beginBatch({ offset, atMs, epoch, isSnapshot }: Extract<MetadataItem, { type: 'batch' }>): void {
    this.#flush()
    this.#isSnapshot = isSnapshot
    if (isSnapshot) return
    this.#endOffset = Math.max(this.#endOffset, offset + 1)
    const last = this.#controllers.at(-1)
    if (last !== undefined && epoch <= last.epoch) {
      if (epoch < last.epoch) this.note(offset, `controller epoch ${epoch} after ${last.epoch}`)
      return
    }
    this.#controllers.push({ epoch, controllerId: null, offset, atMs })
  }

  #nameController(controllerId: number, epoch: number): void {
    const last = this.#controllers.pop()
    if (last === undefined) return
    this.#controllers.push(last.epoch === epoch ? { ...last, controllerId } : last)
  }

  #count(offset: number): void {
    this.#records += 1
    if (this.#fromOffset < 0) this.#fromOffset = offset
    this.#endOffset = Math.max(this.#endOffset, this.#isSnapshot ? offset : offset + 1)
  }

  #seen(atMs: number): void {
    if (this.#fromMs === null || atMs < this.#fromMs) this.#fromMs = atMs
    if (this.#toMs === null || atMs > this.#toMs) this.#toMs = atMs
  }

  #skip(name: string, offset: number): void {
    const seen = this.#skipped.get(name)
    if (seen === undefined) this.#skipped.set(name, { offset, count: 1 })
    else seen.count += 1
  }

  #takeRecord(item: DataItem): void {
    const { record, offset } = item
    if (record.type === 'beginTransaction') {
      this.#flush()
      this.#isInTransaction = true
    } else if (record.type === 'endTransaction') {
      this.#isInTransaction = false
      this.#flush()
    } else if (record.type === 'abortTransaction') {
      this.note(offset, `a transaction of ${this.#held.length} records was aborted`)
      this.#isInTransaction = false
      this.#held = []
    } else {
      this.#held.push(item)
    }
  }

  /** Applies what was decided together. The fate of a broker may stand behind its consequences. */
  #flush(): void {
    if (this.#isInTransaction || this.#held.length === 0) return
    const held = this.#held
    this.#held = []
    this.#fates = []
    for (const item of held) this.#applyToBroker(item)
    for (const item of held) this.#apply(item)
  }

  #apply({ record, offset, atMs }: DataItem): void {
    switch (record.type) {
      case 'topic':
        this.#topicNames.set(record.topicId, record.name)
        break
      case 'removeTopic':
        this.#removeTopic(record.topicId, offset, atMs)
        break
      case 'partition':
        this.#putPartition(record, this.#place(offset, atMs))
        break
      case 'partitionChange':
        this.#changePartition(record, this.#place(offset, atMs))
        break
      default:
      // Brokers were seen to before; the other kinds say nothing that is shown.
    }
  }

  #applyToBroker({ record, offset, atMs }: DataItem): void {
    const tell = (brokerId: BrokerId, brokerEpoch: number, kind: BrokerEventKind) => {
      this.#brokerEvent(brokerId, { offset, atMs, kind, brokerEpoch })
    }
    if (record.type === 'registerBroker') {
      const { brokerId, brokerEpoch } = record
      tell(brokerId, brokerEpoch, 'registered')
      if (!record.fenced) tell(brokerId, brokerEpoch, 'unfenced')
      if (record.inControlledShutdown === true) tell(brokerId, brokerEpoch, 'shuttingDown')
    } else if (record.type === 'brokerRegistrationChange') {
      const { brokerId, brokerEpoch, fenced, inControlledShutdown } = record
      if (fenced === fencingChanges.fence) tell(brokerId, brokerEpoch, 'fenced')
      if (fenced === fencingChanges.unfence) tell(brokerId, brokerEpoch, 'unfenced')
      if (inControlledShutdown === controlledShutdownChanges.begin) {
        tell(brokerId, brokerEpoch, 'shuttingDown')
      }
    } else if (record.type === 'fenceBroker') tell(record.id, record.epoch, 'fenced')
    else if (record.type === 'unfenceBroker') tell(record.id, record.epoch, 'unfenced')
    else if (record.type === 'unregisterBroker') {
      tell(record.brokerId, record.brokerEpoch, 'unregistered')
    }
  }

  #brokerEvent(brokerId: BrokerId, event: BrokerEvent): void {
    const events = this.#brokers.get(brokerId)
    if (events === undefined) this.#brokers.set(brokerId, [event])
    else events.push(event)
    this.#fates.push({ brokerId, kind: event.kind })
  }

  #place(offset: number, atMs: number): ChangePlace {
    return { offset, atMs, isSnapshot: this.#isSnapshot, fates: this.#fates }
  }

  #putPartition(record: PartitionRecord, place: ChangePlace): void {
    const key = keyOf(record.topicId, record.partitionId)
    const before = this.#tracks.get(key)
    if (before !== undefined) {
      this.note(place.offset, `${nameOf(before.registration)} is created again`)
      before.remove(place.atMs)
      this.#past.push(before)
    }
    const topic = this.#topicNames.get(record.topicId)
    if (topic === undefined) this.note(place.offset, `topic id ${record.topicId} has no name`)
    const registration = shownRegistration(record, topic ?? record.topicId)
    this.#tracks.set(key, new PartitionTrack(registration, place))
  }

  #changePartition(record: PartitionChangeRecord, place: ChangePlace): void {
    const track = this.#tracks.get(keyOf(record.topicId, record.partitionId))
    if (track === undefined) {
      this.#skip(
        `change of unknown partition ${record.topicId}-${record.partitionId}`,
        place.offset,
      )
      return
    }
    try {
      track.apply(mergePartitionChange(track.registration, record), place)
    } catch (error) {
      if (!isTidemarkError(error, 'CORRUPT_MESSAGE')) throw error
      this.note(place.offset, `${nameOf(track.registration)}: ${error.message}`)
    }
  }

  #removeTopic(topicId: string, offset: number, atMs: number): void {
    if (!this.#topicNames.delete(topicId)) this.note(offset, `removed topic ${topicId} is unknown`)
    for (const [key, track] of this.#tracks) {
      if (track.registration.topicId !== topicId) continue
      track.remove(atMs)
      this.#past.push(track)
      this.#tracks.delete(key)
    }
  }

  #endNotes(): void {
    for (const [name, { offset, count }] of this.#skipped) {
      const more = count === 1 ? '' : ` (and ${count - 1} more)`
      this.note(offset, `skipped: ${name}${more}`)
    }
    if (!this.#isInTransaction) return
    const { length } = this.#held
    this.note(null, `the log ends in a transaction: ${length} records of it count for nothing yet`)
  }
}

/** Who led is shown, not how well: a recovery state that isn't known counts as recovered. */
function shownRegistration(record: PartitionRecord, topic: string): PartitionRegistration {
  const isRecovering = record.leaderRecoveryState === leaderRecoveryStates.recovering
  const leaderRecoveryState = leaderRecoveryStates[isRecovering ? 'recovering' : 'recovered']
  return registrationOf({ ...record, leaderRecoveryState }, topic, partitionIndex(0))
}

function keyOf(topicId: string, partition: number): string {
  return `${topicId}-${partition}`
}

function nameOf({ topic, partition }: PartitionRegistration): string {
  return `${topic}-${partition}`
}
