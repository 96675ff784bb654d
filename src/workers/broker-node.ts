/**
 * BrokerNode: one broker. It leads some partitions and follows others, and all it does is one
 * `step()`: bounded, never blocking, in an order that is written down here. A thread
 * (broker-thread.ts) or a simulation calls it.
 *
 *   mail       metadata, answers of the controller; role changes, a few each step
 *   observe    polls of the followers → caught-up times, high watermarks, ISR changes
 *   take       batches of the producers → own log → published
 *   answer     acknowledgements of what the high watermark has passed
 *   poll       rings of the leaders this broker follows → own log
 *   catch up   one read of a leader's segment file
 *   report     cursors and end offsets, as one consistent poll
 *   timers     ISR check, time-outs, checkpoints, flushes
 */
import type { Clock } from '../clock.ts'
import type { ClusterConfig } from '../config.ts'
import { isTidemarkError } from '../errors.ts'
import type { BrokerId, PartitionIndex } from '../ids.ts'
import { brokerId as toBrokerId } from '../ids.ts'
import { type FileSystem, realFileSystem } from '../log/file-system.ts'
import { OpenFiles } from '../log/open-files.ts'
import { payloadCopies } from '../log/payload-copies.ts'
import type { ControllerRequest, ControllerResponse } from '../replication/messages.ts'
import { PartitionLeaders } from '../replication/partition-leaders.ts'
import { Acknowledger } from './acknowledger.ts'
import { BatchRing } from './batch-ring.ts'
import { BoardSight } from './board-sight.ts'
import { type BrokerNews, takeBrokerNews } from './broker-news.ts'
import { BrokerTally } from './broker-tally.ts'
import { CatchUp } from './catch-up.ts'
import type { Channel } from './channel.ts'
import type { ClusterMemory } from './cluster-memory.ts'
import { clientSlot } from './cluster-memory.ts'
import { type BrokerIdentity, ControllerLink } from './controller-link.ts'
import { ringDoorbell } from './doorbell.ts'
import { FaultWords } from './fault-words.ts'
import { FollowedPartitions } from './followed-partitions.ts'
import { LazyBell } from './lazy-bell.ts'
import { LeaderOffsets } from './leader-offsets.ts'
import { PartitionStore, type StoredOffsets } from './partition-store.ts'
import { ProgressBoard } from './progress-board.ts'
import { RingFollowers } from './ring-followers.ts'
import { RingIntake } from './ring-intake.ts'
import { RingPoll, waitingLookMs } from './ring-poll.ts'
import { RoleChanges } from './role-changes.ts'
import type { OffsetEntry } from './thread-messages.ts'
import { TokenBucket } from './token-bucket.ts'

export interface BrokerNodeOptions {
  readonly identity: BrokerIdentity
  readonly memory: ClusterMemory
  readonly config: ClusterConfig
  readonly stored: StoredOffsets
  /** Directory of a broker, by id: its own to write, its leaders' to read. */
  readonly brokerDirectory: (broker: BrokerId) => string
  readonly channel: Channel<ControllerRequest, ControllerResponse>
  readonly clock: Clock
  readonly fs?: FileSystem
}

const detachCheckMs = 5

export class BrokerNode {
  readonly brokerId: BrokerId
  readonly board: ProgressBoard
  readonly leaders: PartitionLeaders
  readonly store: PartitionStore
  readonly followed: FollowedPartitions
  readonly link: ControllerLink
  readonly #options: BrokerNodeOptions
  readonly #tally: BrokerTally
  readonly #files: OpenFiles
  readonly #acknowledger: Acknowledger
  readonly #intake: RingIntake
  readonly #followers: RingFollowers
  readonly #polls: RingPoll[]
  readonly #offsets: LeaderOffsets
  readonly #catchUp: CatchUp
  readonly #roles: RoleChanges
  readonly #throttle = new TokenBucket()
  readonly #catchUpThrottle = new TokenBucket()
  /** Partitions whose end offset the leader must be told apart from the ring. */
  #reports = new Set<PartitionIndex>()
  readonly #followersBell = new LazyBell()
  readonly #producersBell = new LazyBell()
  readonly #leadersBell = new LazyBell()
  #followedBytes = 0
  #isrCheckAtMs = 0
  #detachCheckAtMs = 0
  #flushAtMs = 0
  readonly #completion = {
    completed: (slot: number, ticket: number, error: number, baseOffset: number): void => {
      this.#acknowledger.acknowledge(slot, ticket, error, baseOffset)
    },
  }
  readonly #onAdvanced = {
    advanced: (partition: PartitionIndex, highWatermark: number): void => {
      this.store.setHighWatermark(partition, highWatermark)
      this.#tally.add('highWatermarkAdvances', 1)
    },
  }
  readonly #onReport = (partition: PartitionIndex): void => {
    this.#reports.add(partition)
  }

  readonly #isInSync = (partition: PartitionIndex): boolean =>
    this.link.image.partition(partition)?.inSyncReplicas.includes(this.brokerId) === true

  constructor(options: BrokerNodeOptions) {
    const { identity, memory, config, clock, channel, stored, fs = realFileSystem } = options
    const { brokerId } = identity
    this.brokerId = brokerId
    this.#options = options
    this.board = new ProgressBoard(memory.board)
    const { board } = this
    const { partitionsMax, brokers } = board.shape
    this.#tally = new BrokerTally(board, brokerId)
    this.#files = new OpenFiles(fs)
    this.followed = new FollowedPartitions(partitionsMax, brokers)
    this.link = new ControllerLink(identity, channel, config['broker.heartbeat.interval.ms'])
    const directory = options.brokerDirectory(brokerId)
    const files = this.#files
    this.store = new PartitionStore({ brokerId, board, directory, clock, fs, files, stored })
    this.leaders = new PartitionLeaders({
      brokerId,
      brokerEpoch: () => this.link.brokerEpoch,
      partitionsMax,
      brokers: this.link.image,
      sight: new BoardSight(board, brokerId, this.store),
      config: {
        replicaLagTimeMaxMs: config['replica.lag.time.max.ms'],
        isrExpandCriterion: config['isr.expand.criterion'],
      },
    })
    const ring = new BatchRing(memory.rings[brokerId - 1]!)
    const { store, leaders, followed } = this
    const shared = { brokerId, board, faults: new FaultWords(board), store, tally: this.#tally }
    const offsets = new LeaderOffsets({ ...shared, followed })
    this.#offsets = offsets
    this.#acknowledger = new Acknowledger(board, memory.acks, brokerId)
    this.#intake = new RingIntake({ ...shared, ring, leaders, acknowledger: this.#acknowledger })
    this.#followers = new RingFollowers({ ...shared, ring, leaders, config })
    this.#polls = memory.rings.flatMap((buffers, row) => {
      const leader = toBrokerId(row + 1)
      const poll = { ...shared, leader, followed, offsets, report: this.#onReport }
      return leader === brokerId ? [] : [new RingPoll({ ...poll, ring: new BatchRing(buffers) })]
    })
    this.#catchUp = new CatchUp({
      ...shared,
      followed,
      offsets,
      files: this.#files,
      brokerDirectory: options.brokerDirectory,
      config,
      isInSync: this.#isInSync,
      stopwatchMs: () => performance.now(),
    })
    this.#roles = new RoleChanges({
      ...shared,
      link: this.link,
      leaders,
      followed,
      offsets,
      catchUp: this.#catchUp,
      brokerDirectory: options.brokerDirectory,
      report: this.#onReport,
    })
  }

  /** @returns how much was done; 0: the thread may sleep until its bell or `dueAtMs` */
  step(): number {
    const nowMs = this.#options.clock.nowMs()
    let work = this.#talk(nowMs)
    work += this.#followers.observe(nowMs)
    const taken = this.#intake.take(nowMs)
    work += taken
    this.#followers.reclaim()
    if (taken > 0) this.#followersBell.note(this.#intake.takenBytes, nowMs)
    this.#answer(nowMs)
    work += this.#follow(nowMs)
    this.#runTimers(nowMs)
    this.#ring(nowMs, work === 0)
    this.#tally.add('steps', 1)
    this.#tally.set('payloadCopyBytes', payloadCopies.bytes)
    return work
  }

  /**
   * Stores counters where others read them; before the thread sleeps and now and then while it is
   * busy.
   */
  publishTally(): void {
    const { isrShrinks, isrExpands, failedIsrUpdates } = this.leaders.counters
    const { count, tookUs } = this.store.replicatedWrites
    this.#tally.set('isrShrinks', isrShrinks)
    this.#tally.set('isrExpands', isrExpands)
    this.#tally.set('failedIsrUpdates', failedIsrUpdates)
    this.#tally.set('writes', count)
    this.#tally.set('writeUs', Math.round(tookUs))
    this.#tally.publish()
  }

  /** How long the thread may sleep when there is nothing to do. */
  idleMs(nowMs: number): number {
    let pollMs = Math.min(
      this.#options.config['replica.fetch.wait.max.ms'],
      this.#options.config['replica.lag.time.max.ms'] / 8,
    )
    if (this.#roles.hasWork || this.#catchUp.hasWork) return 1
    for (const poll of this.#polls) {
      if (poll.isWaiting(nowMs)) pollMs = Math.min(pollMs, waitingLookMs)
    }
    const dueAtMs = Math.min(
      this.link.dueAtMs,
      this.#isrCheckAtMs,
      this.#catchUp.dueAtMs,
      this.#offsets.dueAtMs,
    )
    return Math.max(0, Math.min(pollMs, dueAtMs - nowMs))
  }

  takeNews(): BrokerNews | undefined {
    return takeBrokerNews(this.leaders, this.#catchUp, this.store)
  }

  /** For Kafka's `replication-offset-checkpoint`. */
  highWatermarks(): OffsetEntry[] {
    const entries: OffsetEntry[] = []
    for (const [index, { topic, partition }] of this.store.all()) {
      entries.push({ topic, partition, offset: this.store.highWatermark(index) })
    }
    return entries
  }

  /** For Kafka's `recovery-point-offset-checkpoint`. */
  recoveryPoints(): OffsetEntry[] {
    const entries: OffsetEntry[] = []
    for (const [, { topic, partition, log }] of this.store.all()) {
      entries.push({ topic, partition, offset: log.recoveryPoint })
    }
    return entries
  }

  /**
   * Closes all logs, flushed unless told not to. Afterwards only the two lists above may be asked
   * for.
   *
   * @returns whether all of them were flushed and closed without an error
   */
  close({ flush }: { readonly flush: boolean }): boolean {
    let isClean = flush
    this.#catchUp.close()
    for (const [, { log }] of this.store.all()) {
      try {
        if (log.failure !== undefined) isClean = false
        log.close({ flush })
      } catch (error) {
        if (!isTidemarkError(error)) throw error
        isClean = false
      }
    }
    this.#files.closeAll()
    this.publishTally()
    return isClean
  }

  #talk(nowMs: number): number {
    const { link, leaders, board, brokerId } = this
    let work = link.step(nowMs)
    if (board.brokerEpoch(brokerId) !== link.brokerEpoch) this.#beginBrokerEpoch()
    if (this.#roles.hasWork) work += this.#roles.step(nowMs)
    for (let answer = link.takeAnswer(); answer !== undefined; answer = link.takeAnswer()) {
      leaders.onAlterPartitionResponse(answer, nowMs)
    }
    const request = leaders.takeAlterPartitionRequest(nowMs)
    if (request !== undefined) {
      this.#tally.add('alterPartitionRequests', 1)
      link.send(request)
    }
    return work
  }

  /**
   * Leaders count only what this life has told them under its epoch; some of it may have gone out
   * before.
   */
  #beginBrokerEpoch(): void {
    const { board, brokerId, followed, link, store } = this
    board.setBrokerEpoch(brokerId, link.brokerEpoch)
    for (const [partition] of store.all()) {
      if (followed.isFollowing(partition)) this.#reports.add(partition)
    }
  }

  /** After the state changes of this step are done: a producer that is told may already read. */
  #answer(nowMs: number): void {
    const { leaders, board } = this
    const advanced = leaders.takeAdvanced(this.#onAdvanced)
    leaders.takeCompleted(this.#completion)
    if (this.#acknowledger.pendingCount > 0) {
      this.#producersBell.note(this.#acknowledger.takePendingBytes(), nowMs)
    }
    const watch = board.clientWatchWord(clientSlot.application)
    if (advanced > 0 && Atomics.load(board.words, watch) !== 0) {
      ringDoorbell(board.words, board.clientDoorbellBase(clientSlot.application))
    }
  }

  #follow(nowMs: number): number {
    const { board, brokerId } = this
    this.#throttle.setRate(board.throttleBytesPerSec(brokerId), nowMs)
    const isOpen = this.#throttle.isOpen(nowMs)
    this.#catchUp.release(nowMs)
    this.#offsets.step(nowMs)
    let work = isOpen ? this.#pollRings(nowMs) + this.#readDisk(nowMs) : 0
    board.beginPoll(brokerId)
    for (const poll of this.#polls) poll.report()
    work += this.#sendReports()
    board.endPoll(brokerId, this.#options.clock.nowMs())
    for (const poll of this.#polls) poll.release()
    if (work > 0) this.#leadersBell.note(this.#followedBytes, nowMs)
    this.#followedBytes = 0
    return work
  }

  /** Wakes whom this step has brought something, now or when more has come together. */
  #ring(nowMs: number, isIdle: boolean): void {
    if (this.#followersBell.take(nowMs, isIdle)) this.#followers.wake()
    if (this.#producersBell.take(nowMs, isIdle)) this.#acknowledger.ringBells()
    if (this.#leadersBell.take(nowMs, isIdle)) this.#wakeLeaders()
  }

  #pollRings(nowMs: number): number {
    let work = 0
    for (const poll of this.#polls) {
      const bytes = poll.read(nowMs)
      if (bytes < 0) continue
      this.#throttle.pay(bytes)
      this.#followedBytes += bytes
      work++
    }
    return work
  }

  #readDisk(nowMs: number): number {
    const { board, brokerId } = this
    if (!this.#catchUp.hasWork) return 0
    this.#catchUpThrottle.setRate(board.catchUpBytesPerSec(brokerId), nowMs)
    const isLimited = !this.#catchUpThrottle.isOpen(nowMs)
    const bytes = this.#catchUp.step(nowMs, isLimited, this.#onReport)
    if (!isLimited) this.#catchUpThrottle.pay(bytes)
    this.#throttle.pay(bytes)
    return bytes > 0 ? 1 : 0
  }

  #sendReports(): number {
    if (this.#reports.size === 0) return 0
    const { board, brokerId, followed, store } = this
    let sent = 0
    for (const partition of this.#reports) {
      const leader = followed.leader[partition]! as BrokerId
      const isFollowing = followed.isFollowing(partition)
      if (isFollowing) {
        const { logEndOffset } = store.log(partition)
        if (!board.tryReport(leader, brokerId, partition, logEndOffset)) continue
      }
      this.#reports.delete(partition)
      sent++
    }
    return sent
  }

  #wakeLeaders(): void {
    const { board, followed } = this
    for (const poll of this.#polls) {
      if (followed.byLeader[poll.leader]!.size === 0) continue
      ringDoorbell(board.words, board.doorbellBase(poll.leader))
    }
  }

  #runTimers(nowMs: number): void {
    const { leaders } = this
    const { config } = this.#options
    if (nowMs >= this.#detachCheckAtMs) {
      this.#detachCheckAtMs = nowMs + detachCheckMs
      if (this.#followers.detach(nowMs) > 0) this.#followers.reclaim()
      leaders.expire(nowMs)
    }
    if (nowMs >= this.#isrCheckAtMs) {
      this.#isrCheckAtMs = nowMs + Math.floor(config['replica.lag.time.max.ms'] / 2)
      leaders.checkInSyncReplicas(nowMs)
    }
    if (nowMs >= this.#flushAtMs) {
      this.#flushAtMs = nowMs + 100
      this.store.flushDue(nowMs)
    }
  }
}
