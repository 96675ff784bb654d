/** Whatever may be asked of a controller, in any order, for properties. */
import fc from 'fast-check'
import { brokerId, partitionIndex } from '../../../src/ids.ts'
import type { AdminResponse, AlterPartitionItem } from '../../../src/replication/messages.ts'
import { leaderNone, type PartitionRegistration } from '../../../src/replication/registration.ts'
import { ControllerHarness, incarnation, sessionTimeoutMs } from './controller-harness.ts'

export const brokers = [1, 2, 3, 4]
const topics = ['a', 'b', 'c']

const broker = fc.constantFrom(...brokers)
const topic = fc.constantFrom(...topics)
const someBrokers = fc.shuffledSubarray(brokers, { minLength: 1 })

const skew = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.integer({ min: -2, max: 1 }) },
)

const pick = fc.record({
  partition: fc.nat(9),
  members: someBrokers,
  leaderEpochSkew: skew,
  partitionEpochSkew: skew,
  recovering: fc.constantFrom(false, false, false, true),
})

function kind<K extends string, T>(name: K, fields: { [F in keyof T]: fc.Arbitrary<T[F]> }) {
  return fc.record({ kind: fc.constant(name), ...fields }) as fc.Arbitrary<{ kind: K } & T>
}

const register = kind('register', {
  broker,
  ended: fc.boolean(),
  renewed: fc.boolean(),
  clean: fc.boolean(),
})
const heartbeat = kind('heartbeat', {
  broker,
  behind: fc.constantFrom(0, 0, 0, 1, 50),
  wantFence: fc.constantFrom(false, false, false, true),
  wantShutDown: fc.constantFrom(false, false, false, false, true),
})
const pass = kind('pass', {
  ms: fc.constantFrom(1, 3_000, sessionTimeoutMs, sessionTimeoutMs + 1, 300_000),
})
const create = kind('create', {
  topic,
  replicas: someBrokers,
  count: fc.integer({ min: 1, max: 3 }),
  unclean: fc.boolean(),
  minInSync: fc.integer({ min: 1, max: 3 }),
})
const propose = kind('propose', {
  picks: fc.array(pick, { minLength: 1, maxLength: 4 }),
  asLeader: fc.constantFrom(true, true, true, false),
  sender: broker,
})
const join = kind('join', { partition: fc.nat(9) })
const advance = kind('advance', { partition: fc.nat(9) })
const elect = kind('elect', {
  election: fc.constantFrom('preferred' as const, 'unclean' as const),
  partition: fc.nat(9),
})
const reassign = kind('reassign', {
  partition: fc.nat(9),
  replicas: fc.option(someBrokers, { freq: 3 }),
})
const configure = kind('configure', {
  topic: fc.option(topic),
  unclean: fc.constantFrom('true', 'false', null, undefined),
  minInSync: fc.constantFrom('1', '2', '3', null, undefined),
})
const grow = kind('grow', { topic, by: fc.integer({ min: 1, max: 2 }), replicas: someBrokers })
const remove = kind('remove', { topic })
const bare = fc.constantFrom('step' as const, 'again' as const, 'restart' as const)

export const command = fc.oneof(
  { weight: 3, arbitrary: register },
  { weight: 10, arbitrary: heartbeat },
  { weight: 3, arbitrary: pass },
  { weight: 1, arbitrary: create },
  { weight: 6, arbitrary: propose },
  { weight: 6, arbitrary: join },
  { weight: 6, arbitrary: advance },
  { weight: 2, arbitrary: elect },
  { weight: 3, arbitrary: reassign },
  { weight: 2, arbitrary: configure },
  { weight: 1, arbitrary: grow },
  { weight: 1, arbitrary: remove },
  { weight: 4, arbitrary: bare.map((name) => ({ kind: name })) },
)

export type Command = typeof command extends fc.Arbitrary<infer C> ? C : never
type Of<K extends Command['kind']> = Extract<Command, { kind: K }>

/** Carries commands out on a controller that may be restarted between any two of them. */
export class CommandRun {
  readonly harness: ControllerHarness
  /** Who lost, as of the last command, what it hadn't flushed. */
  uncleanBroker = 0
  /** The last command was a leader's proposal. */
  isProposal = false
  /** Partition whose leader committed records with the last command. */
  advanced: PartitionRegistration | undefined
  readonly #lives = new Map(brokers.map((each) => [each, 1]))
  #last: Parameters<ControllerHarness['propose']> | undefined

  constructor(keepsEligible: boolean) {
    const harness = keepsEligible ? new ControllerHarness() : ControllerHarness.withoutEligible()
    this.harness = harness.start(...brokers)
  }

  do(each: Command): void {
    this.uncleanBroker = 0
    this.advanced = undefined
    this.isProposal = each.kind === 'propose' || each.kind === 'join' || each.kind === 'again'
    const { harness } = this
    switch (each.kind) {
      case 'register':
        this.#register(each)
        break
      case 'heartbeat':
        harness.heartbeat(each.broker, {
          metadataOffset: harness.image.endOffset - each.behind,
          wantFence: each.wantFence,
          wantShutDown: each.wantShutDown,
        })
        break
      case 'pass':
        harness.clock.advance(each.ms)
        break
      case 'step':
        harness.controller.step(harness.clock.nowMs())
        break
      case 'restart':
        harness.restart()
        break
      case 'again':
        if (this.#last !== undefined) harness.propose(...this.#last)
        break
      case 'propose':
        this.#propose(each)
        break
      case 'join':
        this.#join(each)
        break
      case 'advance':
        this.#advance(each)
        break
      default:
        this.#administer(each)
    }
  }

  #administer(each: Of<'create' | 'elect' | 'reassign' | 'configure' | 'grow' | 'remove'>): void {
    const { harness } = this
    switch (each.kind) {
      case 'create':
        harness.createTopic(
          each.topic,
          Array.from({ length: each.count }, () => each.replicas),
          {
            'unclean.leader.election.enable': String(each.unclean),
            'min.insync.replicas': String(each.minInSync),
          },
        )
        break
      case 'elect': {
        const found = this.#partition(each.partition)
        if (found !== undefined) harness.elect(each.election, [found.topic, found.partition])
        break
      }
      case 'reassign': {
        const found = this.#partition(each.partition)
        if (found !== undefined) harness.reassign(found.topic, found.partition, each.replicas)
        break
      }
      case 'configure': {
        const { unclean, minInSync } = each
        harness.configure(each.topic ?? undefined, {
          ...(unclean === undefined ? {} : { 'unclean.leader.election.enable': unclean }),
          ...(minInSync === undefined ? {} : { 'min.insync.replicas': minInSync }),
        })
        break
      }
      case 'grow':
        this.#grow(each)
        break
      case 'remove':
        harness.administer({ type: 'deleteTopic', topic: each.topic })
    }
  }

  #register({ broker: id, ended, renewed, clean }: Of<'register'>): void {
    const { harness } = this
    const life = (this.#lives.get(id) ?? 0) + (renewed ? 1 : 0)
    const before = harness.epochOf(id)
    const { error, brokerEpoch } = harness.register(id, {
      incarnationId: incarnation(id, life),
      previousIncarnationEnded: ended,
      previousBrokerEpoch: clean ? before : -1,
    })
    if (error !== 'NONE') return
    this.#lives.set(id, life)
    if (brokerEpoch !== before && !clean) this.uncleanBroker = id
  }

  #propose({ picks, asLeader, sender }: Of<'propose'>): void {
    const { harness } = this
    const items = picks.flatMap((each) => {
      const found = this.#partition(each.partition)
      if (found === undefined) return []
      const item = harness.item(found.index, each.members)
      return [
        {
          ...item,
          leaderEpoch: item.leaderEpoch + each.leaderEpochSkew,
          partitionEpoch: item.partitionEpoch + each.partitionEpochSkew,
          leaderRecoveryState: each.recovering ? ('recovering' as const) : ('recovered' as const),
        },
      ]
    })
    if (items.length === 0) return
    const leader = harness.partition(items[0].partition).leader as number
    this.#send(asLeader && leader !== leaderNone ? leader : sender, items)
  }

  /** A leader proposes all that may be in sync: what a healthy cluster does all the time. */
  #join({ partition }: Of<'join'>): void {
    const found = this.#partition(partition)
    if (found === undefined || found.leader === leaderNone) return
    const members = found.replicas.filter((id) => this.harness.image.isActive(id))
    this.#send(found.leader, [this.harness.item(found.index, members)])
  }

  #send(sender: number, items: readonly AlterPartitionItem[]): void {
    this.#last = [sender, items]
    this.harness.propose(...this.#last)
  }

  /** The high watermark moves only while enough are in sync; then all of them have the records. */
  #advance({ partition }: Of<'advance'>): void {
    const found = this.#partition(partition)
    if (found === undefined || found.leader === leaderNone) return
    if (found.inSyncReplicas.length >= this.minInSync(found)) this.advanced = found
  }

  /** As a leader counts it. */
  minInSync({ topic: name, replicas }: PartitionRegistration): number {
    const configured = this.harness.image.topicConfig(name, 'min.insync.replicas')
    return Math.min(Number(configured ?? 1), replicas.length)
  }

  #grow({ topic: name, by, replicas }: Of<'grow'>): AdminResponse {
    const size = this.harness.image.topicNamed(name)?.partitions.size ?? 0
    return this.harness.administer({
      type: 'createPartitions',
      topic: name,
      count: size + by,
      assignments: Array.from({ length: by }, () => replicas.map((id) => brokerId(id))),
    })
  }

  #partition(pickOf: number): PartitionRegistration | undefined {
    const { image } = this.harness
    if (image.partitionIndexesEnd === 0) return undefined
    return image.partition(partitionIndex(pickOf % image.partitionIndexesEnd))
  }
}
