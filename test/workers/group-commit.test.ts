/** A topic that wants each append on disk: what a broker does in which order. */
import { describe, expect, it } from 'vitest'
import { WorkerCluster } from '../support/worker-cluster.ts'

const durable = {
  assignments: [
    [1, 2],
    [1, 2],
    [1, 2],
  ],
  brokers: 2,
  topic: { 'flush.messages': '1' },
} as const

/** What a broker's disk is asked for, and what others may see meanwhile. */
function watch(cluster: WorkerCluster, broker: number): string[] {
  const calls: string[] = []
  const disk = cluster.disk(broker)
  const { dataSync } = disk
  const writes = ['write', 'writev'] as const
  for (const name of writes) {
    const inner = disk[name].bind(disk) as (...args: unknown[]) => number
    disk[name] = (...args: unknown[]) => {
      const written = inner(...args)
      if (written > 60) calls.push('write')
      return written
    }
  }
  disk.dataSync = (fd) => {
    dataSync.call(disk, fd)
    const ends = [0, 1, 2].map((partition) =>
      cluster.board.logEndOffset(broker as never, partition as never),
    )
    calls.push(`sync ${ends.join(' ')}`)
  }
  return calls
}

describe('a round over several partitions', () => {
  it('is written, then synced, and each partition is shown when it is on disk', () => {
    const cluster = new WorkerCluster(durable)
    for (const broker of [1, 2]) {
      for (const partition of [0, 1, 2]) cluster.produce(partition, 1, 100)
      // The first appends make files and epochs, which are synced as well.
      cluster.settle()
      for (const partition of [0, 1, 2]) cluster.produce(partition, 1, 100)
      if (broker === 2) while (cluster.logEndOffset(1) < 4) cluster.step(1)
      const calls = watch(cluster, broker)
      const before = [0, 1, 2].map((at) => cluster.board.logEndOffset(broker as never, at as never))
      cluster.step(broker)
      const [first] = before
      expect(before).toEqual([first, first, first])
      expect(calls).toEqual([
        'write',
        'write',
        'write',
        `sync ${first} ${first} ${first}`,
        `sync ${first! + 1} ${first} ${first}`,
        `sync ${first! + 1} ${first! + 1} ${first}`,
      ])
      cluster.settle()
    }
    expect(cluster.acknowledged.every(({ error }) => error === 'NONE')).toBe(true)
  })

  it('answers what is on disk, and refuses what failed to get there', () => {
    const cluster = new WorkerCluster(durable)
    for (const partition of [0, 1, 2]) cluster.produce(partition, 1, 100)
    cluster.settle()
    const disk = cluster.disk(1)
    let syncs = 0
    disk.dataSync = () => {
      syncs += 1
      if (syncs === 2) throw Object.assign(new Error('EIO: injected'), { code: 'EIO' })
    }
    const tickets = [0, 1, 2].map((partition) => cluster.produce(partition, 1, 100, 1))
    cluster.step(1)
    cluster.pollAcks()
    expect(syncs).toBe(3)
    expect(tickets.map((ticket) => cluster.answer(ticket)?.error)).toEqual([
      'NONE',
      'KAFKA_STORAGE_ERROR',
      'NONE',
    ])
  })
})
