/** Broker 1 leading partitions, a world of brokers that tests turn by hand, and registrations. */
import { type BrokerId, brokerId, type PartitionIndex, partitionIndex } from '../../src/ids.ts'
import type { ExpandCriterion } from '../../src/replication/in-sync-rules.ts'
import type { FollowerSight } from '../../src/replication/lagging-replicas.ts'
import type {
  AlterPartitionItem,
  AlterPartitionItemResult,
  AlterPartitionRequest,
  AlterPartitionResponse,
} from '../../src/replication/messages.ts'
import { PartitionLeaders } from '../../src/replication/partition-leaders.ts'
import type { BrokerView, PartitionRegistration } from '../../src/replication/registration.ts'

export const leader = brokerId(1)
export const b = brokerId(2)
export const c = brokerId(3)
export const d = brokerId(4)
export const p0 = partitionIndex(0)
export const p1 = partitionIndex(1)
export const lagMaxMs = 1_000
export const startMs = 1_000_000

interface BrokerFacts {
  epoch: number
  isFenced: boolean
  isShuttingDown: boolean
}

/** Every broker is alive, with an epoch of 100 + id, unless a test says otherwise. */
export class WorldOfBrokers implements BrokerView {
  readonly #facts = new Map<BrokerId, BrokerFacts>()

  of(broker: BrokerId): BrokerFacts {
    const known = this.#facts.get(broker)
    const facts = known ?? { epoch: 100 + broker, isFenced: false, isShuttingDown: false }
    this.#facts.set(broker, facts)
    return facts
  }

  isActive(broker: BrokerId): boolean {
    const { isFenced, isShuttingDown } = this.of(broker)
    return !isFenced && !isShuttingDown
  }

  aliveEpoch(broker: BrokerId): number | undefined {
    const { isFenced, epoch } = this.of(broker)
    return isFenced ? undefined : epoch
  }
}

export interface LedOptions {
  readonly replicas?: readonly BrokerId[]
  readonly isr?: readonly BrokerId[]
  readonly logEndOffset?: number
  readonly highWatermark?: number
  readonly minInSync?: number
  readonly criterion?: ExpandCriterion
  readonly partitions?: number
  readonly leaderEpoch?: number
  readonly partitionEpoch?: number
  /** 0 unless given: as often as Kafka tries. */
  readonly sweepIntervalMs?: number
  readonly sight?: FollowerSight | undefined
}

export function registration(
  partition: PartitionIndex,
  change: Partial<PartitionRegistration> = {},
): PartitionRegistration {
  return {
    index: partition,
    topicId: 'topic-id',
    topic: 'topic',
    partition,
    replicas: [leader, b, c],
    inSyncReplicas: [leader, b, c],
    addingReplicas: [],
    removingReplicas: [],
    leader,
    leaderRecoveryState: 'recovered',
    leaderEpoch: 5,
    partitionEpoch: 10,
    eligibleLeaderReplicas: [],
    lastKnownLeader: [],
    ...change,
  }
}

/** A leader of some partitions and the handles a test turns; time stands until moved. */
export class Led {
  readonly world = new WorldOfBrokers()
  readonly leaders: PartitionLeaders
  nowMs = startMs

  constructor(options: LedOptions = {}) {
    const { partitions = 1, criterion = 'high.watermark', logEndOffset = 0 } = options
    this.leaders = new PartitionLeaders({
      brokerId: leader,
      brokerEpoch: () => this.world.of(leader).epoch,
      partitionsMax: Math.max(4, partitions),
      brokers: this.world,
      ...(options.sight === undefined ? {} : { sight: options.sight }),
      config: {
        replicaLagTimeMaxMs: lagMaxMs,
        isrExpandCriterion: criterion,
        outsiderSweepIntervalMs: options.sweepIntervalMs ?? 0,
      },
    })
    const replicas = options.replicas ?? [leader, b, c]
    for (let index = 0; index < partitions; index += 1) {
      this.leaders.makeLeader(
        registration(partitionIndex(index), {
          replicas,
          inSyncReplicas: options.isr ?? replicas,
          leaderEpoch: options.leaderEpoch ?? 5,
          partitionEpoch: options.partitionEpoch ?? 10,
        }),
        { logEndOffset, highWatermark: options.highWatermark ?? 0 },
        options.minInSync ?? 1,
        this.nowMs,
      )
    }
  }

  /** Metadata about a partition that this broker goes on leading. */
  metadata(change: Partial<PartitionRegistration>, minInSync = 1, partition = p0) {
    const local = { logEndOffset: 0, highWatermark: 0 }
    const told = registration(partition, change)
    return this.leaders.makeLeader(told, local, minInSync, this.nowMs)
  }

  append(logEndOffset: number, partition = p0): void {
    this.leaders.appended(partition, logEndOffset, this.nowMs)
  }

  /** One poll of a follower that reports one partition; the error number of the report. */
  fetch(follower: BrokerId, logEndOffset: number, partition = p0, leaderEpoch = -1): number {
    const epoch = this.world.of(follower).epoch
    if (!this.leaders.beginFetch(follower, epoch, this.nowMs)) throw new Error('fetch refused')
    const error = this.leaders.fetched(partition, logEndOffset, leaderEpoch)
    this.leaders.endFetch()
    return error
  }

  /** One poll in which nothing changed. */
  poll(follower: BrokerId): void {
    if (!this.leaders.beginFetch(follower, this.world.of(follower).epoch, this.nowMs)) return
    this.leaders.endFetch()
  }

  check(): number {
    return this.leaders.checkInSyncReplicas(this.nowMs)
  }

  /** The next request, which must be there. */
  request(): AlterPartitionRequest {
    const request = this.leaders.takeAlterPartitionRequest(this.nowMs)
    if (request === undefined) throw new Error('no request to take')
    return request
  }

  hasRequest(): boolean {
    return this.leaders.takeAlterPartitionRequest(this.nowMs) !== undefined
  }

  /** The controller applied everything: each item's ISR, one partition epoch up. */
  accept(request: AlterPartitionRequest): void {
    this.respond(request, request.items.map(applied))
  }

  refuse(request: AlterPartitionRequest, error: AlterPartitionItemResult['error']): void {
    this.respond(
      request,
      request.items.map((item) => ({ ...applied(item), error })),
    )
  }

  respond(
    request: AlterPartitionRequest,
    items: readonly AlterPartitionItemResult[],
    error: AlterPartitionResponse['error'] = 'NONE',
  ): void {
    const { correlationId } = request
    this.leaders.onAlterPartitionResponse(
      { type: 'alterPartitionResponse', correlationId, error, items },
      this.nowMs,
    )
  }

  describe(partition = p0) {
    const described = this.leaders.describe(partition, this.nowMs)
    if (described === undefined) throw new Error('not the leader')
    return described
  }

  caughtUpTimeMs(follower: BrokerId, partition = p0): number {
    return this.leaders.lag(partition, follower, this.nowMs)!.caughtUpTimeMs
  }

  highWatermark(partition = p0): number {
    return this.leaders.highWatermark(partition)
  }

  /** Who reached the log end, of the events since the last take. */
  takeReachedEnd(): { brokerId: number; caughtUpCase: number }[] {
    const events = this.leaders.takeEvents().filter((event) => event.type === 'reachedLogEnd')
    return events.map(({ brokerId: id, caughtUpCase }) => ({ brokerId: id, caughtUpCase }))
  }

  takeCompleted(): { ticket: number; error: number; baseOffset: number }[] {
    const completed: { ticket: number; error: number; baseOffset: number }[] = []
    this.leaders.takeCompleted({
      completed: (_, ticket, error, baseOffset) => completed.push({ ticket, error, baseOffset }),
    })
    return completed
  }
}

export function applied(item: AlterPartitionItem): AlterPartitionItemResult {
  return {
    partition: item.partition,
    error: 'NONE',
    leader,
    leaderEpoch: item.leaderEpoch,
    partitionEpoch: item.partitionEpoch + 1,
    inSyncReplicas: item.newInSyncReplicas.map((replica) => replica.brokerId),
    leaderRecoveryState: 'recovered',
  }
}

export function proposedIsr(request: AlterPartitionRequest, place = 0): number[] {
  return request.items[place].newInSyncReplicas.map((replica) => replica.brokerId)
}

/** Leader and b at 10, c silent at 5 and last caught up at the start. */
export function ledWithLaggard(): Led {
  const led = new Led({ minInSync: 1 })
  led.append(5)
  led.fetch(b, 5)
  led.fetch(c, 5)
  led.append(10)
  led.fetch(b, 10)
  return led
}
