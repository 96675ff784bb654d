import { describe, expect, it } from 'vitest'
import { outcomeOf } from '../client/leader-stub.ts'
import { committed, isWhole, openCluster, openWithTopic, produce, until } from './open-cluster.ts'

const one = { leaders: 'one', partitions: 1 } as const

describe('deleteRecords', () => {
  it('resolves when every replica starts there, and consumers are told', async () => {
    const { cluster } = await openWithTopic(one)
    await produce(cluster, 10, { partitions: 1 })
    expect(await cluster.deleteRecords('t', 0, 4)).toBe(4)
    const { replicas } = cluster.describe('t', 0)
    expect(replicas.map(({ logStartOffset }) => logStartOffset)).toEqual([4, 4, 4])
    const records = cluster.consume({ topic: 't', partition: 0, from: 0 })
    await expect(records.next()).rejects.toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' })
  })

  it('with -1 deletes all that is committed; what comes after stays', async () => {
    const { cluster } = await openWithTopic(one)
    await produce(cluster, 10, { partitions: 1 })
    expect(await cluster.deleteRecords('t', 0, -1)).toBe(10)
    await produce(cluster, 3, { partitions: 1, prefix: 'w' })
    const values: string[] = []
    for await (const { value } of cluster.consume({
      topic: 't',
      partition: 0,
      from: 10,
      until: 13,
    })) {
      values.push(Buffer.from(value!).toString())
    }
    expect(values).toEqual(['w0', 'w1', 'w2'])
    await until('all have it', () => isWhole(cluster, 1))
  })

  it('waits for a replica that is slow and alive, and not for one that is dead', async () => {
    const { cluster } = await openWithTopic(one, {
      config: { 'broker.session.timeout.ms': 60_000 },
    })
    await produce(cluster, 10, { partitions: 1 })
    await cluster.pause(3)
    const short = cluster.deleteRecords('t', 0, 5, { timeoutMs: 100 })
    await expect(short).rejects.toMatchObject({ code: 'REQUEST_TIMED_OUT' })
    const patient = outcomeOf(cluster.deleteRecords('t', 0, 6))
    cluster.resume(3)
    await until('it is done', () => patient.value !== undefined)
    expect(patient.value).toBe(6)
  })

  it('has it done by the living while a broker is fenced; that one follows when it is back', async () => {
    const { cluster } = await openWithTopic(one)
    await produce(cluster, 10, { partitions: 1 })
    await cluster.kill(3)
    await until('it is fenced', () => cluster.describe('t', 0).inSyncReplicas.length === 2)
    expect(await cluster.deleteRecords('t', 0, 8)).toBe(8)
    await cluster.restart(3)
    const [index] = cluster.partitionsOf('t')!
    await until(
      'it follows',
      () => cluster.board.logStartOffset(cluster.brokerIds[2]!, index!) === 8,
    )
    await until('it is whole', () => isWhole(cluster, 1))
  })

  it('empties a follower that has nothing of what is left, and goes on from there', async () => {
    const { cluster, events } = await openWithTopic(one)
    await produce(cluster, 5, { partitions: 1 })
    await cluster.kill(3)
    await produce(cluster, 5, { partitions: 1, prefix: 'w' })
    await until('it has left', () => cluster.describe('t', 0).inSyncReplicas.length === 2)
    await cluster.deleteRecords('t', 0, 9)
    await cluster.restart(3)
    await until('it is whole', () => isWhole(cluster, 1))
    const notes = events.flatMap((event) => (event.type === 'catchUpNote' ? [event.note] : []))
    expect(notes).toMatchObject([{ kind: 'startedOver', leader: 1 }])
    // The batch that holds offset 9 may begin before it.
    const [index] = cluster.partitionsOf('t')!
    await until('it starts there', () => {
      return cluster.board.logStartOffset(cluster.brokerIds[2]!, index!) === 9
    })
  })

  it('outlives a clean stop: what was deleted doesn’t come back', async () => {
    const { cluster } = await openWithTopic(one)
    await produce(cluster, 10, { partitions: 1 })
    await cluster.deleteRecords('t', 0, 7)
    await cluster.close()
    const { cluster: again } = await openCluster({ directory: cluster.directory })
    const records = again.consume({ topic: 't', partition: 0, from: 0 })
    await expect(records.next()).rejects.toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' })
    const [index] = again.partitionsOf('t')!
    expect(again.brokerIds.map((id) => again.board.logStartOffset(id, index!))).toEqual([7, 7, 7])
  })

  it.each([
    [11, 'OFFSET_OUT_OF_RANGE'],
    [-2, 'OFFSET_OUT_OF_RANGE'],
    [0.5, 'INVALID_ARGUMENT'],
  ])('refuses offset %d with %s and deletes nothing', async (offset, code) => {
    const { cluster } = await openWithTopic(one)
    await produce(cluster, 10, { partitions: 1 })
    await expect(cluster.deleteRecords('t', 0, offset)).rejects.toMatchObject({ code })
    expect(await committed(cluster)).toHaveLength(10)
  })

  it('is against the policy of a topic that is compacted only', async () => {
    const { cluster } = await openWithTopic({ ...one, config: { 'cleanup.policy': 'compact' } })
    const refused = { code: 'POLICY_VIOLATION', retriable: false }
    await expect(cluster.deleteRecords('t', 0, -1)).rejects.toMatchObject(refused)
  })

  it('fails when the leader ends before it answers, and later calls say so at once', async () => {
    const { cluster } = await openWithTopic({ ...one, replicationFactor: 1 })
    await cluster.pause(1)
    const waiting = outcomeOf(cluster.deleteRecords('t', 0, 0))
    await cluster.kill(1)
    await until('it has failed', () => waiting.value !== undefined)
    expect(waiting.value).toBe('BROKER_NOT_AVAILABLE')
    await expect(cluster.deleteRecords('t', 0, 0)).rejects.toMatchObject({ retriable: true })
  })
})
