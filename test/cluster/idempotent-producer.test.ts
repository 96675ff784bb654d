/** Every value exactly once, however often leaders die with batches in flight. */
import { describe, expect, it } from 'vitest'
import { openWithTopic, until } from './open-cluster.ts'

describe('an idempotent producer', () => {
  it('has every value in the log exactly once while leaders are killed again and again', async () => {
    // In sync for longer than a busy machine lets a thread wait: with one replica left in sync its
    // death would leave a partition without a leader.
    const { cluster } = await openWithTopic(
      { partitions: 2, config: { 'min.insync.replicas': 2, 'segment.bytes': 16_384 } },
      { config: { 'replica.lag.time.max.ms': 10_000 } },
    )
    const producer = cluster.producer({ batchBytes: 400 })
    let sent = 0
    let answered = 0
    let isOver = false
    const errors: string[] = []
    const send = async (partition: number) => {
      while (!isOver) {
        const value = `${partition}-${sent++}`
        try {
          await producer.send({ topic: 't', partition, value })
          answered += 1
        } catch (error) {
          errors.push(String(error))
          return
        }
      }
    }
    const senders = Array.from({ length: 60 }, (_, at) => send(at % 2))
    for (let round = 0; round < 6; round += 1) {
      const before = answered
      await until('producers go on', () => answered > before + 300)
      const leader = cluster.describe('t', round % 2).leader
      await cluster.kill(leader)
      await cluster.restart(leader)
    }
    isOver = true
    await Promise.all(senders)
    await producer.close()
    expect(errors).toEqual([])
    const values: string[] = []
    for (const partition of [0, 1]) {
      const { highWatermark } = cluster.describe('t', partition)
      const records = cluster.consume({ topic: 't', partition, from: 0 })
      for await (const { offset, value } of records) {
        values.push(Buffer.from(value!).toString())
        if (offset + 1 >= highWatermark) break
      }
    }
    expect(answered).toBe(sent)
    expect(new Set(values).size).toBe(sent)
    expect(values).toHaveLength(sent)
  }, 90_000)

  it('has an id that no other producer has, of this life or one before', async () => {
    const { cluster } = await openWithTopic({ partitions: 1 })
    for (let at = 0; at < 3; at += 1) {
      const producer = cluster.producer()
      await producer.send({ topic: 't', partition: 0, value: `of ${at}` })
      await producer.close()
    }
    expect(cluster.describe('t', 0).logEndOffset).toBe(3)
  })
})
