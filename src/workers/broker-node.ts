/**
 * BrokerNode: one broker. It leads some partitions and follows others, and all it does is one
 * `step()`: bounded, never blocking, in an order that is written down here. A thread
 * (broker-thread.ts) or a simulation calls it.
 *
 *   mail       metadata, answers of the controller; role changes, a few each step
 *   observe    polls of the followers → caught-up times, high watermarks, ISR changes, proposed
 *   take       batches of the producers → own log → published
 *   answer     acknowledgements of what the high watermark has passed
 *   poll       rings of the leaders this broker follows → own log
 *   catch up   reads of the leaders' segment files, together no more than one of them may be
 *   report     cursors and end offsets, as one consistent poll
 *   timers     ISR check, time-outs, checkpoints, flushes
 */
import type { Clock } from '../clock.ts'
import type { ClusterConfig } from '../config.ts'
import { TidemarkError } from '../errors.ts'
import type { BrokerId, PartitionIndex } from '../ids.ts'
import type { SyncPort } from '../log/background-flush.ts'
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
import type { Channel } from './channel.ts'
import type { ClusterMemory } from './cluster-memory.ts'
import { clientSlot } from './cluster-memory.ts'
import { type BrokerIdentity, ControllerLink } from './controller-link.ts'
import { DeferredSyncs, type FindSync } from './deferred-syncs.ts'
import { diskFailureOf } from './disk-failure.ts'
import { ringDoorbell } from './doorbell.ts'
import { FaultWords } from './fault-words.ts'
import { FollowedPartitions } from './followed-partitions.ts'
import { FollowerSide } from './follower-side.ts'
import { LazyBell } from './lazy-bell.ts'
import { type CleaningPort, LogCleaning } from './log-cleaning.ts'
import { closeLogs, type WholeSync } from './log-closing.ts'
import { PartitionStore } from './partition-store.ts'
import { ProgressBoard } from './progress-board.ts'
import type { StoredOffsets } from './remembered-offsets.ts'
import { livingFollowers, RetentionSweep } from './retention-sweep.ts'
import { RingFollowers } from './ring-followers.ts'
import { RingIntake } from './ring-intake.ts'
import { RoleChanges } from './role-changes.ts'
import type { OffsetEntry } from './thread-messages.ts'

export interface BrokerNodeOptions {
  readonly identity: BrokerIdentity
  readonly memory: ClusterMemory
  readonly config: ClusterConfig
  readonly stored: StoredOffsets
  /** Directory of a broker, by id: its own to write, its leaders' to read. */
  readonly brokerDirectory: (broker: BrokerId) => string
  readonly channel: Channel<ControllerRequest, ControllerResponse>
  /** What lags, sessions and time-outs are measured with: it never jumps. */
  readonly clock: Clock
  /** What the logs take for the time of day. Default: `clock`. */
  readonly wallClock?: Clock
  readonly fs?: FileSystem
  /**
   * Syncs a whole file system at once, and then `fs` must not need its `this`. Without it each log
   * is synced for itself.
   */
  readonly findSync?: FindSync
  /** Syncs rolled segments in another thread. Without it they wait for a flush. */
  readonly syncPort?: SyncPort
  /** Compacts logs in another thread. Without it they stay as they are. */
  readonly cleaningPort?: CleaningPort
}

const detachCheckMs = 5

/** What the leaders' side counts, under the same names as the board's words. */
const leaderCounters = [
  ...(['isrShrinks', 'isrExpands', 'failedIsrUpdates', 'acksExpired', 'acksWaiting'] as const),
  ...(['leaderCount', 'underReplicated', 'underMinInSync', 'atMinInSync'] as const),
]

export class BrokerNode {
  readonly brokerId: BrokerId
  readonly board: ProgressBoard
  readonly leaders: PartitionLeaders
  readonly store: PartitionStore
  readonly sight: BoardSight
  readonly followed: FollowedPartitions
  readonly link: ControllerLink
  readonly #options: BrokerNodeOptions
  readonly #closing: WholeSync | undefined
  /** Of logs whose closing didn't reach the disk for certain. */
  #pointsBefore: readonly OffsetEntry[] | undefined
  readonly #tally: BrokerTally
  readonly #files: OpenFiles
  readonly #acknowledger: Acknowledger
  readonly #intake: RingIntake
  readonly #followers: RingFollowers
  readonly #following: FollowerSide
  readonly #retention: RetentionSweep
  readonly cleaning: LogCleaning
  readonly #roles: RoleChanges
  readonly #followersBell = new LazyBell()
  readonly #producersBell = new LazyBell()
  #isrCheckAtMs = 0
  #detachCheckAtMs = 0
  #flushAtMs = 0
  #logStartsAtMs: number
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

  readonly #isInSync = (partition: PartitionIndex): boolean =>
    this.link.image.partition(partition)?.inSyncReplicas.includes(this.brokerId) === true

  constructor(options: BrokerNodeOptions) {
    const { identity, memory, config, clock, channel, stored } = options
    const { fs: givenFs = realFileSystem, findSync } = options
    this.#closing = findSync && { findSync, syncs: new DeferredSyncs(givenFs) }
    const fs = this.#closing?.syncs.fs ?? givenFs
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
    const own = { brokerId, board, directory, fs, files: this.#files, stored }
    const { syncPort } = options
    this.store = new PartitionStore({ ...own, clock: options.wallClock ?? clock, syncPort, config })
    this.sight = new BoardSight(board, brokerId, this.store)
    this.leaders = new PartitionLeaders({
      brokerId,
      brokerEpoch: () => this.link.brokerEpoch,
      partitionsMax,
      brokers: this.link.image,
      sight: this.sight,
      config: {
        replicaLagTimeMaxMs: config['replica.lag.time.max.ms'],
        isrExpandCriterion: config['isr.expand.criterion'],
      },
    })
    const ring = new BatchRing(memory.rings[brokerId - 1]!)
    const { store, leaders, followed } = this
    const shared = { brokerId, board, faults: new FaultWords(board), store, fs, tally: this.#tally }
    this.#acknowledger = new Acknowledger(board, memory.acks, brokerId)
    this.#intake = new RingIntake({ ...shared, ring, leaders, acknowledger: this.#acknowledger })
    this.#followers = new RingFollowers({ ...shared, ring, leaders, config })
    const { brokerDirectory } = options
    const sides = { ...shared, followed, brokerDirectory, config, clock }
    this.#following = new FollowerSide({
      ...sides,
      rings: memory.rings,
      files: this.#files,
      isInSync: this.#isInSync,
    })
    const { offsets, catchUp, report } = this.#following
    this.#logStartsAtMs = clock.nowMs() + config['log.flush.start.offset.checkpoint.interval.ms']
    this.#retention = this.#makeRetention()
    this.cleaning = new LogCleaning({ ...options, store: this.store })
    const { link } = this
    this.#roles = new RoleChanges({ ...sides, link, leaders, offsets, catchUp, report })
  }

  #makeRetention(): RetentionSweep {
    const { brokerId, board, store, leaders, link } = this
    const { config, clock, wallClock = clock } = this.#options
    return new RetentionSweep({
      brokerId,
      board,
      store,
      leaders,
      doomed: store.doomed,
      livingFollowers: (partition) => livingFollowers(link.image, brokerId, partition),
      checkIntervalMs: config['log.retention.check.interval.ms'],
      clock,
      wallClock,
    })
  }

  /**
   * Why this broker has stopped itself: its disk failed. It does nothing any more (Kafka: the log
   * directory goes offline, and with the last one the broker).
   */
  get failure(): TidemarkError | undefined {
    return this.store.diskFailure
  }

  /** @returns how much was done; 0: the thread may sleep until its bell or `dueAtMs` */
  step(): number {
    if (this.failure !== undefined) return 0
    try {
      return this.#step(this.#options.clock.nowMs())
    } catch (error) {
      this.#onError(error)
      return 0
    }
  }

  /** As `PartitionStore.checkpointRecoveryPoints`; a disk that fails stops the broker. */
  writeRecoveryPoints(): void {
    try {
      this.store.checkpointRecoveryPoints()
    } catch (error) {
      this.#onError(error)
    }
  }

  /**
   * Stores counters where others read them; before the thread sleeps and now and then while it is
   * busy.
   */
  publishTally(): void {
    const { counters } = this.leaders
    const { count, tookUs } = this.store.replicatedWrites
    for (const name of leaderCounters) this.#tally.set(name, counters[name])
    this.#tally.set('writes', count)
    this.#tally.set('writeUs', Math.round(tookUs))
    this.#tally.publish()
  }

  /** How long the thread may sleep when there is nothing to do. */
  idleMs(nowMs: number): number {
    if (this.#roles.hasWork) return 1
    const upkeepAtMs = Math.min(this.#retention.dueAtMs, this.cleaning.dueAtMs)
    const dueAtMs = Math.min(this.link.dueAtMs, this.#isrCheckAtMs, upkeepAtMs)
    return Math.max(0, Math.min(this.#following.idleMs(nowMs), dueAtMs - nowMs))
  }

  takeNews(): BrokerNews | undefined {
    return takeBrokerNews(this.leaders, this.#following.catchUp, this.#retention, this.store)
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
  recoveryPoints(): readonly OffsetEntry[] {
    if (this.#pointsBefore !== undefined) return this.#pointsBefore
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
    this.#following.catchUp.close()
    const isDrained = !flush || this.store.drainBackground()
    const pointsBefore = this.recoveryPoints()
    const logs = Array.from(this.store.all(), ([, { log }]) => log)
    const directory = this.#options.brokerDirectory(this.brokerId)
    const parts = { logs, directory, whole: this.#closing }
    const { isClean, arePointsTrue } = closeLogs(parts, { flush })
    if (!arePointsTrue) this.#pointsBefore = pointsBefore
    this.#files.closeAll()
    this.publishTally()
    return isClean && isDrained
  }

  /**
   * Leader: raises the log start (Kafka: `Partition.deleteRecordsOnLeader`).
   *
   * @returns where the log starts now
   * @throws {TidemarkError} NOT_LEADER_OR_FOLLOWER, POLICY_VIOLATION, OFFSET_OUT_OF_RANGE,
   *   KAFKA_STORAGE_ERROR
   */
  deleteRecords(partition: PartitionIndex, offset: number): number {
    if (!this.leaders.isLeader(partition)) {
      const detail = `broker ${this.brokerId} doesn't lead partition #${partition}`
      throw new TidemarkError('NOT_LEADER_OR_FOLLOWER', detail)
    }
    return this.store.deleteRecords(partition, offset)
  }

  #onError(error: unknown): void {
    const failure = diskFailureOf(error)
    if (failure === undefined) throw error
    this.store.noteDiskFailure(failure)
  }

  #step(nowMs: number): number {
    let work = this.#talk(nowMs)
    work += this.#followers.observe(nowMs)
    this.#propose(nowMs)
    const taken = this.#intake.take(nowMs)
    work += taken
    this.#followers.reclaim()
    if (taken > 0) this.#followersBell.note(this.#intake.takenBytes, nowMs)
    this.#answer(nowMs)
    work += this.#following.step(nowMs, this.#roles.letsRead(nowMs))
    this.#runTimers(nowMs)
    this.#ring(nowMs, work === 0)
    this.#tally.add('steps', 1)
    this.#tally.set('payloadCopyBytes', payloadCopies.bytes)
    return work
  }

  #talk(nowMs: number): number {
    const { link, leaders, board, brokerId } = this
    let work = link.step(nowMs)
    if (board.brokerEpoch(brokerId) !== link.brokerEpoch) {
      board.setBrokerEpoch(brokerId, link.brokerEpoch)
      // Some of it may have gone out before.
      this.#following.reportAll()
    }
    work += this.#roles.step(nowMs)
    for (let answer = link.takeAnswer(); answer !== undefined; answer = link.takeAnswer()) {
      leaders.onAlterPartitionResponse(answer, nowMs)
    }
    return work
  }

  /** Before batches are taken, which lasts: whoever was just seen at the log end shall not wait. */
  #propose(nowMs: number): void {
    const request = this.leaders.takeAlterPartitionRequest(nowMs)
    if (request === undefined) return
    this.#tally.add('alterPartitionRequests', 1)
    this.link.send(request)
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

  /** Wakes whom this step has brought something, now or when more has come together. */
  #ring(nowMs: number, isIdle: boolean): void {
    if (this.#followersBell.take(nowMs, isIdle)) this.#followers.wake()
    if (this.#producersBell.take(nowMs, isIdle)) this.#acknowledger.ringBells()
    this.#following.ring(nowMs, isIdle)
  }

  #runTimers(nowMs: number): void {
    const { leaders } = this
    const { config } = this.#options
    this.#retention.step(nowMs)
    this.cleaning.step(nowMs)
    if (nowMs >= this.#logStartsAtMs) {
      this.#logStartsAtMs = nowMs + config['log.flush.start.offset.checkpoint.interval.ms']
      this.store.logStarts.write()
    }
    if (nowMs >= this.#detachCheckAtMs) {
      this.#detachCheckAtMs = nowMs + detachCheckMs
      if (this.#followers.detach(nowMs) > 0) this.#followers.reclaim()
      leaders.expire(nowMs)
    }
    if (nowMs >= this.#isrCheckAtMs) {
      this.#isrCheckAtMs = nowMs + Math.floor(config['replica.lag.time.max.ms'] / 2)
      leaders.checkInSyncReplicas(nowMs)
    }
    this.store.stepBackground()
    if (nowMs >= this.#flushAtMs) {
      this.#flushAtMs = nowMs + 100
      this.store.flushDue()
      this.#retention.finish()
      this.store.doomedDirectories.step()
    }
  }
}
