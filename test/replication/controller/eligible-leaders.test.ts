import { describe, expect, it } from 'vitest'
import type { BrokerId } from '../../../src/ids.ts'
import { partitionIndex } from '../../../src/ids.ts'
import { buildPartitionChange } from '../../../src/replication/controller/build-partition-change.ts'
import { mergePartitionChange } from '../../../src/replication/controller/merge-partition-change.ts'
import type { PartitionRegistration } from '../../../src/replication/registration.ts'
import { ControllerHarness, incarnation } from './controller-harness.ts'

/** Conformance cases number brokers from 0; here 1 stands for 0 and so on. */
function harnessWith(minInSync: number, replicas = [1, 2, 3]): ControllerHarness {
  const harness = new ControllerHarness().start(...replicas)
  const configs = { 'min.insync.replicas': String(minInSync) }
  expect(harness.createTopic('t', [replicas], configs).error).toBe('NONE')
  return harness
}

function newLife(
  harness: ControllerHarness,
  broker: number,
  life: number,
  previousBrokerEpoch = -1,
) {
  const incarnationId = incarnation(broker, life)
  const request = { incarnationId, previousIncarnationEnded: true, previousBrokerEpoch }
  expect(harness.register(broker, request).error).toBe('NONE')
}

describe('eligible leader replicas', () => {
  it('72. ShrinkAndExpand', () => {
    const harness = harnessWith(2)
    harness.proposeOne(0, [1])
    expect(harness.eligible(0)).toEqual({ leader: 1, isr: [1], elr: [2, 3], lastKnown: [] })
    harness.proposeOne(0, [1, 2])
    expect(harness.eligible(0)).toEqual({ leader: 1, isr: [1, 2], elr: [], lastKnown: [] })
  })

  it('73. BrokerFence', () => {
    const harness = harnessWith(3, [1, 2, 3, 4])
    harness.silence(3)
    expect(harness.eligible(0)).toMatchObject({ isr: [1, 2, 4], elr: [] })
    harness.silence(4)
    // Not 3, which left while there were enough.
    expect(harness.eligible(0)).toMatchObject({ isr: [1, 2], elr: [4] })
    harness.silence(2)
    expect(harness.eligible(0)).toMatchObject({ isr: [1], elr: [4, 2] })
    const before = harness.state(0)
    harness.heartbeat(2)
    expect(harness.state(0)).toEqual(before)
  })

  it('73. EffectiveMinIsr: above the replicas it counts as all of them', () => {
    const registration = {
      index: partitionIndex(0),
      topicId: 'AAECAwQFBgcICQoLDA0ODw',
      topic: 't',
      partition: 0,
      replicas: [1, 2, 3] as BrokerId[],
      inSyncReplicas: [1, 2] as BrokerId[],
      addingReplicas: [],
      removingReplicas: [],
      leader: 1 as BrokerId,
      leaderRecoveryState: 'recovered',
      leaderEpoch: 0,
      partitionEpoch: 0,
      eligibleLeaderReplicas: [3] as BrokerId[],
      lastKnownLeader: [],
    } satisfies PartitionRegistration
    const change = (members: number[]) =>
      buildPartitionChange({
        registration,
        election: 'online',
        minInSyncReplicas: 5,
        keepsEligible: true,
        mayLead: () => true,
        inSyncReplicas: members as BrokerId[],
      })!
    expect(mergePartitionChange(registration, change([1, 2, 3])).eligibleLeaderReplicas).toEqual([])
    expect(mergePartitionChange(registration, change([1])).eligibleLeaderReplicas).toEqual([3, 2])
  })

  it('74. CleanElection', () => {
    const harness = harnessWith(2)
    harness.silence(2)
    harness.silence(3)
    harness.silence(1)
    expect(harness.eligible(0)).toEqual({ leader: -1, isr: [], elr: [3, 1], lastKnown: [1] })
    // Left while there were enough: it may lack what the others committed.
    harness.heartbeat(2)
    expect(harness.eligible(0)).toMatchObject({ leader: -1 })
    harness.heartbeat(3)
    expect(harness.eligible(0)).toEqual({ leader: 3, isr: [3], elr: [1], lastKnown: [] })
    expect(harness.partition(0)).toMatchObject({
      leaderRecoveryState: 'recovered',
      leaderEpoch: 2,
    })
    expect(harness.controller.takeEvents().at(-1)).toMatchObject({
      kind: 'elected',
      detail: { elected: 1, unclean: 0 },
    })
  })

  it('75. UncleanShutdown', () => {
    const harness = harnessWith(2, [1, 2, 3, 4])
    harness.silence(2)
    harness.silence(3)
    harness.silence(4)
    expect(harness.eligible(0)).toMatchObject({ leader: 1, isr: [1], elr: [4] })
    harness.proposeOne(0, [1])
    newLife(harness, 4, 2)
    expect(harness.eligible(0)).toMatchObject({ leader: 1, isr: [1], elr: [] })
  })

  it('75. UncleanShutdown of the leader alone', () => {
    const harness = harnessWith(2)
    harness.silence(2)
    harness.silence(3)
    newLife(harness, 1, 2)
    expect(harness.eligible(0)).toEqual({ leader: -1, isr: [], elr: [3], lastKnown: [1] })
  })

  it('a life that ended cleanly stays eligible in the next', () => {
    const harness = harnessWith(2)
    harness.silence(2)
    harness.silence(3)
    newLife(harness, 3, 2, harness.epochOf(3))
    expect(harness.eligible(0)).toMatchObject({ elr: [3] })
    newLife(harness, 3, 3, 7)
    expect(harness.eligible(0)).toMatchObject({ elr: [] })
  })

  it('the last known leader leads when nobody is eligible, uncleanly, and only if it is there', () => {
    const harness = harnessWith(1)
    harness.proposeOne(0, [1])
    newLife(harness, 1, 2)
    expect(harness.eligible(0)).toEqual({ leader: -1, isr: [], elr: [], lastKnown: [1] })
    // KAFKA-19522: another one returns while it is still fenced.
    harness.heartbeat(2, { wantFence: true })
    harness.heartbeat(2)
    expect(harness.eligible(0)).toMatchObject({ leader: -1, lastKnown: [1] })
    harness.heartbeat(1)
    expect(harness.eligible(0)).toEqual({ leader: 1, isr: [1], elr: [], lastKnown: [] })
    expect(harness.partition(0).leaderRecoveryState).toBe('recovering')
  })

  it('79. IsrCanShrinkToZero; without eligible leaders the last member stays', () => {
    const harness = harnessWith(1)
    harness.proposeOne(0, [1])
    harness.silence(1)
    expect(harness.eligible(0)).toEqual({ leader: -1, isr: [], elr: [1], lastKnown: [1] })
    const without = ControllerHarness.withoutEligible().start(1, 2, 3)
    without.createTopic('t', [[1, 2, 3]])
    without.proposeOne(0, [1])
    without.silence(1)
    expect(without.eligible(0)).toEqual({ leader: -1, isr: [1], elr: [], lastKnown: [] })
  })

  it('79. ElrCanBeElected', () => {
    const harness = harnessWith(1)
    harness.proposeOne(0, [1])
    harness.silence(1)
    harness.heartbeat(1)
    expect(harness.eligible(0)).toEqual({ leader: 1, isr: [1], elr: [], lastKnown: [] })
    expect(harness.partition(0).leaderRecoveryState).toBe('recovered')
  })

  it('an unclean election ends what was eligible', () => {
    const harness = harnessWith(2)
    harness.silence(2)
    harness.silence(3)
    harness.silence(1)
    harness.heartbeat(2)
    expect(harness.elect('unclean', ['t', 0])).toEqual(['NONE'])
    expect(harness.eligible(0)).toEqual({ leader: 2, isr: [2], elr: [], lastKnown: [] })
    expect(harness.partition(0).leaderRecoveryState).toBe('recovering')
  })

  it('a log that was made without them goes on without them', () => {
    const old = ControllerHarness.withoutEligible().start(1, 2)
    old.createTopic('t', [[1, 2]])
    const harness = new ControllerHarness(old.log)
    expect(harness.image.featureLevel('eligible.leader.replicas.version')).toBeUndefined()
    harness.silence(2)
    harness.silence(1)
    expect(harness.eligible(0)).toEqual({ leader: -1, isr: [1], elr: [], lastKnown: [] })
  })
})
