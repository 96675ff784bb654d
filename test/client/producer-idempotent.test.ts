/** An idempotent producer: numbers that a leader knows batches by, and what may come again. */
import { describe, expect, it } from 'vitest'
import { ProducerFixture, type TakenBatch } from './leader-stub.ts'

function fixture() {
  const world = new ProducerFixture()
  const producer = world.producer({ idempotent: true, batchBytes: 0 })
  const results: string[] = []
  const send = (value: string, partition = 0): void => {
    producer.send({ topic: 't', partition, value }).then(
      ({ offset }) => results.push(`${value} at ${offset}`),
      (error: { code: string }) => results.push(`${value}: ${error.code}`),
    )
  }
  return { ...world, world, leader: world.leader, send, results }
}

const numbers = (batches: readonly TakenBatch[]) => batches.map(({ sequence }) => sequence)
const values = (batches: readonly TakenBatch[]) => batches.flatMap((batch) => batch.values)

describe('an idempotent producer', () => {
  it('numbers the records of each partition, and has five batches in flight at most', async () => {
    const { world, leader, send, results } = fixture()
    for (const value of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) send(value)
    send('other', 1)
    await world.pass(5)
    const first = leader.take()
    expect(values(first)).toEqual(['a', 'b', 'c', 'd', 'e', 'other'])
    expect(numbers(first)).toEqual([
      [7, 0, 0],
      [7, 0, 1],
      [7, 0, 2],
      [7, 0, 3],
      [7, 0, 4],
      [7, 0, 0],
    ])
    leader.answer(first[0]!)
    await world.pass(5)
    expect(numbers(leader.take())).toEqual([[7, 0, 5]])
    expect(results).toEqual(['a at 0'])
  })

  it('sends nothing that lies five beyond one that is unanswered', async () => {
    const { world, leader, send } = fixture()
    for (const value of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) send(value)
    await world.pass(5)
    const [a, ...others] = leader.take()
    for (const batch of others) leader.answer(batch)
    await world.pass(5)
    // A leader that took one more would not know `a` again.
    expect(leader.take()).toEqual([])
    leader.answer(a!, 'NOT_LEADER_OR_FOLLOWER')
    await world.pass(60)
    expect(values(leader.take())).toEqual(['a'])
  })

  it('sends again under the same numbers what a leader took to its grave', async () => {
    const { world, leader, send, results } = fixture()
    for (const value of ['a', 'b']) send(value)
    await world.pass(5)
    const first = leader.take()
    leader.dieAndReturn()
    await world.pass(50)
    const again = leader.take()
    expect(numbers(again)).toEqual(numbers(first))
    for (const batch of again) leader.answer(batch)
    await world.pass(5)
    expect(results).toEqual(['a at 0', 'b at 1'])
  })

  it('keeps the order when the first of many is refused', async () => {
    const { world, leader, send, results } = fixture()
    for (const value of ['a', 'b', 'c']) send(value)
    await world.pass(5)
    const [a, b, c] = leader.take()
    leader.answer(a!, 'NOT_ENOUGH_REPLICAS')
    leader.answer(b!, 'OUT_OF_ORDER_SEQUENCE_NUMBER')
    await world.pass(5)
    leader.answer(c!, 'OUT_OF_ORDER_SEQUENCE_NUMBER')
    await world.pass(60)
    const again = leader.take()
    expect(values(again)).toEqual(['a', 'b', 'c'])
    expect(numbers(again)).toEqual(numbers([a!, b!, c!]))
    for (const batch of again) leader.answer(batch)
    await world.pass(5)
    expect(results).toEqual(['a at 0', 'b at 1', 'c at 2'])
  })

  it('begins anew, in a higher epoch, when its numbers are certainly not in the log', async () => {
    const { world, leader, send, results } = fixture()
    for (const value of ['a', 'b']) send(value)
    await world.pass(5)
    const [a, b] = leader.take()
    leader.answer(a!, 'OUT_OF_ORDER_SEQUENCE_NUMBER')
    await world.pass(40)
    // While one of the old numbers is in flight nothing is sent.
    expect(leader.take()).toEqual([])
    leader.answer(b!, 'OUT_OF_ORDER_SEQUENCE_NUMBER')
    await world.pass(60)
    const again = leader.take()
    expect(values(again)).toEqual(['a', 'b'])
    expect(numbers(again)).toEqual([
      [7, 1, 0],
      [7, 1, 1],
    ])
    for (const batch of again) leader.answer(batch)
    await world.pass(5)
    expect(results).toEqual(['a at 0', 'b at 1'])
  })

  it('tells whoever sent it when nobody knows whether it is in the log', async () => {
    const { world, leader, send, results } = fixture()
    send('a')
    await world.pass(5)
    leader.answer(leader.take()[0]!, 'REQUEST_TIMED_OUT')
    await world.pass(50)
    leader.answer(leader.take()[0]!, 'OUT_OF_ORDER_SEQUENCE_NUMBER')
    await world.pass(5)
    expect(results).toEqual(['a: OUT_OF_ORDER_SEQUENCE_NUMBER'])
    send('b')
    await world.pass(5)
    expect(numbers(leader.take())).toEqual([[7, 1, 0]])
  })

  it('is not to be had without acks of all', () => {
    const world = new ProducerFixture()
    expect(() => world.producer({ idempotent: true, acks: 1 })).toThrow("needs acks = 'all'")
    expect(() => world.producer({ idempotent: 'yes' as unknown as boolean })).toThrow('true, false')
  })
})
