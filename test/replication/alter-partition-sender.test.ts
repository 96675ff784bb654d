/** Numbers are those of the conformance list: Apache Kafka's `AlterPartitionManagerTest`. */
import { describe, expect, it } from 'vitest'
import type { ErrorCode } from '../../src/errors.ts'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import {
  AlterPartitionSender,
  type ProposalReceiver,
} from '../../src/replication/alter-partition-sender.ts'
import type {
  AlterPartitionItem,
  AlterPartitionRequest,
  AlterPartitionResponse,
} from '../../src/replication/messages.ts'
import { applied, startMs } from './led-fixture.ts'

const self = brokerId(1)

function item(partition: number): AlterPartitionItem {
  return {
    partition: partitionIndex(partition),
    leaderEpoch: 5,
    partitionEpoch: 10,
    newInSyncReplicas: [{ brokerId: self, brokerEpoch: 101 }],
    leaderRecoveryState: 'recovered',
  }
}

class Sending implements ProposalReceiver {
  readonly sender = new AlterPartitionSender()
  readonly answers: [number, string][] = []
  nowMs = startMs
  epoch = 101
  onAnswer: (answered: AlterPartitionItem) => void = () => undefined

  proposalAnswered(answered: AlterPartitionItem, { error }: { error: string }): void {
    this.answers.push([answered.partition, error])
    this.onAnswer(answered)
  }

  take(): AlterPartitionRequest | undefined {
    return this.sender.takeRequest(self, () => this.epoch, this.nowMs)
  }

  partitions(): number[] | undefined {
    return this.take()?.items.map(({ partition }) => partition)
  }

  answer(
    request: AlterPartitionRequest,
    items = request.items.map(applied),
    error: AlterPartitionResponse['error'] = 'NONE',
  ): boolean {
    const { correlationId } = request
    return this.sender.onResponse(
      { type: 'alterPartitionResponse', correlationId, error, items },
      this,
      this.nowMs,
    )
  }
}

describe('the sender', () => {
  it('38. the same partition twice before the answer: the second is not attempted', () => {
    const sending = new Sending()
    expect(sending.sender.trySubmit(item(0))).toBe(true)
    expect(sending.sender.trySubmit(item(0))).toBe(false)
    const request = sending.take()!
    expect(sending.sender.trySubmit(item(0))).toBe(false)
    sending.answer(request)
    expect(sending.sender.trySubmit(item(0))).toBe(true)
  })

  it('39. nine submitted under way go together; with the one the answer left out, ten', () => {
    for (const isAnswered of [true, false]) {
      const sending = new Sending()
      sending.sender.trySubmit(item(0))
      const request = sending.take()!
      for (let partition = 1; partition <= 9; partition += 1) {
        sending.sender.trySubmit(item(partition))
        expect(sending.take()).toBeUndefined()
      }
      sending.answer(request, isAnswered ? request.items.map(applied) : [])
      expect(sending.partitions()).toHaveLength(isAnswered ? 9 : 10)
    }
  })

  it('40. what is submitted from within an error answer goes into the next request at once', () => {
    const sending = new Sending()
    sending.sender.trySubmit(item(0))
    const request = sending.take()!
    sending.onAnswer = (answered) => {
      expect(sending.sender.trySubmit(answered)).toBe(true)
      expect(sending.take()).toBeUndefined()
    }
    const refused = request.items.map((sent) => ({
      ...applied(sent),
      error: 'UNKNOWN_SERVER_ERROR' as const,
    }))
    sending.answer(request, refused)
    expect(sending.partitions()).toEqual([0])
  })

  it.each<ErrorCode>([
    'STALE_BROKER_EPOCH',
    'CLUSTER_AUTHORIZATION_FAILED',
    'UNKNOWN_SERVER_ERROR',
    'NETWORK_EXCEPTION',
    'UNSUPPORTED_VERSION',
    'NOT_CONTROLLER',
  ])('41. %s of the whole request keeps the items, and pauses 50 ms', (error) => {
    const sending = new Sending()
    sending.sender.trySubmit(item(0))
    sending.answer(sending.take()!, [], error)
    expect(sending.answers).toEqual([])
    sending.nowMs += 49
    expect(sending.take()).toBeUndefined()
    sending.nowMs += 1
    sending.epoch = 102
    expect(sending.take()).toMatchObject({ brokerEpoch: 102, items: [{ partition: 0 }] })
  })

  it('42. an error of a partition removes its item and tells it', () => {
    const sending = new Sending()
    sending.sender.trySubmit(item(0))
    sending.sender.trySubmit(item(1))
    const request = sending.take()!
    const results = request.items.map(applied)
    sending.answer(request, [{ ...results[0], error: 'INVALID_UPDATE_VERSION' }, results[1]])
    expect(sending.answers).toEqual([
      [0, 'INVALID_UPDATE_VERSION'],
      [1, 'NONE'],
    ])
    expect(sending.take()).toBeUndefined()
    expect(sending.sender.size).toBe(0)
  })

  it('NOT_CONTROLLER for one partition keeps that one alone for the next controller', () => {
    const sending = new Sending()
    sending.sender.trySubmit(item(0))
    sending.sender.trySubmit(item(1))
    const request = sending.take()!
    const results = request.items.map(applied)
    sending.answer(request, [{ ...results[0], error: 'NOT_CONTROLLER' }, results[1]])
    expect(sending.answers).toEqual([[1, 'NONE']])
    expect(sending.take()).toBeUndefined()
    sending.nowMs += 50
    expect(sending.partitions()).toEqual([0])
  })

  it('takes only the answer of the request under way: late and repeated ones are dropped', () => {
    const sending = new Sending()
    sending.sender.trySubmit(item(0))
    const lost = sending.take()!
    sending.sender.onConnectionLost(sending.nowMs)
    expect(sending.answer(lost)).toBe(false)
    sending.nowMs += 50
    const again = sending.take()!
    expect(again.correlationId).not.toBe(lost.correlationId)
    expect(sending.answer(lost)).toBe(false)
    expect(sending.answer(again)).toBe(true)
    expect(sending.answer(again)).toBe(false)
    expect(sending.answers).toEqual([[0, 'NONE']])
  })

  it('has nothing to send again when nothing was under way', () => {
    const sending = new Sending()
    sending.sender.onConnectionLost(sending.nowMs)
    sending.sender.trySubmit(item(0))
    expect(sending.partitions()).toEqual([0])
  })
})
