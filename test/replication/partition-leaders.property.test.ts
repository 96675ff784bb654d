import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BrokerId, partitionIndex } from '../../src/ids.ts'
import type {
  AlterPartitionRequest,
  AlterPartitionResponse,
} from '../../src/replication/messages.ts'
import { PartitionLeaders } from '../../src/replication/partition-leaders.ts'
import { ModelController, type PartitionFacts } from './controller-model.ts'
import { asProposal, ModelPartition } from './kafka-partition-model.ts'
import { b, c, leader, registration, startMs, WorldOfBrokers } from './led-fixture.ts'

const followers = [b, c]
const partitionCount = 2
const lagMaxMs = 40

type Proposals = Map<number, ModelPartition['unanswered']>

/** Product, model, controller and a network between them that delays, loses and repeats. */
class World {
  readonly view = new WorldOfBrokers()
  readonly controller: ModelController
  readonly product: PartitionLeaders
  readonly models: ModelPartition[] = []
  /** What each follower's log really holds, and what it last said; undefined: it has to say. */
  readonly copies = new Map<BrokerId, { end: number; told: number | undefined }[]>()
  readonly requests: { request: AlterPartitionRequest; proposals: Proposals }[] = []
  readonly responses: { response: AlterPartitionResponse; proposals: Proposals }[] = []
  readonly minInSync: number
  applied = 0
  nowMs = startMs
  /** Correlation id of the request whose answer the sender still takes. */
  awaited = -1
  readonly #highest = new Array<number>(partitionCount).fill(0)

  constructor(minInSync: number, isLogEndNeeded: boolean) {
    this.minInSync = minInSync
    const facts: PartitionFacts = { isr: [leader, b, c], leaderEpoch: 5, partitionEpoch: 10 }
    this.controller = new ModelController(Array.from({ length: partitionCount }, () => facts))
    this.product = new PartitionLeaders({
      brokerId: leader,
      brokerEpoch: () => this.view.of(leader).epoch,
      partitionsMax: partitionCount,
      brokers: this.view,
      config: {
        replicaLagTimeMaxMs: lagMaxMs,
        isrExpandCriterion: isLogEndNeeded ? 'log.end.offset' : 'high.watermark',
        outsiderSweepIntervalMs: 0,
      },
    })
    const options = { followers, minInSync, lagMaxMs, isLogEndNeeded }
    for (let partition = 0; partition < partitionCount; partition += 1) {
      this.models.push(new ModelPartition(options, this.view, [5, 10], this.nowMs))
      this.#lead(partition, facts)
    }
    for (const follower of followers) {
      const empty = () => ({ end: 0, told: undefined })
      this.copies.set(follower, Array.from({ length: partitionCount }, empty))
    }
  }

  append(partition: number, records: number): void {
    const model = this.models[partition]
    model.append(records, this.nowMs)
    this.product.appended(partitionIndex(partition), model.logEndOffset, this.nowMs)
  }

  copy(follower: BrokerId, partition: number, records: number): void {
    const copy = this.copies.get(follower)![partition]
    copy.end = Math.min(this.models[partition].logEndOffset, copy.end + records)
  }

  poll(follower: BrokerId): void {
    const { epoch } = this.controller.brokers.of(follower)
    const isRefused = (this.view.aliveEpoch(follower) ?? -1) > epoch
    expect(this.product.beginFetch(follower, epoch, this.nowMs)).toBe(!isRefused)
    if (isRefused) return
    for (const [partition, copy] of this.copies.get(follower)!.entries()) {
      this.models[partition].fetch(follower, copy.end, epoch, this.nowMs)
      if (copy.told === copy.end) continue
      this.product.fetched(partitionIndex(partition), copy.end)
      copy.told = copy.end
    }
    this.product.endFetch()
  }

  check(): void {
    this.product.checkInSyncReplicas(this.nowMs)
    for (const model of this.models) model.check(this.nowMs)
  }

  send(): void {
    const request = this.product.takeAlterPartitionRequest(this.nowMs)
    if (request === undefined) return
    const proposals: Proposals = new Map()
    for (const [partition, { unanswered }] of this.models.entries()) {
      if (unanswered !== undefined) proposals.set(partition, unanswered)
    }
    const asked = new Map(request.items.map((item) => [item.partition, asProposal(item)]))
    expect(asked).toEqual(proposals)
    this.requests.push({ request, proposals })
    this.awaited = request.correlationId
  }

  /** A request reaches the controller, or is lost. */
  arrive(place: number, isLost: boolean): void {
    const [sent] = this.requests.splice(place, 1)
    if (sent === undefined || isLost) return
    const response = this.controller.answer(sent.request)
    this.responses.push({ response, proposals: sent.proposals })
  }

  /** A response reaches the leader, or is lost, or will come again. */
  answer(place: number, fate: 'once' | 'lost' | 'repeated'): void {
    const [sent] = this.responses.splice(place, 1)
    if (sent === undefined || fate === 'lost') return
    if (fate === 'repeated') this.responses.push(sent)
    const isAwaited = sent.response.correlationId === this.awaited
    this.product.onAlterPartitionResponse(sent.response, this.nowMs)
    if (!isAwaited) return
    this.awaited = -1
    for (const result of sent.response.items) {
      const proposal = sent.proposals.get(result.partition)
      this.models[result.partition].answered(proposal!, result, this.nowMs)
    }
  }

  loseController(): void {
    this.awaited = -1
    this.product.onControllerLost(this.nowMs)
  }

  learn(records: number): void {
    const end = Math.min(this.controller.log.length, this.applied + records)
    for (; this.applied < end; this.applied += 1) {
      const record = this.controller.log[this.applied]
      if (record.kind === 'broker') {
        const { epoch, isFenced, isShuttingDown } = record
        Object.assign(this.view.of(record.broker), { epoch, isFenced, isShuttingDown })
        continue
      }
      this.#lead(record.partition, record)
      const { isr, leaderEpoch, partitionEpoch } = record
      this.models[record.partition].learn(isr, leaderEpoch, partitionEpoch, this.nowMs)
    }
  }

  /** A broker crashes, loses what it had not flushed, and comes back in a new life. */
  restart(follower: BrokerId, loss: number): void {
    const { epoch } = this.controller.brokers.of(follower)
    this.controller.setBroker(follower, { epoch: epoch + 100, isFenced: true })
    for (const copy of this.copies.get(follower)!) {
      copy.end = Math.max(0, copy.end - loss)
      copy.told = undefined
    }
  }

  compare(): void {
    for (const [partition, model] of this.models.entries()) {
      const described = this.product.describe(partitionIndex(partition), this.nowMs)!
      expect({
        isr: described.inSyncReplicas,
        maximal: described.maximalInSyncReplicas,
        isPending: described.isrState !== 'committed',
        highWatermark: described.highWatermark,
        epochs: [described.leaderEpoch, described.partitionEpoch],
        caughtUp: described.followers.map((follower) => follower.caughtUpTimeMs),
      }).toEqual({
        isr: model.isr,
        maximal: model.maximalIsr,
        isPending: model.pending !== undefined,
        highWatermark: model.highWatermark,
        epochs: [model.leaderEpoch, model.partitionEpoch],
        caughtUp: followers.map((follower) => model.replicas.get(follower)!.lastCaughtUpTimeMs),
      })
      this.#keepPromises(partition, described.highWatermark)
    }
  }

  /**
   * What must hold whatever the model says: forward only, and nobody who may be elected lacks it.
   */
  #keepPromises(partition: number, highWatermark: number): void {
    expect(highWatermark).toBeGreaterThanOrEqual(this.#highest[partition])
    this.#highest[partition] = highWatermark
    for (const member of this.controller.partitions[partition].isr) {
      if (member === leader) continue
      expect(this.copies.get(member)![partition].end).toBeGreaterThanOrEqual(highWatermark)
    }
  }

  /** Everything recovers; the followers copy all. */
  settle(): void {
    this.loseController()
    this.requests.length = 0
    for (const follower of followers) {
      this.controller.setBroker(follower, { isFenced: false, isShuttingDown: false })
    }
    for (let round = 0; round < 12; round += 1) {
      this.nowMs += 60
      this.learn(Number.POSITIVE_INFINITY)
      for (const follower of followers) {
        for (let partition = 0; partition < partitionCount; partition += 1) {
          this.copy(follower, partition, Number.POSITIVE_INFINITY)
        }
        this.poll(follower)
      }
      this.send()
      this.arrive(0, false)
      this.answer(this.responses.length - 1, 'once')
      this.compare()
    }
    for (const { isr, highWatermark, logEndOffset } of this.models) {
      expect([...isr].sort()).toEqual([leader, b, c])
      expect(highWatermark).toBe(logEndOffset)
    }
  }

  #lead(partition: number, { isr, leaderEpoch, partitionEpoch }: PartitionFacts): void {
    this.product.makeLeader(
      registration(partitionIndex(partition), {
        inSyncReplicas: isr,
        leaderEpoch,
        partitionEpoch,
      }),
      { logEndOffset: 0, highWatermark: 0 },
      this.minInSync,
      this.nowMs,
    )
  }
}

type Step = (world: World) => void

const anyFollower = fc.constantFrom(...followers)
const anyPartition = fc.nat({ max: partitionCount - 1 })
const fate = fc.constantFrom('once' as const, 'once' as const, 'lost' as const, 'repeated' as const)

function steps(weight: number, arbitrary: fc.Arbitrary<Step>) {
  return { weight, arbitrary }
}

const step = fc.oneof(
  steps(
    10,
    anyFollower.map((follower) => (world) => world.poll(follower)),
  ),
  steps(
    6,
    fc
      .tuple(anyPartition, fc.integer({ min: 1, max: 3 }))
      .map(([partition, records]) => (world) => {
        world.append(partition, records)
      }),
  ),
  steps(
    10,
    fc
      .tuple(anyFollower, anyPartition, fc.integer({ min: 1, max: 6 }))
      .map(([follower, partition, records]) => (world) => {
        world.copy(follower, partition, records)
      }),
  ),
  steps(
    6,
    fc.integer({ min: 0, max: 30 }).map((ms) => (world) => {
      world.nowMs += ms
    }),
  ),
  steps(
    4,
    fc.constant((world: World) => world.check()),
  ),
  steps(
    8,
    fc.constant((world: World) => world.send()),
  ),
  steps(
    8,
    fc.tuple(fc.nat({ max: 1 }), fc.nat({ max: 7 })).map(([place, luck]) => (world) => {
      world.arrive(place, luck === 0)
    }),
  ),
  steps(
    8,
    fc.tuple(fc.nat({ max: 1 }), fate).map(
      ([place, how]) =>
        (world) =>
          world.answer(place, how),
    ),
  ),
  steps(
    6,
    fc.integer({ min: 1, max: 4 }).map((records) => (world) => world.learn(records)),
  ),
  steps(
    1,
    fc.constant((world: World) => world.loseController()),
  ),
  steps(
    2,
    fc
      .tuple(anyFollower, fc.boolean(), fc.boolean())
      .map(([follower, isFenced, isShuttingDown]) => (world) => {
        world.controller.setBroker(follower, { isFenced, isShuttingDown })
      }),
  ),
  steps(
    1,
    fc.tuple(anyFollower, fc.nat({ max: 9 })).map(([follower, loss]) => (world) => {
      world.restart(follower, loss)
    }),
  ),
  steps(
    1,
    anyPartition.map((partition) => (world) => world.controller.electAgain(partition)),
  ),
)

const setUp = fc.tuple(fc.integer({ min: 1, max: 3 }), fc.boolean())
const histories = fc.array(step, { minLength: 1, maxLength: 150, size: 'max' })

describe('a leader', () => {
  it('decides what the plain rules decide, whatever the network and the controller do', () => {
    fc.assert(
      fc.property(setUp, histories, ([minInSync, isLogEndNeeded], history) => {
        const world = new World(minInSync, isLogEndNeeded)
        for (const take of history) {
          take(world)
          world.compare()
        }
        world.settle()
      }),
      { numRuns: 600 },
    )
  })
})
