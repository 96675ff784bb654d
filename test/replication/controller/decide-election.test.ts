import { describe, expect, it } from 'vitest'
import { decideBalance } from '../../../src/replication/controller/decide-election.ts'
import { ControllerHarness } from './controller-harness.ts'
import { MemoryMetadataLog } from './memory-metadata-log.ts'

const unclean = 'unclean.leader.election.enable'

function stepUntilIdle(harness: ControllerHarness): number {
  let steps = 0
  while (harness.controller.step(harness.clock.nowMs()) > 0) expect(++steps).toBeLessThan(20)
  return steps
}

/** Lets time pass without anybody's session ending. */
function pass(harness: ControllerHarness, ms: number, ...alive: number[]): void {
  for (let passed = 0; passed < ms; passed += 5_000) {
    harness.clock.advance(Math.min(5_000, ms - passed))
    for (const broker of alive) harness.heartbeat(broker)
  }
}

describe('by request', () => {
  it('66. ElectUncleanLeaders', () => {
    const harness = ControllerHarness.withoutEligible().start(1, 2, 3, 4)
    harness.createTopic('t', [
      [1, 2, 3],
      [2, 3, 4],
    ])
    harness.silence(2)
    harness.silence(3)
    harness.silence(1)
    expect(harness.state(0)).toMatchObject({ leader: -1, isr: [1] })
    const before = harness.log.endOffset
    expect(harness.elect('unclean', ['t', 0], ['t', 1], ['t', 2], ['u', 0])).toEqual([
      'ELIGIBLE_LEADERS_NOT_AVAILABLE',
      'ELECTION_NOT_NEEDED',
      'UNKNOWN_TOPIC_OR_PARTITION',
      'UNKNOWN_TOPIC_OR_PARTITION',
    ])
    expect(harness.log.endOffset).toBe(before)
    harness.heartbeat(2)
    expect(harness.elect('unclean', ['t', 0])).toEqual(['NONE'])
    expect(harness.state(0)).toMatchObject({ leader: 2, isr: [2] })
    expect(harness.partition(0).leaderRecoveryState).toBe('recovering')
    // No preferred election happens by the way: 2 is back, and 4 goes on.
    expect(harness.state(1)).toMatchObject({ leader: 4, isr: [4] })
    expect(harness.controller.takeEvents().at(-1)).toMatchObject({
      kind: 'elected',
      brokerId: 0,
      detail: { elected: 1, leaderless: 0, unclean: 1 },
    })
  })

  it('67. PreferredElectionDoesNotTriggerUncleanElection', () => {
    const harness = ControllerHarness.withoutEligible().start(1, 2)
    harness.createTopic('t', [[1, 2]], { [unclean]: 'true' })
    harness.createTopic('u', [[1, 2]])
    harness.proposeOne(1, [1])
    harness.silence(1)
    const before = harness.log.endOffset
    expect(harness.state(1)).toMatchObject({ leader: -1 })
    expect(harness.elect('preferred', ['u', 0])).toEqual(['PREFERRED_LEADER_NOT_AVAILABLE'])
    expect(harness.elect('preferred', ['t', 0])).toEqual(['PREFERRED_LEADER_NOT_AVAILABLE'])
    expect(harness.log.endOffset).toBe(before)
  })

  it('preferred: only from the in-sync replicas, only where it isn’t yet, each once', () => {
    const harness = new ControllerHarness().start(1, 2, 3)
    harness.createTopic('t', [
      [1, 2, 3],
      [2, 3, 1],
    ])
    harness.silence(1)
    harness.heartbeat(1)
    expect(harness.elect('preferred', ['t', 0])).toEqual(['PREFERRED_LEADER_NOT_AVAILABLE'])
    harness.proposeOne(0, [2, 3, 1])
    expect(harness.elect('preferred', ['t', 0], ['t', 1], ['t', 0])).toEqual([
      'NONE',
      'ELECTION_NOT_NEEDED',
      'NONE',
    ])
    expect(harness.state(0)).toMatchObject({ leader: 1, leaderEpoch: 2, partitionEpoch: 3 })
  })

  it('without names: whatever needs one', () => {
    const harness = new ControllerHarness().start(1, 2)
    harness.createTopic('t', [
      [1, 2],
      [2, 1],
    ])
    harness.silence(1)
    harness.heartbeat(1)
    harness.proposeOne(0, [2, 1])
    const response = harness.administer({
      type: 'electLeaders',
      election: 'preferred',
      partitions: undefined,
    })
    expect(response.results).toEqual([{ topic: 't', partition: 0, error: 'NONE', detail: '' }])
    expect(harness.state(0).leader).toBe(1)
  })
})

describe('by the clock', () => {
  /** Ten partitions that broker 1 should lead, and 2 leads `away` of them. */
  function imbalanced(away: number): ControllerHarness {
    const harness = new ControllerHarness().start(1, 2)
    harness.createTopic(
      'back',
      Array.from({ length: away }, () => [1, 2]),
    )
    harness.silence(1)
    harness.heartbeat(1)
    for (let index = 0; index < away; index++) harness.proposeOne(index, [2, 1])
    harness.createTopic(
      'stay',
      Array.from({ length: 10 - away }, () => [1, 2]),
    )
    harness.controller.step(harness.clock.nowMs())
    return harness
  }

  it('68. BalancePartitionLeaders: at most so many in a pass, and it says that there are more', () => {
    const { image } = imbalanced(3)
    const limits = { imbalancePercentMax: 10, nowMs: 0 }
    const some = decideBalance(image, { ...limits, electionsMax: 2 })
    expect(some).toMatchObject({ hasMore: true, records: [{ leader: 1 }, { leader: 1 }] })
    const all = decideBalance(image, { ...limits, electionsMax: 3 })
    expect(all).toMatchObject({ hasMore: false })
    expect(all.records).toHaveLength(3)
  })

  it.each([
    [1, 2],
    [2, 1],
  ])('%i of ten away from their broker, allowed are 10 in a hundred: leader %i', (away, leader) => {
    const harness = imbalanced(away)
    pass(harness, 299_000, 1, 2)
    expect(harness.state(0).leader).toBe(2)
    pass(harness, 1_001, 1, 2)
    stepUntilIdle(harness)
    expect(harness.state(0).leader).toBe(leader)
  })

  it('a preferred leader that isn’t in sync, or fenced, is not elected', () => {
    const harness = new ControllerHarness().start(1, 2)
    harness.createTopic('t', [[1, 2]])
    harness.silence(1)
    harness.heartbeat(1)
    pass(harness, 301_000, 1, 2)
    stepUntilIdle(harness)
    expect(harness.state(0)).toMatchObject({ leader: 2, isr: [2] })
  })

  it('not at all with auto.leader.rebalance.enable=false', () => {
    const elections = {
      rebalances: false,
      rebalanceIntervalMs: 1_000,
      imbalancePercentMax: 0,
      uncleanIntervalMs: 1_000_000,
    }
    const harness = new ControllerHarness(new MemoryMetadataLog(), 100, { elections }).start(1, 2)
    harness.createTopic('t', [[1, 2]])
    harness.silence(1)
    harness.heartbeat(1)
    harness.proposeOne(0, [2, 1])
    pass(harness, 10_000, 1, 2)
    stepUntilIdle(harness)
    expect(harness.state(0).leader).toBe(2)
  })
})

describe('69. MaybeTriggerUncleanLeaderElection', () => {
  /** Broker 1 has everything and is gone, 2 is there. */
  function offline(configs: Readonly<Record<string, string>> = {}): ControllerHarness {
    const harness = ControllerHarness.withoutEligible().start(1, 2)
    harness.createTopic('t', [[1, 2]], configs)
    harness.proposeOne(0, [1])
    harness.silence(1)
    return harness
  }

  it('the topic’s own setting, given when it is leaderless, elects at once', () => {
    const harness = offline()
    expect(harness.state(0).leader).toBe(-1)
    expect(harness.configure('t', { [unclean]: 'true' })).toBe('NONE')
    expect(harness.state(0)).toMatchObject({ leader: 2, isr: [2] })
    expect(harness.partition(0).leaderRecoveryState).toBe('recovering')
  })

  it('so does the default of all topics, but not over the topic’s own', () => {
    const harness = offline()
    harness.configure(undefined, { [unclean]: 'true' })
    expect(harness.state(0).leader).toBe(2)
    const other = offline({ [unclean]: 'false' })
    other.configure(undefined, { [unclean]: 'true' })
    expect(other.state(0).leader).toBe(-1)
  })

  it('the topic’s own goes before the default when a broker leaves', () => {
    const harness = ControllerHarness.withoutEligible().start(1, 2)
    harness.configure(undefined, { [unclean]: 'true' })
    harness.createTopic('t', [[1, 2]])
    harness.createTopic('u', [[1, 2]], { [unclean]: 'false' })
    for (const index of [0, 1]) harness.proposeOne(index, [1])
    harness.silence(1)
    expect([harness.state(0).leader, harness.state(1).leader]).toEqual([2, -1])
  })

  it('by the clock too, where a leader became possible without an event of its own', () => {
    const harness = offline()
    harness.log.append([
      { type: 'config', resourceType: 2, resourceName: 't', name: unclean, value: 'true' },
    ])
    harness.restart()
    pass(harness, 299_999, 2)
    stepUntilIdle(harness)
    expect(harness.state(0).leader).toBe(-1)
    pass(harness, 1, 2)
    stepUntilIdle(harness)
    expect(harness.state(0)).toMatchObject({ leader: 2, isr: [2] })
  })
})
