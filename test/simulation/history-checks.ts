/** Every invariant, looked at after every step of a history; the first violation is kept. */
import {
  type BrokerId,
  brokerId,
  type LeaderEpoch,
  type PartitionIndex,
  partitionIndex,
} from '../../src/ids.ts'
import {
  BoardInvariants,
  type InvariantViolation,
} from '../../src/replication/invariants/board-invariants.ts'
import { epochsThatDidNotGrow } from '../../src/replication/invariants/epochs-grow.ts'
import type { AlterPartitionRequest } from '../../src/replication/messages.ts'
import type { PartitionRegistration } from '../../src/replication/registration.ts'
import { BatchRing } from '../../src/workers/batch-ring.ts'
import { readerState } from '../../src/workers/progress-board.ts'
import { tooFewCopies } from './invariants/acknowledged-on-enough.ts'
import { CommittedKept } from './invariants/committed-kept.ts'
import { ringReaderFault } from './invariants/ring-reader-within.ts'
import { staleProposalThatCounted } from './invariants/stale-proposal.ts'
import { uncleanFault } from './invariants/unclean-if-allowed.ts'
import { type LogContents, partitionDirectory, readContents } from './log-contents.ts'
import type { SimulatedBroker } from './simulated-broker.ts'
import type { Acknowledged } from './simulated-clients.ts'
import type { SimulatedCluster } from './simulated-cluster.ts'

export class HistoryChecks {
  violation: InvariantViolation | undefined
  readonly promises = new CommittedKept()
  readonly #cluster: SimulatedCluster
  readonly #board: BoardInvariants
  readonly #rings: BatchRing[]
  /** Epochs whose leaders, or the first after them, may lack committed records, a partition. */
  readonly #forgiven = new Map<PartitionIndex, LeaderEpoch[]>()
  /** Leader epoch whose leader's log was looked through, a partition. */
  readonly #checkedEpoch = new Map<PartitionIndex, number>()
  readonly #report = (violation: InvariantViolation): void => {
    this.violation ??= violation
  }

  constructor(cluster: SimulatedCluster) {
    this.#cluster = cluster
    this.#board = new BoardInvariants(cluster.board, cluster.brokers.length)
    this.#rings = cluster.memory.rings.map((buffers) => new BatchRing(buffers))
  }

  tell(invariant: string, partition: PartitionIndex | -1, detail: string | undefined): void {
    if (detail !== undefined) this.#report({ invariant, partition, detail })
  }

  // ── what is told ─────────────────────────────────────────────────────────────────────────────

  committed(before: PartitionRegistration | undefined, after: PartitionRegistration): void {
    const { coverage } = this.#cluster
    coverage.note(() => {
      return `#${after.index}: leader ${after.leader} of epoch ${after.leaderEpoch}, in sync ${after.inSyncReplicas}, partition epoch ${after.partitionEpoch}, replicas ${after.replicas}`
    })
    if (before === undefined) return
    const { index, leader } = after
    this.tell('epochs-grow', index, epochsThatDidNotGrow(before, after))
    if (leader < 1 || leader === before.leader) return
    const holders = [...before.inSyncReplicas, ...before.eligibleLeaderReplicas]
    if (holders.includes(leader)) return
    this.#forgive(index, after.leaderEpoch)
    this.tell('unclean-if-allowed', index, uncleanFault(before, after, this.#allowsUnclean(after)))
  }

  #allowsUnclean({ topic }: PartitionRegistration): boolean {
    const { image } = this.#cluster.controller
    return image.topicConfig(topic, 'unclean.leader.election.enable') === 'true'
  }

  /** A new life that lost data, and is all that is left of the in-sync replicas. */
  registered(broker: SimulatedBroker): void {
    const { hasLostData } = broker
    broker.hasLostData = false
    if (!hasLostData) return
    for (let partition = 0; partition < this.#cluster.partitions; partition++) {
      const registration = this.#cluster.registration(partition)
      if (registration === undefined) continue
      const { inSyncReplicas, index, leader, leaderEpoch } = registration
      if (inSyncReplicas.length !== 1 || inSyncReplicas[0] !== broker.id) continue
      this.#cluster.coverage.count('the last in-sync replica lost data')
      this.#forgive(index, leader < 1 ? leaderEpoch + 1 : leaderEpoch)
    }
  }

  #forgive(partition: PartitionIndex, epoch: LeaderEpoch): void {
    this.#forgiven.set(partition, [...(this.#forgiven.get(partition) ?? []), epoch])
  }

  proposed(request: AlterPartitionRequest, before: readonly PartitionRegistration[]): void {
    const registeredEpoch = this.#cluster.controller.image.broker(request.brokerId)?.brokerEpoch
    for (const [at, item] of request.items.entries()) {
      const after = this.#cluster.registration(item.partition)
      if (after === undefined || before[at] === undefined) continue
      const handled = {
        sender: request.brokerId,
        senderEpoch: request.brokerEpoch,
        registeredEpoch,
        item,
        before: before[at],
        after,
      }
      this.tell('stale-proposal', item.partition, staleProposalThatCounted(handled))
    }
  }

  promised({ partition, leader, baseOffset, count, crc }: Acknowledged): void {
    const registration = this.#cluster.registration(partition)
    if (registration !== undefined) {
      const minInSync = this.#minInSync(registration)
      const words = {
        logEndOffset: (replica: BrokerId, index: PartitionIndex) => {
          if (this.#isLossUnknown(replica, leader)) return Number.POSITIVE_INFINITY
          return this.#cluster.board.logEndOffset(replica, index)
        },
      }
      const detail = tooFewCopies(registration, words, baseOffset + count, minInSync)
      this.tell('acknowledged-on-enough', partition, detail)
    }
    this.keep(partition, leader, { baseOffset, endOffset: baseOffset + count, contents: crc })
  }

  /** What a replica had when it was counted, its disk may have lost before the leader knew. */
  #isLossUnknown(replica: BrokerId, leader: number): boolean {
    const { controller, brokers } = this.#cluster
    const { hasLostData } = brokers[replica - 1]
    const known = brokers[leader - 1].life?.node.link.image.broker(replica)?.brokerEpoch
    return hasLostData || known !== controller.image.broker(replica)?.brokerEpoch
  }

  #minInSync({ topic }: PartitionRegistration): number {
    const { image } = this.#cluster.controller
    return Number(image.topicConfig(topic, 'min.insync.replicas') ?? 1)
  }

  /** A batch that the leader showed to be committed. */
  keep(
    partition: PartitionIndex,
    leader: number,
    batch: { baseOffset: number; endOffset: number; contents: number },
  ): void {
    const registration = this.#cluster.registration(partition)
    const epoch = this.#cluster.board.ledEpoch(brokerId(leader), partition)
    // A leader may have answered in the very step in which it began, and the controller may have
    // elected another meanwhile.
    if (registration !== undefined) {
      this.#checkNewLeader({ ...registration, leader: brokerId(leader), leaderEpoch: epoch })
      this.#checkLeader(registration)
    }
    this.#cluster.coverage.note(() => {
      return `#${partition}: ${leader} in epoch ${epoch} showed ${batch.baseOffset} to ${batch.endOffset}`
    })
    this.tell('committed-kept', partition, this.promises.promise(partition, epoch, batch))
  }

  // ── what is looked at ────────────────────────────────────────────────────────────────────────

  afterStep(): void {
    for (let partition = 0; partition < this.#cluster.partitions; partition++) {
      const registration = this.#cluster.registration(partition)
      if (registration === undefined) continue
      this.#board.check(registration, this.#report)
      this.#checkLeader(registration)
    }
    this.#checkRings()
  }

  /** As far as the leader says that its log goes. */
  contents(broker: number, registration: PartitionRegistration): LogContents {
    const { topic, partition, index } = registration
    const end = this.#cluster.board.logEndOffset(brokerId(broker), index)
    return readContents(this.#cluster.disk, partitionDirectory(broker, topic, partition), end)
  }

  #checkLeader(registration: PartitionRegistration): void {
    const { index, leader, leaderEpoch, inSyncReplicas } = registration
    const { board } = this.#cluster
    if (leader < 1 || board.ledEpoch(leader, index) !== leaderEpoch) return
    this.#checkNewLeader(registration)
    // A leader's own high watermark may still be below what the one before had committed.
    const promised = this.promises.endOffset(index)
    for (const member of inSyncReplicas) {
      const end = board.logEndOffset(member, index)
      if (end >= promised) continue
      const detail = `in epoch ${leaderEpoch} in-sync replica ${member} ends at ${end}, committed is ${promised}`
      this.tell('committed-kept', index, detail)
    }
  }

  /** Once an epoch, the first time that its leader is seen. */
  #checkNewLeader(registration: PartitionRegistration): void {
    const { index, leader, leaderEpoch } = registration
    if (leaderEpoch <= (this.#checkedEpoch.get(index) ?? -1)) return
    this.#checkedEpoch.set(index, leaderEpoch)
    const contents = this.contents(leader, registration)
    this.#cluster.coverage.note(() => {
      return `#${index}: ${leader} leads in epoch ${leaderEpoch} from ${contents.logEndOffset}`
    })
    if (this.#takeForgiven(index, leaderEpoch)) {
      this.promises.forgive(index, leaderEpoch, contents.crcAt)
      return
    }
    const start = contents.batches[0]?.baseOffset ?? contents.logEndOffset
    const missing = this.promises.missing(index, start, contents.crcAt)
    if (missing === undefined) return
    this.tell('committed-kept', index, `leader ${leader} of epoch ${leaderEpoch}: ${missing}`)
  }

  #takeForgiven(partition: PartitionIndex, leaderEpoch: LeaderEpoch): boolean {
    const epochs = this.#forgiven.get(partition) ?? []
    const later = epochs.filter((epoch) => epoch > leaderEpoch)
    this.#forgiven.set(partition, later)
    return later.length < epochs.length
  }

  #checkRings(): void {
    const { board, brokers } = this.#cluster
    for (const { id: leader, life } of brokers) {
      if (life === undefined) continue
      const { limit, published, tail } = this.#rings[leader - 1]
      for (const { id: follower } of brokers) {
        if (follower === leader) continue
        const state = board.readerState(leader, follower)
        if (state !== readerState.idle && state !== readerState.reading) continue
        const cursor = board.cursor(leader, follower)
        const fault = ringReaderFault({ limit, cursor, published, tail })
        if (fault === undefined) continue
        this.tell('ring-reader-within', -1, `${follower} in the ring of ${leader}: ${fault}`)
      }
    }
  }

  get registrations(): PartitionRegistration[] {
    const found: PartitionRegistration[] = []
    for (let partition = 0; partition < this.#cluster.partitions; partition++) {
      const registration = this.#cluster.controller.image.partition(partitionIndex(partition))
      if (registration !== undefined) found.push(registration)
    }
    return found
  }
}
