import fc from 'fast-check'
import { expect, it } from 'vitest'
import { partitionIndex } from '../../../src/ids.ts'
import type { MetadataImage } from '../../../src/replication/controller/metadata-image.ts'
import { leaderNone, type PartitionRegistration } from '../../../src/replication/registration.ts'
import {
  ControllerHarness,
  contentsOf,
  incarnation,
  sessionTimeoutMs,
} from './controller-harness.ts'

const brokers = [1, 2, 3, 4]

const broker = fc.constantFrom(...brokers)
const someBrokers = fc.shuffledSubarray(brokers, { minLength: 1 })

type Command =
  | { kind: 'register'; broker: number; ended: boolean; renewed: boolean }
  | { kind: 'heartbeat'; broker: number; behind: number; wantFence: boolean; wantShutDown: boolean }
  | { kind: 'pass'; ms: number }
  | { kind: 'step' }
  | { kind: 'create'; replicas: number[]; count: number; unclean: boolean }
  | { kind: 'propose'; picks: Pick[]; asLeader: boolean; sender: number }
  | { kind: 'again' }

interface Pick {
  partition: number
  members: number[]
  leaderEpochSkew: number
  partitionEpochSkew: number
  recovering: boolean
}

const skew = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.integer({ min: -2, max: 1 }) },
)

const pick: fc.Arbitrary<Pick> = fc.record({
  partition: fc.nat(9),
  members: someBrokers,
  leaderEpochSkew: skew,
  partitionEpochSkew: skew,
  recovering: fc.constantFrom(false, false, false, true),
})

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('register' as const),
      broker,
      ended: fc.boolean(),
      renewed: fc.boolean(),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('heartbeat' as const),
      broker,
      behind: fc.constantFrom(0, 0, 0, 1, 50),
      wantFence: fc.constantFrom(false, false, false, true),
      wantShutDown: fc.constantFrom(false, false, false, false, true),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(1, 3_000, sessionTimeoutMs, sessionTimeoutMs + 1),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('step' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('create' as const),
      replicas: someBrokers,
      count: fc.integer({ min: 1, max: 3 }),
      unclean: fc.boolean(),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('propose' as const),
      picks: fc.array(pick, { minLength: 1, maxLength: 4 }),
      asLeader: fc.constantFrom(true, true, true, false),
      sender: broker,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('again' as const) }) },
)

class Run {
  readonly harness = new ControllerHarness().start(...brokers)
  readonly #lives = new Map(brokers.map((each) => [each, 1]))
  #topics = 0
  #last: Parameters<ControllerHarness['propose']> | undefined

  do(command: Command): void {
    const { harness } = this
    switch (command.kind) {
      case 'register': {
        const life = (this.#lives.get(command.broker) ?? 0) + (command.renewed ? 1 : 0)
        const { error } = harness.register(command.broker, {
          incarnationId: incarnation(command.broker, life),
          previousIncarnationEnded: command.ended,
        })
        if (error === 'NONE') this.#lives.set(command.broker, life)
        break
      }
      case 'heartbeat':
        harness.heartbeat(command.broker, {
          metadataOffset: harness.image.endOffset - command.behind,
          wantFence: command.wantFence,
          wantShutDown: command.wantShutDown,
        })
        break
      case 'pass':
        harness.clock.advance(command.ms)
        break
      case 'step':
        harness.controller.step(harness.clock.nowMs())
        break
      case 'create':
        harness.createTopic(
          `topic-${++this.#topics}`,
          Array.from({ length: command.count }, () => command.replicas),
          command.unclean ? { 'unclean.leader.election.enable': 'true' } : {},
        )
        break
      case 'propose':
        this.#propose(command)
        break
      case 'again':
        if (this.#last !== undefined) harness.propose(...this.#last)
    }
  }

  #propose({ picks, asLeader, sender }: Extract<Command, { kind: 'propose' }>): void {
    const { harness } = this
    const { partitionIndexesEnd } = harness.image
    if (partitionIndexesEnd === 0) return
    const items = picks.map((each) => {
      const item = harness.item(each.partition % partitionIndexesEnd, each.members)
      return {
        ...item,
        leaderEpoch: item.leaderEpoch + each.leaderEpochSkew,
        partitionEpoch: item.partitionEpoch + each.partitionEpochSkew,
        leaderRecoveryState: each.recovering ? ('recovering' as const) : ('recovered' as const),
      }
    })
    const leader = harness.partition(items[0].partition).leader as number
    this.#last = [asLeader && leader !== leaderNone ? leader : sender, items]
    harness.propose(...this.#last)
  }
}

it('whatever is asked: invariants hold, and the log replays to the image', () => {
  const reached = { changes: 0, leaderless: 0, unclean: 0 }
  fc.assert(
    fc.property(fc.array(command, { minLength: 5, maxLength: 60 }), (commands) => {
      const run = new Run()
      run.do({ kind: 'create', replicas: [1, 2, 3], count: 2, unclean: false })
      run.do({ kind: 'create', replicas: [2, 3], count: 3, unclean: true })
      run.do({ kind: 'create', replicas: [4, 1], count: 3, unclean: true })
      const { harness } = run
      let before = snapshot(harness)
      for (const each of commands) {
        run.do(each)
        const after = snapshot(harness)
        checkPartitions(harness)
        reached.changes += checkEpochs(before, after)
        reached.leaderless += after.filter(({ leader }) => leader === leaderNone).length
        reached.unclean += after.filter((p) => p.leaderRecoveryState === 'recovering').length
        before = after
      }
      const restarted = new ControllerHarness(harness.log)
      expect(contentsOf(restarted.image)).toEqual(contentsOf(harness.image))
    }),
    { numRuns: 150 },
  )
  // Otherwise the commands would show nothing.
  expect(reached.changes).toBeGreaterThan(200)
  expect(reached.leaderless).toBeGreaterThan(0)
  expect(reached.unclean).toBeGreaterThan(0)
})

function snapshot({ image }: ControllerHarness) {
  return Array.from({ length: image.partitionIndexesEnd }, (_, index) => {
    const registration = image.partition(partitionIndex(index))
    return registration!
  })
}

function checkPartitions({ image }: ControllerHarness): void {
  image.forEachPartition((registration) => {
    const fault = faultOf(registration, image)
    if (fault !== undefined) throw new Error(`${fault}: ${JSON.stringify(registration)}`)
  })
}

/** The named invariants of one partition. */
function faultOf(
  { replicas, inSyncReplicas: isr, leader, leaderRecoveryState }: PartitionRegistration,
  image: MetadataImage,
): string | undefined {
  if (isr.length === 0) return 'the ISR is empty'
  if (new Set(isr).size !== isr.length) return 'a broker stands twice in the ISR'
  if (!isr.every((member) => replicas.includes(member))) return 'the ISR is no subset'
  if (leader === leaderNone) {
    return isr.some((member) => image.isActive(member)) ? 'somebody in sync could lead' : undefined
  }
  if (!isr.includes(leader)) return 'the leader is not in sync'
  // Whoever may not lead was fenced or is leaving, and left the ISR by that.
  if (!isr.every((member) => image.isActive(member))) return 'somebody in sync is not active'
  if (leaderRecoveryState === 'recovering' && isr.length > 1) return 'recovering, and not alone'
  return undefined
}

function checkEpochs(
  before: ReturnType<typeof snapshot>,
  after: ReturnType<typeof snapshot>,
): number {
  let changes = 0
  for (let index = 0; index < before.length; index++) {
    const [was, is] = [before[index], after[index]]
    if (was === is) continue
    changes++
    const grow =
      is.partitionEpoch > was.partitionEpoch &&
      is.leaderEpoch >= was.leaderEpoch &&
      (is.leader === was.leader || is.leaderEpoch > was.leaderEpoch)
    if (!grow) throw new Error(`epochs: ${JSON.stringify(was)} became ${JSON.stringify(is)}`)
  }
  return changes
}
