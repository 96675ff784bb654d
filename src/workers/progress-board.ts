/**
 * ProgressBoard: the words by which threads tell each other how far they are. One writer a word.
 *
 *   a broker            writer          meaning
 *     doorbell, parked  anyone, owner   see doorbell.ts
 *     control           supervisor      run, pause, stop
 *     state             owner; the supervisor when its thread has ended
 *     brokerEpoch       owner           incarnation, -1 before it is registered
 *     pollSequence      owner           odd while a poll's words change, even when they are consistent
 *     pollTimeUs        owner           end of the last poll, µs since the board's origin
 *     throttleBytesPerSec, catchUpBytesPerSec   supervisor   0: no limit
 *     mail              anyone          count of messages sent to it, so that it need not ask its port
 *     counters          owner           see `brokerCounters`
 *   a follower at a leader (rows leader × follower)
 *     reader state      both (CAS)      detached, idle, reading, attach requested
 *     cursor            follower; the leader while it attaches it
 *     reports           follower        ring of (partition, logEndOffset) for partitions read from disk
 *   a partition at a broker
 *     logEndOffset, highWatermark       that broker
 *     ledEpoch          that broker     leader epoch in which it leads, -1: does not
 *     followedEpoch     that broker     leader epoch up to which its log has been reconciled, -1: not yet
 *   a partition
 *     leader, leaderEpoch               controller: where clients send to
 */

import type { BrokerId, LeaderEpoch, PartitionIndex } from '../ids.ts'
import { invariant } from '../invariant.ts'
import { doorbellWords, ringDoorbell } from './doorbell.ts'
import {
  cacheLineWords,
  loadShared,
  roundToCacheLine,
  sharedNumberWords,
  storeShared,
} from './shared-words.ts'

/** `abandon`: stop without flushing, for data that nobody will open again. */
export const brokerControl = { run: 0, pause: 1, stop: 2, abandon: 3 } as const
export const brokerState = { dead: 0, starting: 1, running: 2, paused: 3, stopped: 4 } as const
export const readerState = { detached: 0, idle: 1, reading: 2, attachRequested: 3 } as const

/** Counters of one broker, 64-bit, written by it alone and read by whoever reports. */
export const brokerCounters = [
  'appendedBytes',
  'appendedBatches',
  'appendedRecords',
  'ringBytes',
  'diskReadBytes',
  'diskReads',
  'copiedBytes',
  'detaches',
  'attaches',
  'isrShrinks',
  'isrExpands',
  'failedIsrUpdates',
  'highWatermarkAdvances',
  'rejectedBatches',
  'steps',
  'parks',
  'payloadCopyBytes',
  'alterPartitionRequests',
] as const

export type BrokerCounter = (typeof brokerCounters)[number]

const counterIndex = Object.fromEntries(
  brokerCounters.map((name, index) => [name, index]),
) as Record<BrokerCounter, number>

const word = {
  doorbell: 0,
  control: cacheLineWords,
  throttle: cacheLineWords + 1,
  catchUpLimit: cacheLineWords + 1 + sharedNumberWords,
  mail: 2 * cacheLineWords,
  state: 3 * cacheLineWords,
  brokerEpoch: 3 * cacheLineWords + 1,
  pollSequence: 4 * cacheLineWords,
  pollTime: 4 * cacheLineWords + 1,
  counters: 5 * cacheLineWords,
} as const

const brokerWords = roundToCacheLine(word.counters + brokerCounters.length * sharedNumberWords)

const reportsCapacity = 4_096
const reportWords = 1 + sharedNumberWords
const reader = {
  state: 0,
  cursor: 1,
  reportsHead: cacheLineWords,
  reportsTail: 2 * cacheLineWords,
  reports: 3 * cacheLineWords,
} as const
const readerWords = roundToCacheLine(reader.reports + reportsCapacity * reportWords)

const partitionWord = { logEndOffset: 0, highWatermark: 3, ledEpoch: 6, followedEpoch: 7 } as const
const partitionWords = 8
const routeWords = 2

export interface ProgressBoardShape {
  readonly brokers: number
  readonly partitionsMax: number
  readonly clients: number
}

export interface ProgressBoardBuffers {
  readonly shape: ProgressBoardShape
  readonly buffer: SharedArrayBuffer
  /** What `pollTimeUs` counts from, ms since 1970. */
  readonly originMs: number
}

interface Sections {
  readonly brokers: number
  readonly readers: number
  readonly partitions: number
  readonly routes: number
  readonly clients: number
  readonly totalWords: number
}

function sectionsOf(shape: ProgressBoardShape): Sections {
  const brokers = 0
  const readers = brokers + shape.brokers * brokerWords
  const partitions = readers + shape.brokers * shape.brokers * readerWords
  const routes = partitions + roundToCacheLine(shape.brokers * shape.partitionsMax * partitionWords)
  const clients = routes + roundToCacheLine(shape.partitionsMax * routeWords)
  const totalWords = clients + shape.clients * cacheLineWords
  return { brokers, readers, partitions, routes, clients, totalWords }
}

export function allocateProgressBoard(
  shape: ProgressBoardShape,
  originMs: number,
): ProgressBoardBuffers {
  const { totalWords, partitions, routes, clients } = sectionsOf(shape)
  const buffer = new SharedArrayBuffer(totalWords * 4)
  const words = new Int32Array(buffer)
  for (let row = 0; row < shape.brokers * shape.partitionsMax; row++) {
    words.fill(
      -1,
      partitions + row * partitionWords + partitionWord.ledEpoch,
      partitions + (row + 1) * partitionWords,
    )
  }
  words.fill(-1, routes, clients)
  for (let broker = 0; broker < shape.brokers; broker++)
    words[broker * brokerWords + word.brokerEpoch] = -1
  return { shape, buffer, originMs }
}

/** One thread's view of the board. Broker ids are from 1 to `shape.brokers`. */
export class ProgressBoard {
  readonly words: Int32Array
  readonly shape: ProgressBoardShape
  readonly originMs: number
  readonly #sections: Sections

  constructor(buffers: ProgressBoardBuffers) {
    this.shape = buffers.shape
    this.originMs = buffers.originMs
    this.words = new Int32Array(buffers.buffer)
    this.#sections = sectionsOf(buffers.shape)
    invariant(this.words.length === this.#sections.totalWords, 'board has the size of its shape')
  }

  #broker(id: BrokerId): number {
    return (id - 1) * brokerWords
  }

  // ── brokers ──────────────────────────────────────────────────────────────────────────────────

  doorbellBase(id: BrokerId): number {
    return this.#broker(id) + word.doorbell
  }

  /** Doorbell of client `slot` (0: the application thread). */
  clientDoorbellBase(slot: number): number {
    return this.#sections.clients + slot * cacheLineWords
  }

  /** Set while the client wants a ring on each advance of a high watermark (consumers that wait). */
  clientWatchWord(slot: number): number {
    return this.clientDoorbellBase(slot) + doorbellWords
  }

  /** Index of the control word, for `Atomics.wait` by a paused broker. */
  controlWord(id: BrokerId): number {
    return this.#broker(id) + word.control
  }

  control(id: BrokerId): number {
    return Atomics.load(this.words, this.controlWord(id))
  }

  setControl(id: BrokerId, value: number): void {
    Atomics.store(this.words, this.controlWord(id), value)
    Atomics.notify(this.words, this.controlWord(id))
  }

  state(id: BrokerId): number {
    return Atomics.load(this.words, this.#broker(id) + word.state)
  }

  setState(id: BrokerId, value: number): void {
    Atomics.store(this.words, this.#broker(id) + word.state, value)
  }

  brokerEpoch(id: BrokerId): number {
    return Atomics.load(this.words, this.#broker(id) + word.brokerEpoch)
  }

  setBrokerEpoch(id: BrokerId, epoch: number): void {
    Atomics.store(this.words, this.#broker(id) + word.brokerEpoch, epoch)
  }

  mail(id: BrokerId): number {
    return Atomics.load(this.words, this.#broker(id) + word.mail)
  }

  addMail(id: BrokerId): void {
    Atomics.add(this.words, this.#broker(id) + word.mail, 1)
  }

  throttleBytesPerSec(id: BrokerId): number {
    return loadShared(this.words, this.#broker(id) + word.throttle)
  }

  setThrottleBytesPerSec(id: BrokerId, bytesPerSec: number): void {
    storeShared(this.words, this.#broker(id) + word.throttle, bytesPerSec)
  }

  catchUpBytesPerSec(id: BrokerId): number {
    return loadShared(this.words, this.#broker(id) + word.catchUpLimit)
  }

  setCatchUpBytesPerSec(id: BrokerId, bytesPerSec: number): void {
    storeShared(this.words, this.#broker(id) + word.catchUpLimit, bytesPerSec)
  }

  counter(id: BrokerId, name: BrokerCounter): number {
    return loadShared(this.words, this.#broker(id) + word.counters + counterIndex[name] * 3)
  }

  setCounter(id: BrokerId, name: BrokerCounter, value: number): void {
    storeShared(this.words, this.#broker(id) + word.counters + counterIndex[name] * 3, value)
  }

  // ── polls: what a leader takes for a follower's fetch ────────────────────────────────────────

  /** Follower, before it changes cursors or reports of this poll. */
  beginPoll(id: BrokerId): void {
    Atomics.add(this.words, this.#broker(id) + word.pollSequence, 1)
  }

  /** Follower, when this poll's cursors and reports are stored. */
  endPoll(id: BrokerId, nowMs: number): void {
    const time = this.#broker(id) + word.pollTime
    storeShared(this.words, time, Math.max(0, Math.round((nowMs - this.originMs) * 1000)))
    Atomics.add(this.words, this.#broker(id) + word.pollSequence, 1)
  }

  /** Even: the words of that poll are consistent, if the value is the same after they were read. */
  pollSequence(id: BrokerId): number {
    return Atomics.load(this.words, this.#broker(id) + word.pollSequence)
  }

  /** Supervisor, when the thread ended: a poll it had begun is over. */
  settlePoll(id: BrokerId): void {
    const at = this.#broker(id) + word.pollSequence
    if ((Atomics.load(this.words, at) & 1) === 1) Atomics.add(this.words, at, 1)
  }

  pollTimeMs(id: BrokerId): number {
    return this.originMs + loadShared(this.words, this.#broker(id) + word.pollTime) / 1000
  }

  // ── ring readers ─────────────────────────────────────────────────────────────────────────────

  #reader(leader: BrokerId, follower: BrokerId): number {
    return this.#sections.readers + ((leader - 1) * this.shape.brokers + follower - 1) * readerWords
  }

  readerState(leader: BrokerId, follower: BrokerId): number {
    return Atomics.load(this.words, this.#reader(leader, follower) + reader.state)
  }

  /** @returns whether the state was `from` and now is `to` */
  moveReader(leader: BrokerId, follower: BrokerId, from: number, to: number): boolean {
    const at = this.#reader(leader, follower) + reader.state
    return Atomics.compareExchange(this.words, at, from, to) === from
  }

  /** Supervisor only, when the follower's thread or the leader's thread has ended. */
  forceReaderDetached(leader: BrokerId, follower: BrokerId): void {
    const base = this.#reader(leader, follower)
    Atomics.store(this.words, base + reader.state, readerState.detached)
  }

  cursor(leader: BrokerId, follower: BrokerId): number {
    return Atomics.load(this.words, this.#reader(leader, follower) + reader.cursor)
  }

  setCursor(leader: BrokerId, follower: BrokerId, position: number): void {
    Atomics.store(this.words, this.#reader(leader, follower) + reader.cursor, position)
  }

  /** Follower: tells the leader the log end offset of a partition outside the ring. False: full, try later. */
  tryReport(
    leader: BrokerId,
    follower: BrokerId,
    partition: PartitionIndex,
    logEndOffset: number,
  ): boolean {
    const base = this.#reader(leader, follower)
    const tail = Atomics.load(this.words, base + reader.reportsTail)
    if (((tail - Atomics.load(this.words, base + reader.reportsHead)) | 0) >= reportsCapacity)
      return false
    const at = base + reader.reports + (tail & (reportsCapacity - 1)) * reportWords
    this.words[at] = partition
    storeShared(this.words, at + 1, logEndOffset)
    Atomics.store(this.words, base + reader.reportsTail, (tail + 1) | 0)
    return true
  }

  /** Leader: end of the reports that belong to polls up to now. Take it between the two reads of `pollSequence`. */
  reportsTail(leader: BrokerId, follower: BrokerId): number {
    return Atomics.load(this.words, this.#reader(leader, follower) + reader.reportsTail)
  }

  /** Leader: visits and removes the reports before `tail`. */
  drainReports(
    leader: BrokerId,
    follower: BrokerId,
    tail: number,
    visit: (partition: PartitionIndex, logEndOffset: number) => void,
  ): number {
    const base = this.#reader(leader, follower)
    let head = Atomics.load(this.words, base + reader.reportsHead)
    const count = (tail - head) | 0
    for (; head !== tail; head = (head + 1) | 0) {
      const at = base + reader.reports + (head & (reportsCapacity - 1)) * reportWords
      visit(this.words[at] as PartitionIndex, loadShared(this.words, at + 1))
    }
    Atomics.store(this.words, base + reader.reportsHead, head)
    return count
  }

  // ── partitions ───────────────────────────────────────────────────────────────────────────────

  #partition(id: BrokerId, partition: PartitionIndex): number {
    const row = (id - 1) * this.shape.partitionsMax + partition
    return this.#sections.partitions + row * partitionWords
  }

  logEndOffset(id: BrokerId, partition: PartitionIndex): number {
    return loadShared(this.words, this.#partition(id, partition) + partitionWord.logEndOffset)
  }

  setLogEndOffset(id: BrokerId, partition: PartitionIndex, offset: number): void {
    storeShared(this.words, this.#partition(id, partition) + partitionWord.logEndOffset, offset)
  }

  highWatermark(id: BrokerId, partition: PartitionIndex): number {
    return loadShared(this.words, this.#partition(id, partition) + partitionWord.highWatermark)
  }

  setHighWatermark(id: BrokerId, partition: PartitionIndex, offset: number): void {
    storeShared(this.words, this.#partition(id, partition) + partitionWord.highWatermark, offset)
  }

  ledEpoch(id: BrokerId, partition: PartitionIndex): LeaderEpoch {
    return Atomics.load(this.words, this.#partition(id, partition) + partitionWord.ledEpoch)
  }

  setLedEpoch(id: BrokerId, partition: PartitionIndex, epoch: LeaderEpoch): void {
    Atomics.store(this.words, this.#partition(id, partition) + partitionWord.ledEpoch, epoch)
  }

  followedEpoch(id: BrokerId, partition: PartitionIndex): LeaderEpoch {
    return Atomics.load(this.words, this.#partition(id, partition) + partitionWord.followedEpoch)
  }

  setFollowedEpoch(id: BrokerId, partition: PartitionIndex, epoch: LeaderEpoch): void {
    Atomics.store(this.words, this.#partition(id, partition) + partitionWord.followedEpoch, epoch)
  }

  /** Supervisor, when a broker's thread has ended: it leads and follows nothing now. */
  forgetPartitions(id: BrokerId): void {
    for (let partition = 0; partition < this.shape.partitionsMax; partition++) {
      this.setLedEpoch(id, partition as PartitionIndex, -1)
      this.setFollowedEpoch(id, partition as PartitionIndex, -1)
    }
  }

  wakeBroker(id: BrokerId): void {
    ringDoorbell(this.words, this.doorbellBase(id))
  }

  /** Broker that leads the partition as the controller committed it; -1: nobody. */
  leader(partition: PartitionIndex): BrokerId {
    return Atomics.load(this.words, this.#sections.routes + partition * routeWords) as BrokerId
  }

  setRoute(partition: PartitionIndex, leader: BrokerId, epoch: LeaderEpoch): void {
    Atomics.store(this.words, this.#sections.routes + partition * routeWords + 1, epoch)
    Atomics.store(this.words, this.#sections.routes + partition * routeWords, leader)
  }
}
