import { describe, expect, it } from 'vitest'
import { isTidemarkError } from '../../../src/errors.ts'
import { brokerId } from '../../../src/ids.ts'
import { MetadataImage } from '../../../src/replication/controller/metadata-image.ts'
import type { MetadataRecord } from '../../../src/replication/controller/metadata-records.ts'
import type {
  AlterPartitionResponse,
  ControllerResponse,
  MetadataSnapshot,
  MetadataUpdate,
} from '../../../src/replication/messages.ts'
import { ControllerHarness, contentsOf, incarnation } from './controller-harness.ts'
import { MemoryMetadataLog } from './memory-metadata-log.ts'

const subscriber = 5

function drain(harness: ControllerHarness): [number, ControllerResponse][] {
  const messages = harness.told
  harness.told = []
  harness.controller.takeOutgoing((connection, response) => messages.push([connection, response]))
  return messages
}

function subscribe(harness: ControllerHarness, connection: number, fromOffset: number): void {
  harness.controller.handle(connection, { type: 'subscribeMetadata', fromOffset })
}

/** A history with every kind of record that the controller writes. */
function busyHarness(): ControllerHarness {
  const harness = new ControllerHarness().start(1, 2, 3)
  harness.createTopic(
    't',
    Array.from({ length: 4 }, (_, i) => [1 + (i % 3), 1 + ((i + 1) % 3)]),
    {
      'min.insync.replicas': '2',
      'unclean.leader.election.enable': 'true',
    },
  )
  harness.createTopic('u', [[1, 2, 3]])
  harness.proposeOne(4, [1, 2])
  harness.silence(2)
  harness.heartbeat(3, { wantShutDown: true })
  harness.register(1, { incarnationId: incarnation(1, 2), previousIncarnationEnded: true })
  harness.heartbeat(1)
  harness.heartbeat(2)
  return harness
}

describe('the order of a request', () => {
  it('the update of what was committed goes out before the answer', () => {
    const harness = new ControllerHarness().start(1, 2)
    harness.createTopic('t', [[1, 2]])
    subscribe(harness, subscriber, harness.log.endOffset)
    drain(harness)
    const baseOffset = harness.log.endOffset
    harness.controller.handle(7, {
      type: 'alterPartition',
      correlationId: 77,
      brokerId: harness.partition(0).leader,
      brokerEpoch: harness.epochOf(1),
      items: [harness.item(0, [1])],
    })
    const messages = drain(harness)
    expect(messages.map(([connection, { type }]) => [connection, type])).toEqual([
      [subscriber, 'metadataUpdate'],
      [7, 'alterPartitionResponse'],
    ])
    expect(messages[0][1]).toMatchObject({ baseOffset, records: [{ isr: [1] }] })
    expect(messages[1][1]).toMatchObject({ correlationId: 77, items: [{ error: 'NONE' }] })
  })

  it('what is refused is told to nobody else', () => {
    const harness = new ControllerHarness().start(1)
    subscribe(harness, subscriber, 0)
    drain(harness)
    harness.propose(1, [], { brokerEpoch: 99 })
    expect(drain(harness)).toEqual([])
  })

  it('a newcomer gets the state where it is shorter than its history, and the history else', () => {
    const harness = new ControllerHarness().start(1, 2)
    harness.createTopic('t', [[1, 2]])
    const answerTo = (fromOffset: number): ControllerResponse => {
      subscribe(harness, subscriber, fromOffset)
      return drain(harness).at(-1)![1]
    }
    expect(answerTo(0).type).toBe('metadataUpdate')
    for (let life = 2; harness.log.endOffset < 300; life += 1) {
      harness.register(1, {
        incarnationId: incarnation(1, life),
        previousIncarnationEnded: true,
      })
      harness.heartbeat(1)
    }
    const state = answerTo(0)
    expect(state).toMatchObject({ type: 'metadataSnapshot', endOffset: harness.log.endOffset })
    const image = new MetadataImage()
    const { records, endOffset } = state as MetadataSnapshot
    expect(records.length * 2).toBeLessThan(endOffset)
    image.load(records, endOffset)
    expect(contentsOf(image)).toEqual(contentsOf(harness.image))
    // Whoever knows something goes on from there.
    expect(answerTo(1)).toMatchObject({ type: 'metadataUpdate', baseOffset: 1 })
  })

  it('fencing is told without anybody having asked', () => {
    const harness = new ControllerHarness().start(1)
    harness.createTopic('t', [[1]])
    subscribe(harness, subscriber, harness.log.endOffset)
    drain(harness)
    harness.silence(1)
    const [[connection, update]] = drain(harness)
    expect(connection).toBe(subscriber)
    expect((update as MetadataUpdate).records.map(({ type }) => type)).toEqual([
      'partitionChange',
      'brokerRegistrationChange',
    ])
  })
})

describe('subscriptions', () => {
  it('an image fed by updates alone equals the controller’s, from any offset', () => {
    const whole = busyHarness()
    for (let from = 0; from <= whole.log.endOffset; from++) {
      const harness = new ControllerHarness(whole.log.cutAt(whole.log.endOffset))
      const image = new MetadataImage()
      const before: MetadataRecord[] = []
      whole.log.cutAt(from).replay(0, (record) => before.push(record))
      image.replayAll(0, before)
      subscribe(harness, subscriber, from)
      harness.createTopic('later', [[1, 2]])
      for (const [, message] of drain(harness)) {
        if (message.type === 'metadataUpdate') image.replayAll(message.baseOffset, message.records)
      }
      expect(image.topicNamed('later')).toBeDefined()
      expect(contentsOf(image)).toEqual(contentsOf(harness.image))
    }
  })

  it('is answered at once, even when there is nothing new', () => {
    const harness = new ControllerHarness().start(1)
    const { endOffset } = harness.log
    subscribe(harness, subscriber, endOffset)
    expect(drain(harness)).toEqual([
      [subscriber, { type: 'metadataUpdate', baseOffset: endOffset, records: [] }],
    ])
  })

  it('a subscriber that is ahead is shown that we are not', () => {
    const harness = new ControllerHarness().start(1)
    const { endOffset } = harness.log
    subscribe(harness, subscriber, endOffset + 5)
    expect(drain(harness)[0][1]).toMatchObject({ baseOffset: endOffset, records: [] })
  })

  it('ends with the connection, and so does what was still to be sent on it', () => {
    const harness = new ControllerHarness().start(1)
    subscribe(harness, subscriber, 0)
    subscribe(harness, subscriber + 1, 0)
    harness.controller.connectionClosed(subscriber)
    expect(drain(harness).map(([connection]) => connection)).toEqual([subscriber + 1])
    harness.controller.handle(subscriber + 1, {
      type: 'createTopic',
      correlationId: 1,
      topic: 't',
      assignments: [[harness.image.activeBrokers()[0]]],
      configs: {},
    })
    expect(new Set(drain(harness).map(([connection]) => connection))).toEqual(
      new Set([subscriber + 1]),
    )
    expect(harness.image.topicNamed('t')).toBeDefined()
  })

  it('subscribing anew replaces the subscription: nothing comes twice', () => {
    const harness = new ControllerHarness().start(1)
    subscribe(harness, subscriber, 0)
    subscribe(harness, subscriber, harness.log.endOffset)
    drain(harness)
    harness.heartbeat(1, { wantFence: true })
    expect(drain(harness)).toHaveLength(1)
  })
})

describe('restart', () => {
  it('replays to the same image at every record boundary', () => {
    const harness = busyHarness()
    const image = new MetadataImage()
    const seen = new Set<string>()
    harness.log.replay(0, (record, offset) => {
      seen.add(record.type)
      image.replay(record, offset)
      const restarted = new ControllerHarness(harness.log.cutAt(offset + 1))
      expect(contentsOf(restarted.image)).toEqual(contentsOf(image))
      expect(restarted.log.endOffset).toBe(offset + 1)
    })
    expect(contentsOf(harness.image)).toEqual(contentsOf(image))
    expect([...seen].sort()).toEqual([
      'brokerRegistrationChange',
      'config',
      'featureLevel',
      'partition',
      'partitionChange',
      'registerBroker',
      'topic',
    ])
  })

  it('knows the epochs of brokers of before', () => {
    const { log } = new ControllerHarness().start(1)
    const restarted = new ControllerHarness(log)
    expect(restarted.heartbeat(1)).toMatchObject({ error: 'NONE', isFenced: false })
    expect(restarted.heartbeat(1, { brokerEpoch: 0 }).error).toBe('STALE_BROKER_EPOCH')
  })

  it('a log that does not replay is refused', () => {
    const log = new MemoryMetadataLog()
    log.append([{ type: 'removeTopic', topicId: incarnation(1) }])
    let caught: unknown
    try {
      new ControllerHarness(log)
    } catch (error) {
      caught = error
    }
    expect(isTidemarkError(caught, 'CORRUPT_MESSAGE')).toBe(true)
  })
})

describe('a log that fails', () => {
  it('changes nothing, is the answer, and stays so', () => {
    const harness = new ControllerHarness().start(1, 2)
    harness.createTopic('t', [[1, 2]])
    harness.controller.takeEvents()
    subscribe(harness, subscriber, harness.log.endOffset)
    drain(harness)
    const before = contentsOf(harness.image)
    harness.log.failing = true
    expect(harness.propose(1, [harness.item(0, [1])])).toMatchObject({
      error: 'KAFKA_STORAGE_ERROR',
      items: [],
    })
    harness.log.failing = false
    expect(harness.createTopic('u', [[1]]).error).toBe('KAFKA_STORAGE_ERROR')
    expect(harness.register(3).error).toBe('KAFKA_STORAGE_ERROR')
    expect(harness.heartbeat(1, { wantFence: true }).error).toBe('KAFKA_STORAGE_ERROR')
    expect(contentsOf(harness.image)).toEqual(before)
    expect(drain(harness)).toEqual([])
    expect(harness.controller.takeEvents()).toEqual([])
    expect(harness.controller.failure?.message).toBe('no space left')
  })

  it('what needs no record is answered; nobody is fenced, nor is it tried for ever', () => {
    const harness = new ControllerHarness().start(1, 2)
    harness.log.failing = true
    harness.clock.advance(10_000)
    expect(harness.controller.step(harness.clock.nowMs())).toBe(0)
    expect(harness.controller.nextStepMs()).toBe(Number.POSITIVE_INFINITY)
    expect(harness.controller.step(harness.clock.nowMs())).toBe(0)
    expect(harness.heartbeat(1)).toMatchObject({ error: 'NONE', isFenced: false })
  })
})

describe('events', () => {
  it('are taken once, and bounded when nobody takes them', () => {
    const harness = new ControllerHarness().start(1)
    expect(harness.controller.takeEvents().map(({ kind }) => kind)).toEqual([
      'registered',
      'unfenced',
    ])
    expect(harness.controller.takeEvents()).toEqual([])
    const brokerId = harness.image.activeBrokers()[0]
    const stale = { type: 'alterPartition', brokerId, brokerEpoch: -2 } as const
    for (let at = 1; at <= 10_001; at++) {
      harness.controller.handle(0, { ...stale, correlationId: at, items: [] })
    }
    expect(harness.controller.eventsDropped).toBe(1)
    expect(harness.controller.takeEvents()).toHaveLength(10_000)
  })
})

describe('a proposal that the network repeats', () => {
  /** 2 has left partition 0 of its leader 1; the proposal that takes it back in, and its answer. */
  function refused() {
    const harness = new ControllerHarness().start(1, 2)
    harness.createTopic('t', [[1, 2]])
    expect(harness.proposeOne(0, [1]).error).toBe('NONE')
    const request = {
      type: 'alterPartition',
      correlationId: 100,
      brokerId: brokerId(1),
      brokerEpoch: harness.epochOf(1),
      items: [harness.item(0, [1, 2])],
    } as const
    harness.silence(2)
    const answer = harness.ask(request) as AlterPartitionResponse
    expect(answer.items.map(({ error }) => error)).toEqual(['INELIGIBLE_REPLICA'])
    harness.heartbeat(2)
    expect(harness.image.activeBrokers()).toContain(2)
    return { harness, request }
  }

  it('is not committed after its refusal: its leader has gone back to the old members', () => {
    const { harness, request } = refused()
    for (const correlationId of [100, 99]) {
      harness.controller.handle(0, { ...request, correlationId })
      let answers = 0
      harness.controller.takeOutgoing(() => {
        answers += 1
      })
      expect([answers, harness.partition(0).inSyncReplicas]).toEqual([0, [1]])
    }
  })

  it('is decided when it is a new one, or one of a new life', () => {
    const { harness, request } = refused()
    const again = harness.ask({ ...request, correlationId: 101 }) as AlterPartitionResponse
    expect(again.items.map(({ error }) => error)).toEqual(['NONE'])
    expect(harness.partition(0).inSyncReplicas).toEqual([1, 2])
    const other = { ...request, correlationId: 1, brokerEpoch: request.brokerEpoch + 5 }
    expect((harness.ask(other) as AlterPartitionResponse).error).toBe('STALE_BROKER_EPOCH')
  })
})
