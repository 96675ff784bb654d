/**
 * CatchUp: the way of a follower that the ring no longer serves. Partition by partition it reads
 * the leader's segment files, in bounded chunks and without the leader's thread, while the log end
 * offset keeps moving, until what passed by in the ring begins where the log ends. See
 * followed-partitions.ts for why the hand-over has neither gap nor duplicate.
 */
import { isTidemarkError, type TidemarkError } from '../errors.ts'
import type { BrokerId, PartitionIndex } from '../ids.ts'
import { BackOff } from './back-off.ts'
import { cut, type FaultWords } from './fault-words.ts'
import { FinishGroup } from './finish-group.ts'
import { LeaderFiles, type LeaderFilesParts } from './leader-files.ts'

/** How often a partition is looked at whose leader is out of reach. */
const unreachableLookMs = 50
const notesMax = 1_000
/** How often a limited pass looks for partitions that the limit doesn't hold back. */
const inSyncScanMs = 10

export interface CatchUpParts extends Omit<LeaderFilesParts, 'readBytes'> {
  readonly brokerId: BrokerId
  readonly faults: FaultWords
  readonly config: {
    readonly 'catch.up.policy': 'smallest-lag-first' | 'round-robin'
    readonly 'catch.up.read.bytes': number
    readonly 'replica.fetch.backoff.ms': number
  }
  /** Whether this broker is in the committed ISR of a partition, as far as it knows. */
  readonly isInSync: (partition: PartitionIndex) => boolean
  /** Monotonic milliseconds, for the journal of reads only. */
  readonly stopwatchMs: () => number
}

/** One disk read and the append of what it brought: what a prediction is fitted from. */
export interface CatchUpRead {
  readonly atMs: number
  readonly bytes: number
  readonly tookMs: number
}

/** What a follower could not take from its leader, or had to give up because of it. */
export interface CatchUpNote {
  readonly atMs: number
  readonly partition: PartitionIndex
  readonly leader: BrokerId
  /**
   * `backedOff`: the read failed and is tried again later. `startedOver`: the leader's log begins
   * after the follower's end, which dropped everything and starts there (OFFSET_OUT_OF_RANGE).
   */
  readonly kind: 'backedOff' | 'startedOver'
  readonly message: string
}

export class CatchUp {
  readonly #parts: CatchUpParts
  readonly #files: LeaderFiles
  readonly #backOff: BackOff
  readonly #unreachable: BackOff
  readonly #group: FinishGroup
  #queue: PartitionIndex[] = []
  #journal: CatchUpRead[] = []
  #notes: CatchUpNote[] = []
  #scanAtMs = 0

  constructor(parts: CatchUpParts) {
    this.#parts = parts
    const { partitionsMax } = parts.board.shape
    this.#files = new LeaderFiles({ ...parts, readBytes: parts.config['catch.up.read.bytes'] })
    this.#backOff = new BackOff(partitionsMax, parts.config['replica.fetch.backoff.ms'])
    this.#unreachable = new BackOff(partitionsMax, unreachableLookMs)
    this.#group = new FinishGroup(partitionsMax)
  }

  get hasWork(): boolean {
    if (this.#queue.length > 0 || !this.#group.isEmpty) return true
    return this.#parts.followed.behind.length > 0
  }

  /** When a partition that waits is due; infinite: none does. */
  get dueAtMs(): number {
    return Math.min(this.#backOff.dueAtMs, this.#unreachable.dueAtMs)
  }

  takeJournal(): CatchUpRead[] {
    if (this.#journal.length === 0) return this.#journal
    return this.#journal.splice(0)
  }

  takeNotes(): CatchUpNote[] {
    if (this.#notes.length === 0) return this.#notes
    return this.#notes.splice(0)
  }

  /** Partitions that have waited long enough are behind again. */
  release(nowMs: number): void {
    const { followed } = this.#parts
    this.#backOff.release(nowMs, (partition) => followed.markBehind(partition))
    this.#unreachable.release(nowMs, (partition) => followed.markBehind(partition))
  }

  /**
   * One read of one partition.
   *
   * @param isLimited only of one in whose ISR this broker is: a limit must not drive a member out
   *   (KAFKA-4313)
   * @param report told each partition whose end moved
   * @returns bytes appended; 0: nothing to do at present
   */
  step(nowMs: number, isLimited: boolean, report: (partition: PartitionIndex) => void): number {
    const partition = this.#next(nowMs)
    if (partition === undefined || (isLimited && !this.#preferInSync(nowMs))) return 0
    return this.#readLast(nowMs, report)
  }

  #readLast(nowMs: number, report: (partition: PartitionIndex) => void): number {
    const partition = this.#queue.at(-1)!
    const startedMs = this.#parts.stopwatchMs()
    const { logEndOffset } = this.#parts.store.log(partition)
    const bytes = this.#readOnce(partition, nowMs)
    if (this.#parts.store.log(partition).logEndOffset !== logEndOffset) report(partition)
    if (bytes > 0) {
      this.#journal.push({ atMs: nowMs, bytes, tookMs: this.#parts.stopwatchMs() - startedMs })
    }
    this.#requeue(partition, bytes)
    return bytes
  }

  /** Forgets where the files of a partition were, and what failed; its leader changes. */
  forget(partition: PartitionIndex): void {
    this.#files.forget(partition)
    this.#group.forget(partition)
    this.#backOff.forget(partition)
    this.#unreachable.forget(partition)
  }

  close(): void {
    this.#files.close()
  }

  #isBehind(partition: PartitionIndex): boolean {
    const { followed, store } = this.#parts
    if (!followed.isFollowing(partition)) return false
    return store.log(partition).logEndOffset < followed.ringEndOffset[partition]!
  }

  #isReadable(partition: PartitionIndex): boolean {
    const isWaiting = this.#backOff.isWaiting(partition) || this.#unreachable.isWaiting(partition)
    return !isWaiting && this.#isBehind(partition)
  }

  #next(nowMs: number): PartitionIndex | undefined {
    if (this.#group.isDue(nowMs)) this.#queue.push(...this.#group.take())
    const partition = this.#readable()
    if (partition !== undefined) return partition
    if (this.#parts.followed.behind.length > 0) this.#plan()
    if (this.#queue.length === 0) this.#queue = this.#group.take()
    return this.#readable()
  }

  /** The queue's end, without what needs no reading any more. */
  #readable(): PartitionIndex | undefined {
    while (this.#queue.length > 0) {
      const partition = this.#queue[this.#queue.length - 1]!
      if (this.#isReadable(partition)) return partition
      this.#queue.pop()
      this.#leave(partition)
    }
    return undefined
  }

  #leave(partition: PartitionIndex): void {
    this.#group.forget(partition)
    this.#files.forget(partition)
  }

  /** Brings a partition that is behind and in sync to the queue's end. False: there is none. */
  #preferInSync(nowMs: number): boolean {
    const { isInSync } = this.#parts
    if (isInSync(this.#queue.at(-1)!)) return true
    if (nowMs < this.#scanAtMs) return false
    this.#scanAtMs = nowMs + inSyncScanMs
    // Those that fell behind since the pass was planned: it may not end as long as the limit holds.
    this.#queue.unshift(...this.#parts.followed.takeBehind())
    const at = this.#queue.findIndex((each) => isInSync(each) && this.#isReadable(each))
    if (at < 0) return false
    this.#queue.push(...this.#queue.splice(at, 1))
    return true
  }

  /** Order of the pass: the queue is worked from its end. */
  #plan(): void {
    const { followed, store, config } = this.#parts
    const pass = followed.takeBehind().filter((partition) => {
      return this.#isReadable(partition) && !this.#group.isWaiting(partition)
    })
    if (config['catch.up.policy'] === 'smallest-lag-first') {
      const lag = (partition: PartitionIndex) =>
        followed.ringEndOffset[partition]! - store.log(partition).logEndOffset
      const lags = new Map(pass.map((partition) => [partition, lag(partition)]))
      pass.sort((a, b) => lags.get(b)! - lags.get(a)! || b - a)
    } else pass.sort((a, b) => b - a)
    this.#queue = pass
  }

  #requeue(partition: PartitionIndex, bytes: number): void {
    const isBehind = this.#isReadable(partition)
    // Smallest lag first stays with a partition until it is done; round robin takes one chunk each.
    const { 'catch.up.policy': policy } = this.#parts.config
    const isWaiting = this.#group.isWaiting(partition)
    if (isBehind && bytes > 0 && !isWaiting && policy === 'smallest-lag-first') return
    this.#queue.pop()
    if (isWaiting) return
    if (isBehind) this.#parts.followed.markBehind(partition)
    else this.#leave(partition)
  }

  #readOnce(partition: PartitionIndex, nowMs: number): number {
    const { followed, store, faults, brokerId } = this.#parts
    const leader = followed.leader[partition]! as BrokerId
    const isCut = faults.fetchCut(leader, brokerId) !== cut.nothing
    if (isCut || !this.#isLeading(partition, leader)) {
      this.#unreachable.wait(partition, nowMs)
      return 0
    }
    try {
      if (this.#startOver(partition, leader, nowMs)) return 0
      if (!this.#read(partition, leader, nowMs)) return 0
      // It may have ended meanwhile.
      if (!this.#isLeading(partition, leader)) return 0
      const waits = this.#waitsForOthers(partition)
      if (waits) this.#group.add(partition, nowMs)
      return this.#files.append(partition, leader, waits)
    } catch (error) {
      if (!isTidemarkError(error)) throw error
      this.#leave(partition)
      followed.fail(partition)
      store.noteFailure(partition, error)
      return 0
    }
  }

  /** Not a member: producers wait for those. */
  #waitsForOthers(partition: PartitionIndex): boolean {
    if (!this.#files.canLeaveLast || !this.#group.isOpenTo(partition)) return false
    return !this.#parts.isInSync(partition)
  }

  /**
   * Nobody vouches for the files that a leader leaves behind when it ends: a loss of power may have
   * taken any part of them that wasn't synced, from the middle too.
   */
  #isLeading(partition: PartitionIndex, leader: BrokerId): boolean {
    const { board, followed } = this.#parts
    return board.ledEpoch(leader, partition) === followed.leaderEpoch[partition]
  }

  /** What fails here is the leader's files or its disk, not the own log. */
  #read(partition: PartitionIndex, leader: BrokerId, nowMs: number): boolean {
    try {
      return this.#files.read(partition, leader) > 0
    } catch (error) {
      if (!isTidemarkError(error)) throw error
      this.#files.forget(partition)
      this.#onReadError(partition, leader, error, nowMs)
      return false
    }
  }

  /** Nothing of the partition is left at the leader to go on from. */
  #startOver(partition: PartitionIndex, leader: BrokerId, nowMs: number): boolean {
    const endOffset = this.#parts.store.log(partition).logEndOffset
    if (!this.#files.startOver(partition, leader)) return false
    const first = this.#parts.board.logStartOffset(leader, partition)
    const message = `the log ended at ${endOffset}, the leader's begins at ${first}`
    this.#note({ atMs: nowMs, partition, leader, kind: 'startedOver', message })
    return true
  }

  #onReadError(
    partition: PartitionIndex,
    leader: BrokerId,
    error: TidemarkError,
    nowMs: number,
  ): void {
    const { board, store } = this.#parts
    if (error.code === 'RECORD_TOO_LARGE' && this.#files.grow()) return
    // Retention was faster than this read: the next one starts over.
    const { logEndOffset } = store.log(partition)
    if (board.logStartOffset(leader, partition) > logEndOffset) return
    this.#backOff.wait(partition, nowMs)
    const message = `${error.code}: ${error.message}`
    this.#note({ atMs: nowMs, partition, leader, kind: 'backedOff', message })
  }

  #note(note: CatchUpNote): void {
    if (this.#notes.length < notesMax) this.#notes.push(note)
  }
}
