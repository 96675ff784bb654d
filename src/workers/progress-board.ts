/**
 * ProgressBoard: the words by which threads tell each other how far they are. What each word means
 * and who writes it is in progress-board-layout.ts.
 */
import type { BrokerId, LeaderEpoch, PartitionIndex } from '../ids.ts'
import { invariant } from '../invariant.ts'
import { doorbellWords, ringDoorbell } from './doorbell.ts'
import {
  type BrokerCounter,
  brokerWord,
  brokerWords,
  counterIndex,
  type ProgressBoardBuffers,
  type ProgressBoardShape,
  partitionWord,
  partitionWords,
  readerWord,
  readerWords,
  reportsCapacity,
  reportWords,
  routeWords,
  type Sections,
  sectionsOf,
} from './progress-board-layout.ts'
import { cacheLineWords, loadShared, storeShared } from './shared-words.ts'

/**
 * `abandon`: stop without flushing, for data that nobody will open again. `shutDown`: ask the
 * controller to be let go, and go on until then.
 */
export const brokerControl = { run: 0, pause: 1, stop: 2, abandon: 3, shutDown: 4 } as const
/** `diskFailed`: it ended itself, because its disk did. */
export const brokerState = {
  dead: 0,
  starting: 1,
  running: 2,
  paused: 3,
  stopped: 4,
  diskFailed: 5,
} as const
export const readerState = { detached: 0, idle: 1, reading: 2, attachRequested: 3 } as const

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
    return this.#broker(id) + brokerWord.doorbell
  }

  /** Doorbell of client `slot` (0: the application thread). */
  clientDoorbellBase(slot: number): number {
    return this.#sections.clients + slot * cacheLineWords
  }

  /**
   * Set while the client wants a ring on each advance of a high watermark (consumers that wait).
   */
  clientWatchWord(slot: number): number {
    return this.clientDoorbellBase(slot) + doorbellWords
  }

  /** Index of the control word, for `Atomics.wait` by a paused broker. */
  controlWord(id: BrokerId): number {
    return this.#broker(id) + brokerWord.control
  }

  control(id: BrokerId): number {
    return Atomics.load(this.words, this.controlWord(id))
  }

  setControl(id: BrokerId, value: number): void {
    Atomics.store(this.words, this.controlWord(id), value)
    Atomics.notify(this.words, this.controlWord(id))
  }

  state(id: BrokerId): number {
    return Atomics.load(this.words, this.#broker(id) + brokerWord.state)
  }

  setState(id: BrokerId, value: number): void {
    Atomics.store(this.words, this.#broker(id) + brokerWord.state, value)
  }

  /** How many commands were posted to the broker's thread, over all its lives. */
  commands(id: BrokerId): number {
    return Atomics.load(this.words, this.#broker(id) + brokerWord.commands)
  }

  countCommand(id: BrokerId): void {
    Atomics.add(this.words, this.#broker(id) + brokerWord.commands, 1)
  }

  brokerEpoch(id: BrokerId): number {
    return Atomics.load(this.words, this.#broker(id) + brokerWord.brokerEpoch)
  }

  setBrokerEpoch(id: BrokerId, epoch: number): void {
    Atomics.store(this.words, this.#broker(id) + brokerWord.brokerEpoch, epoch)
  }

  throttleBytesPerSec(id: BrokerId): number {
    return loadShared(this.words, this.#broker(id) + brokerWord.throttle)
  }

  setThrottleBytesPerSec(id: BrokerId, bytesPerSec: number): void {
    storeShared(this.words, this.#broker(id) + brokerWord.throttle, bytesPerSec)
  }

  catchUpBytesPerSec(id: BrokerId): number {
    return loadShared(this.words, this.#broker(id) + brokerWord.catchUpLimit)
  }

  setCatchUpBytesPerSec(id: BrokerId, bytesPerSec: number): void {
    storeShared(this.words, this.#broker(id) + brokerWord.catchUpLimit, bytesPerSec)
  }

  counter(id: BrokerId, name: BrokerCounter): number {
    return loadShared(this.words, this.#broker(id) + brokerWord.counters + counterIndex[name] * 3)
  }

  setCounter(id: BrokerId, name: BrokerCounter, value: number): void {
    storeShared(this.words, this.#broker(id) + brokerWord.counters + counterIndex[name] * 3, value)
  }

  // ── polls: what a leader takes for a follower's fetch ────────────────────────────────────────

  /** Follower, before it changes cursors or reports of this poll. */
  beginPoll(id: BrokerId): void {
    Atomics.add(this.words, this.#broker(id) + brokerWord.pollSequence, 1)
  }

  /** Follower, when this poll's cursors and reports are stored. */
  endPoll(id: BrokerId, nowMs: number): void {
    const time = this.#broker(id) + brokerWord.pollTime
    storeShared(this.words, time, Math.max(0, Math.round((nowMs - this.originMs) * 1000)))
    Atomics.add(this.words, this.#broker(id) + brokerWord.pollSequence, 1)
  }

  /** Even: the words of that poll are consistent, if the value is the same after they were read. */
  pollSequence(id: BrokerId): number {
    return Atomics.load(this.words, this.#broker(id) + brokerWord.pollSequence)
  }

  /** Supervisor, when the thread ended: a poll it had begun is over. */
  settlePoll(id: BrokerId): void {
    const at = this.#broker(id) + brokerWord.pollSequence
    if ((Atomics.load(this.words, at) & 1) === 1) Atomics.add(this.words, at, 1)
  }

  pollTimeMs(id: BrokerId): number {
    return this.originMs + loadShared(this.words, this.#broker(id) + brokerWord.pollTime) / 1000
  }

  // ── ring readers ─────────────────────────────────────────────────────────────────────────────

  #reader(leader: BrokerId, follower: BrokerId): number {
    return this.#sections.readers + ((leader - 1) * this.shape.brokers + follower - 1) * readerWords
  }

  readerState(leader: BrokerId, follower: BrokerId): number {
    return Atomics.load(this.words, this.#reader(leader, follower) + readerWord.state)
  }

  /** @returns whether the state was `from` and now is `to` */
  moveReader(leader: BrokerId, follower: BrokerId, from: number, to: number): boolean {
    const at = this.#reader(leader, follower) + readerWord.state
    return Atomics.compareExchange(this.words, at, from, to) === from
  }

  /** Supervisor only, when the follower's thread or the leader's thread has ended. */
  forceReaderDetached(leader: BrokerId, follower: BrokerId): void {
    const base = this.#reader(leader, follower)
    Atomics.store(this.words, base + readerWord.state, readerState.detached)
  }

  cursor(leader: BrokerId, follower: BrokerId): number {
    return Atomics.load(this.words, this.#reader(leader, follower) + readerWord.cursor)
  }

  setCursor(leader: BrokerId, follower: BrokerId, position: number): void {
    Atomics.store(this.words, this.#reader(leader, follower) + readerWord.cursor, position)
  }

  /**
   * Follower: tells the leader the log end offset of a partition outside the ring. False: full, try
   * later.
   */
  tryReport(
    leader: BrokerId,
    follower: BrokerId,
    partition: PartitionIndex,
    logEndOffset: number,
  ): boolean {
    const base = this.#reader(leader, follower)
    const tail = Atomics.load(this.words, base + readerWord.reportsTail)
    if (((tail - Atomics.load(this.words, base + readerWord.reportsHead)) | 0) >= reportsCapacity)
      return false
    const at = base + readerWord.reports + (tail & (reportsCapacity - 1)) * reportWords
    this.words[at] = partition
    storeShared(this.words, at + 1, logEndOffset)
    Atomics.store(this.words, base + readerWord.reportsTail, (tail + 1) | 0)
    return true
  }

  /**
   * Leader: end of the reports that belong to polls up to now. Take it between the two reads of
   * `pollSequence`.
   */
  reportsTail(leader: BrokerId, follower: BrokerId): number {
    return Atomics.load(this.words, this.#reader(leader, follower) + readerWord.reportsTail)
  }

  /** Leader: visits and removes the reports before `tail`. */
  drainReports(
    leader: BrokerId,
    follower: BrokerId,
    tail: number,
    visit: (partition: PartitionIndex, logEndOffset: number) => void,
  ): number {
    const base = this.#reader(leader, follower)
    let head = Atomics.load(this.words, base + readerWord.reportsHead)
    const count = (tail - head) | 0
    for (; head !== tail; head = (head + 1) | 0) {
      const at = base + readerWord.reports + (head & (reportsCapacity - 1)) * reportWords
      visit(this.words[at] as PartitionIndex, loadShared(this.words, at + 1))
    }
    Atomics.store(this.words, base + readerWord.reportsHead, head)
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

  logStartOffset(id: BrokerId, partition: PartitionIndex): number {
    return loadShared(this.words, this.#partition(id, partition) + partitionWord.logStartOffset)
  }

  setLogStartOffset(id: BrokerId, partition: PartitionIndex, offset: number): void {
    storeShared(this.words, this.#partition(id, partition) + partitionWord.logStartOffset, offset)
    Atomics.add(this.words, this.#broker(id) + brokerWord.logStartChanges, 1)
  }

  /** Changes with every change of one of the broker's log start offsets; read it before those. */
  logStartChanges(id: BrokerId): number {
    return Atomics.load(this.words, this.#broker(id) + brokerWord.logStartChanges)
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

  /** Supervisor, when a broker's thread has ended and its disk is lost. */
  forgetLogs(id: BrokerId): void {
    for (let partition = 0; partition < this.shape.partitionsMax; partition++) {
      this.setLogEndOffset(id, partition as PartitionIndex, 0)
      this.setHighWatermark(id, partition as PartitionIndex, 0)
      this.setLogStartOffset(id, partition as PartitionIndex, 0)
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
