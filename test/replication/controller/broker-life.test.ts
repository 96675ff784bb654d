import { describe, expect, it } from 'vitest'
import { brokerId } from '../../../src/ids.ts'
import {
  ControllerHarness,
  clusterId,
  incarnation,
  sessionTimeoutMs,
} from './controller-harness.ts'

describe('registration', () => {
  it('the epoch is the offset of the registration record; it starts fenced', () => {
    const harness = new ControllerHarness()
    const { endOffset } = harness.log
    expect(harness.register(1)).toMatchObject({ error: 'NONE', brokerEpoch: endOffset })
    expect(harness.register(2)).toMatchObject({ error: 'NONE', brokerEpoch: endOffset + 1 })
    harness.log.replay(endOffset + 1, (record) =>
      expect(record).toMatchObject({ type: 'registerBroker', brokerEpoch: endOffset + 1 }),
    )
    expect(harness.image.broker(brokerId(1))).toEqual({
      brokerId: 1,
      brokerEpoch: endOffset,
      incarnationId: incarnation(1),
      fenced: true,
      inControlledShutdown: false,
    })
    expect(harness.image.isActive(brokerId(1))).toBe(false)
    expect(harness.image.aliveEpoch(brokerId(1))).toBeUndefined()
  })

  it('81. ReRegistration: the same incarnation keeps its epoch and state', () => {
    const harness = new ControllerHarness().start(1)
    const epoch = harness.epochOf(1)
    const { endOffset } = harness.log
    expect(harness.register(1)).toMatchObject({ error: 'NONE', brokerEpoch: epoch })
    expect(harness.log.endOffset).toBe(endOffset)
    expect(harness.image.isActive(brokerId(1))).toBe(true)
  })

  it('81. live session and other incarnation: DUPLICATE_BROKER_REGISTRATION', () => {
    const harness = new ControllerHarness().start(1)
    const epoch = harness.epochOf(1)
    harness.clock.advance(sessionTimeoutMs)
    const response = harness.register(1, { incarnationId: incarnation(1, 2) })
    expect(response).toMatchObject({ error: 'DUPLICATE_BROKER_REGISTRATION', brokerEpoch: -1 })
    expect(harness.epochOf(1)).toBe(epoch)
    expect(harness.image.isActive(brokerId(1))).toBe(true)
    expect(harness.heartbeat(1).error).toBe('NONE')
  })

  it('81. new incarnation after the session ended: new epoch, fenced', () => {
    const harness = new ControllerHarness().start(1)
    const epoch = harness.epochOf(1)
    harness.clock.advance(sessionTimeoutMs + 1)
    const response = harness.register(1, { incarnationId: incarnation(1, 2) })
    expect(response.error).toBe('NONE')
    expect(response.brokerEpoch).toBeGreaterThan(epoch)
    expect(harness.epochOf(1)).toBe(response.brokerEpoch)
    expect(harness.image.isActive(brokerId(1))).toBe(false)
  })

  it('a fenced broker has no session to be a duplicate of', () => {
    const harness = new ControllerHarness()
    harness.register(1)
    expect(harness.register(1, { incarnationId: incarnation(1, 2) }).error).toBe('NONE')
  })

  it('whoever saw the former incarnation end need not wait; its memberships end', () => {
    const harness = new ControllerHarness().start(1, 2, 3)
    harness.createTopic('t', [
      [1, 2, 3],
      [2, 1, 3],
    ])
    harness.createTopic('u', [[2, 3]])
    const ended = { incarnationId: incarnation(1, 2), previousIncarnationEnded: true }
    const { brokerEpoch } = harness.register(1, ended)
    expect(harness.state(0)).toEqual({ leader: 2, isr: [2, 3], leaderEpoch: 1, partitionEpoch: 1 })
    expect(harness.state(1)).toEqual({ leader: 2, isr: [2, 3], leaderEpoch: 0, partitionEpoch: 1 })
    expect(harness.state(2)).toEqual({ leader: 2, isr: [2, 3], leaderEpoch: 0, partitionEpoch: 0 })
    expect(brokerEpoch).toBe(harness.log.endOffset - 1)
    expect(harness.image.isActive(brokerId(1))).toBe(false)
    const [registered, elected] = harness.controller.takeEvents().slice(-2)
    expect(registered).toMatchObject({ kind: 'registered', brokerId: 1, partitions: [0, 1] })
    expect(elected).toMatchObject({ kind: 'elected', partitions: [0] })
  })

  it('the last in-sync replica comes back in a new life and leads again, cleanly', () => {
    const harness = ControllerHarness.withoutEligible().start(1, 2)
    harness.createTopic('t', [[1, 2]])
    expect(harness.proposeOne(0, [1]).error).toBe('NONE')
    harness.register(1, { incarnationId: incarnation(1, 2), previousIncarnationEnded: true })
    expect(harness.state(0)).toMatchObject({ leader: -1, isr: [1], leaderEpoch: 1 })
    expect(harness.heartbeat(1).isFenced).toBe(false)
    expect(harness.state(0)).toMatchObject({ leader: 1, isr: [1], leaderEpoch: 2 })
    expect(harness.partition(0).leaderRecoveryState).toBe('recovered')
  })

  it('ids of incarnations may be written in hexadecimal with dashes', () => {
    const harness = new ControllerHarness()
    const incarnationId = '01020304-0506-4708-890a-0b0c0d0e0f10'
    expect(harness.register(1, { incarnationId }).error).toBe('NONE')
    expect(harness.register(1, { incarnationId }).error).toBe('NONE')
    expect(harness.image.broker(brokerId(1))?.incarnationId).toBe('AQIDBAUGRwiJCgsMDQ4PEA')
  })

  it.each([
    ['another cluster', 1, { clusterId: 'other' }, 'INCONSISTENT_CLUSTER_ID'],
    ['an incarnation that is no id', 1, { incarnationId: 'x' }, 'INVALID_REQUEST'],
    ['broker 0', 0, {}, 'INVALID_REQUEST'],
    ['a broker above the limit', 17, {}, 'INVALID_REQUEST'],
    ['a broker and a half', 1.5, {}, 'INVALID_REQUEST'],
  ])('%s is refused', (_, broker, change, error) => {
    const harness = new ControllerHarness()
    const { endOffset } = harness.log
    expect(harness.register(broker, change)).toMatchObject({ error, brokerEpoch: -1 })
    expect(harness.log.endOffset).toBe(endOffset)
    expect(clusterId).not.toBe('other')
  })
})

describe('heartbeats', () => {
  it('unfence once the own registration has been applied', () => {
    const harness = new ControllerHarness()
    const { brokerEpoch } = harness.register(1)
    expect(harness.heartbeat(1, { metadataOffset: brokerEpoch })).toMatchObject({
      isCaughtUp: false,
      isFenced: true,
    })
    expect(
      harness.heartbeat(1, { metadataOffset: brokerEpoch + 1, wantFence: true }),
    ).toMatchObject({
      isCaughtUp: true,
      isFenced: true,
    })
    expect(harness.heartbeat(1, { metadataOffset: brokerEpoch + 1 })).toMatchObject({
      isCaughtUp: true,
      isFenced: false,
      shouldShutDown: false,
    })
    expect(harness.image.aliveEpoch(brokerId(1))).toBe(brokerEpoch)
  })

  it('with the epoch of another life: STALE_BROKER_EPOCH, and the session is not refreshed', () => {
    const harness = new ControllerHarness().start(1)
    harness.clock.advance(sessionTimeoutMs)
    expect(harness.heartbeat(1, { brokerEpoch: 99 }).error).toBe('STALE_BROKER_EPOCH')
    expect(harness.heartbeat(2, { brokerEpoch: -1 }).error).toBe('STALE_BROKER_EPOCH')
    harness.clock.advance(1)
    expect(harness.controller.step(harness.clock.nowMs())).toBe(1)
  })

  it('unfencing does not rejoin any ISR', () => {
    const harness = new ControllerHarness().start(1, 2)
    harness.createTopic('t', [[1, 2]])
    harness.silence(2)
    const before = harness.state(0)
    harness.heartbeat(2)
    expect(harness.state(0)).toEqual(before)
  })

  it('a wish to be fenced is granted at once', () => {
    const harness = new ControllerHarness().start(1, 2)
    harness.createTopic('t', [[1, 2]])
    expect(harness.heartbeat(1, { wantFence: true }).isFenced).toBe(true)
    expect(harness.state(0)).toMatchObject({ leader: 2, isr: [2] })
  })
})

describe('sessions', () => {
  it('hold at exactly the timeout and end after it', () => {
    const harness = new ControllerHarness().start(1)
    const startMs = harness.clock.nowMs()
    expect(harness.controller.nextStepMs()).toBe(startMs + sessionTimeoutMs)
    harness.clock.advance(sessionTimeoutMs)
    expect(harness.controller.step(harness.clock.nowMs())).toBe(0)
    harness.clock.advance(1)
    expect(harness.controller.step(harness.clock.nowMs())).toBe(1)
    expect(harness.image.isActive(brokerId(1))).toBe(false)
    expect(harness.controller.nextStepMs()).toBe(startMs + 300_000)
    expect(harness.controller.takeEvents().at(-1)).toMatchObject({
      kind: 'fenced',
      brokerId: 1,
      detail: { silentMs: sessionTimeoutMs + 1, sessionTimeoutMs },
    })
  })

  it('71. ExpiredHeartbeat: one that waited past the timeout still counts', () => {
    const harness = new ControllerHarness().start(1)
    harness.clock.advance(sessionTimeoutMs * 3)
    expect(harness.heartbeat(1).isFenced).toBe(false)
    expect(harness.controller.step(harness.clock.nowMs())).toBe(0)
  })

  it('one stale broker a step, the longest silent first, so that the second sees the effect', () => {
    const harness = new ControllerHarness().start(1, 2, 3)
    harness.createTopic('t', [[1, 2, 3]])
    harness.clock.advance(10)
    harness.heartbeat(1)
    harness.clock.advance(sessionTimeoutMs)
    harness.heartbeat(3)
    harness.clock.advance(1)
    expect(harness.controller.step(harness.clock.nowMs())).toBe(1)
    expect(harness.state(0)).toMatchObject({ leader: 1, isr: [1, 3], leaderEpoch: 0 })
    expect(harness.controller.step(harness.clock.nowMs())).toBe(1)
    expect(harness.state(0)).toMatchObject({ leader: 3, isr: [3], leaderEpoch: 1 })
    expect(harness.controller.step(harness.clock.nowMs())).toBe(0)
  })

  it('a controller that starts gives every broker a whole session', () => {
    const { log } = new ControllerHarness().start(1)
    const restarted = new ControllerHarness(log)
    restarted.clock.advance(sessionTimeoutMs)
    expect(restarted.controller.step(restarted.clock.nowMs())).toBe(0)
    restarted.clock.advance(1)
    expect(restarted.controller.step(restarted.clock.nowMs())).toBe(1)
  })
})

describe('fencing', () => {
  // Kafka's brokers 0 to 4; here 5 stands for 0.
  const assignments = [
    [1, 2, 3],
    [2, 3, 4],
    [5, 2, 1],
  ]

  it('65. FenceMultipleBrokers', () => {
    const harness = new ControllerHarness().start(1, 2, 3, 4, 5)
    harness.createTopic('t', assignments)
    expect(harness.silence(2, 3)).toBe(2)
    expect(harness.state(0)).toEqual({ leader: 1, isr: [1], leaderEpoch: 0, partitionEpoch: 2 })
    expect(harness.state(1)).toEqual({ leader: 4, isr: [4], leaderEpoch: 2, partitionEpoch: 2 })
    expect(harness.state(2)).toEqual({ leader: 5, isr: [5, 1], leaderEpoch: 0, partitionEpoch: 1 })
  })

  it('65. the last member stays in the ISR, without leader, and leads again when it returns', () => {
    const harness = ControllerHarness.withoutEligible().start(1, 2, 3, 4, 5)
    harness.createTopic('t', assignments)
    harness.silence(2, 3)
    harness.silence(1)
    expect(harness.state(0)).toEqual({ leader: -1, isr: [1], leaderEpoch: 1, partitionEpoch: 3 })
    harness.heartbeat(2)
    expect(harness.state(0)).toMatchObject({ leader: -1, isr: [1] })
    harness.heartbeat(1)
    expect(harness.state(0)).toEqual({ leader: 1, isr: [1], leaderEpoch: 2, partitionEpoch: 4 })
  })

  it('partition records stand before the fencing, after the unfencing', () => {
    const harness = new ControllerHarness().start(1)
    harness.createTopic('t', [[1]])
    const start = harness.log.endOffset
    harness.silence(1)
    harness.heartbeat(1)
    const kinds: string[] = []
    harness.log.replay(start, ({ type }) => kinds.push(type))
    expect(kinds).toEqual([
      'partitionChange',
      'brokerRegistrationChange',
      'brokerRegistrationChange',
      'partitionChange',
    ])
  })

  it('with unclean.leader.election.enable, fencing the last member elects who is there', () => {
    const harness = new ControllerHarness().start(1, 2)
    harness.createTopic('t', [[1, 2]], { 'unclean.leader.election.enable': 'true' })
    harness.proposeOne(0, [1])
    harness.silence(1)
    expect(harness.state(0)).toMatchObject({ leader: 2, isr: [2], leaderEpoch: 1 })
    expect(harness.partition(0).leaderRecoveryState).toBe('recovering')
    expect(harness.controller.takeEvents().at(-1)).toMatchObject({
      kind: 'elected',
      detail: { elected: 1, leaderless: 0, unclean: 1 },
    })
    const proposal = harness.proposeOne(0, [2])
    expect(proposal).toMatchObject({ error: 'NONE', leaderRecoveryState: 'recovered' })
  })

  it('while recovering, a proposal that still says so may not have a second member', () => {
    const harness = new ControllerHarness().start(1, 2, 3)
    harness.createTopic('t', [[1, 2, 3]], { 'unclean.leader.election.enable': 'true' })
    harness.proposeOne(0, [1])
    harness.silence(1)
    const recovering = { leaderRecoveryState: 'recovering' } as const
    expect(harness.proposeOne(0, [2, 3], recovering).error).toBe('INVALID_REQUEST')
    expect(harness.proposeOne(0, [2], recovering).error).toBe('NONE')
    expect(harness.proposeOne(0, [2, 3])).toMatchObject({
      error: 'NONE',
      leaderRecoveryState: 'recovered',
    })
  })
})

describe('controlled shutdown', () => {
  it('70. HeartbeatInControlledShutdown', () => {
    const harness = new ControllerHarness().start(1, 2, 3)
    harness.createTopic('t', [[1, 2, 3]])
    for (const broker of [2, 3]) harness.heartbeat(broker)
    expect(harness.heartbeat(1, { wantShutDown: true })).toMatchObject({
      isFenced: false,
      shouldShutDown: false,
    })
    expect(harness.state(0)).toMatchObject({ leader: 2, isr: [2, 3], leaderEpoch: 1 })
    expect(harness.image.broker(brokerId(1))).toMatchObject({
      fenced: false,
      inControlledShutdown: true,
    })
    const shutdownOffset = harness.image.endOffset

    harness.heartbeat(2, { metadataOffset: shutdownOffset })
    harness.heartbeat(3, { metadataOffset: shutdownOffset - 1 })
    // What the leaving one has applied itself holds nobody up.
    const leaving = { wantShutDown: true, metadataOffset: 0 }
    expect(harness.heartbeat(1, leaving).shouldShutDown).toBe(false)
    harness.heartbeat(3, { metadataOffset: shutdownOffset })
    expect(harness.heartbeat(1, { wantShutDown: true })).toMatchObject({
      isFenced: true,
      shouldShutDown: true,
    })
    expect(harness.image.broker(brokerId(1))).toMatchObject({ fenced: true })
  })

  it('one that leads nothing may go at once', () => {
    const harness = new ControllerHarness().start(1, 2)
    harness.createTopic('t', [[1, 2]])
    expect(harness.heartbeat(2, { wantShutDown: true }).shouldShutDown).toBe(true)
    expect(harness.state(0)).toMatchObject({ leader: 1, isr: [1] })
  })

  it('one that cannot hand over its leadership keeps it until then', () => {
    const harness = ControllerHarness.withoutEligible().start(1, 2)
    harness.createTopic('t', [[1]])
    harness.createTopic('u', [[1, 2]])
    expect(harness.heartbeat(1, { wantShutDown: true }).shouldShutDown).toBe(false)
    expect(harness.state(0)).toMatchObject({ leader: -1, isr: [1] })
    expect(harness.state(1)).toMatchObject({ leader: 2, isr: [2] })
  })

  it('one that changes its mind after it was fenced leads nothing in this life', () => {
    const harness = ControllerHarness.withoutEligible().start(1, 2)
    harness.createTopic('t', [[1]])
    expect(harness.heartbeat(1, { wantShutDown: true }).isFenced).toBe(false)
    expect(harness.silence(1)).toBe(1)
    expect(harness.heartbeat(1).isFenced).toBe(false)
    expect(harness.image.isActive(brokerId(1))).toBe(false)
    expect(harness.state(0)).toMatchObject({ leader: -1, isr: [1] })
    harness.register(1, { incarnationId: incarnation(1, 2), previousIncarnationEnded: true })
    harness.heartbeat(1)
    expect(harness.state(0)).toMatchObject({ leader: 1, isr: [1] })
  })

  it('a fenced broker that asks gets it without another record', () => {
    const harness = new ControllerHarness()
    harness.register(1)
    const { endOffset } = harness.log
    expect(harness.heartbeat(1, { wantShutDown: true }).shouldShutDown).toBe(true)
    expect(harness.log.endOffset).toBe(endOffset)
  })
})
