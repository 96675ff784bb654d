import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import { cut, FaultWords } from '../../src/workers/fault-words.ts'
import { topicName } from '../support/worker-brokers.ts'
import { WorkerCluster } from '../support/worker-cluster.ts'

const zero = partitionIndex(0)
const topic = { 'segment.bytes': '16384', 'retention.bytes': '40000', 'file.delete.delay.ms': '0' }

function newCluster(changes: Record<string, string> = {}): WorkerCluster {
  const cluster = new WorkerCluster({
    topic: { ...topic, ...changes },
    config: {
      'replica.lag.time.max.ms': 500,
      'broker.session.timeout.ms': 60_000,
      'log.retention.check.interval.ms': 1_000,
      'log.flush.start.offset.checkpoint.interval.ms': 60_000,
    },
  })
  cluster.run(50)
  return cluster
}

/** Ten records of a kilobyte each, one after the other. */
function fill(cluster: WorkerCluster, batches: number): void {
  for (let at = 0; at < batches; at++) {
    cluster.produce(0, 1, 4_000)
    cluster.settle()
  }
}

function starts(cluster: WorkerCluster): number[] {
  return [1, 2, 3].map((broker) => cluster.node(broker).store.log(zero).logStartOffset)
}

function kinds(cluster: WorkerCluster): string[] {
  return cluster.news.flatMap((each) => [
    ...each.retentionNotes.map(({ kind, follower }) => `${kind} ${follower}`),
    ...each.catchUpNotes.map(({ kind }) => kind),
  ])
}

/** Follower 3 gets nothing, and is alive. */
function setCut(cluster: WorkerCluster, bits: number): void {
  new FaultWords(cluster.board).setFetchCut(brokerId(1), brokerId(3), bits)
}

function segments(cluster: WorkerCluster, broker: number): string[] {
  const names = fs.readdirSync(path.join(cluster.directory(broker), `${topicName}-0`))
  return names.filter((name) => name.endsWith('.log')).sort()
}

describe('retention on a running broker', () => {
  it('drops the oldest segments, and followers follow and drop theirs', () => {
    const cluster = newCluster()
    fill(cluster, 30)
    cluster.run(2_500)
    const [first] = starts(cluster)
    expect(first).toBeGreaterThan(0)
    expect(starts(cluster)).toEqual([first, first, first])
    expect([1, 2, 3].map((broker) => segments(cluster, broker))).toEqual(
      Array(3).fill(segments(cluster, 1)),
    )
    expect(segments(cluster, 1)[0]).toBe(`${String(first).padStart(20, '0')}.log`)
    // Before any file went the start was written down.
    const file = path.join(cluster.directory(1), 'log-start-offset-checkpoint')
    expect(fs.readFileSync(file, 'utf8')).toBe(`0\n1\n${topicName} 0 ${first}\n`)
    expect(cluster.news.flatMap(({ doomedFiles }) => doomedFiles).length).toBeGreaterThan(0)
    expect(kinds(cluster)).toEqual([])
  })

  it('takes no file away before the start is written down', () => {
    const cluster = newCluster()
    const { store } = cluster.node(1)
    store.logStarts.write = () => undefined
    fill(cluster, 30)
    cluster.run(2_500)
    expect(starts(cluster)[0]).toBeGreaterThan(0)
    expect(segments(cluster, 1)[0]).toBe('00000000000000000000.log')
  })

  it('warns before it overtakes a living follower, says so when it does, and it starts over', () => {
    const cluster = newCluster()
    fill(cluster, 8)
    setCut(cluster, cut.both)
    // With a tenth more data its next record's segment would go.
    while (!kinds(cluster).includes('near 3')) {
      expect(kinds(cluster)).toEqual([])
      fill(cluster, 1)
      cluster.run(1_100)
    }
    fill(cluster, 20)
    cluster.run(2_500)
    expect(kinds(cluster)).toEqual(['near 3', 'overtaken 3'])
    setCut(cluster, cut.nothing)
    cluster.converge()
    expect(kinds(cluster)).toEqual(['near 3', 'overtaken 3', 'startedOver'])
    expect(starts(cluster)[2]).toBe(starts(cluster)[0])
    expect(cluster.failures()).toEqual([])
  })

  it('holds back what a living follower lacks, for as long as it is told to', () => {
    const cluster = newCluster({ 'retention.follower.hold.ms': '5000' })
    fill(cluster, 8)
    setCut(cluster, cut.both)
    fill(cluster, 20)
    cluster.run(2_500)
    expect(kinds(cluster)).toEqual(['held 3'])
    const end = cluster.logEndOffset(3)
    expect(starts(cluster)[0]).toBeLessThanOrEqual(end)
    setCut(cluster, cut.nothing)
    cluster.converge()
    expect(kinds(cluster)).toEqual(['held 3'])
    cluster.run(2_500)
    expect(starts(cluster)[0]).toBeGreaterThan(end)
  })

  it('holds it back no longer than that', () => {
    const cluster = newCluster({ 'retention.follower.hold.ms': '5000' })
    fill(cluster, 8)
    setCut(cluster, cut.both)
    fill(cluster, 20)
    cluster.run(7_500)
    expect(kinds(cluster)).toEqual(['held 3', 'overtaken 3'])
    expect(starts(cluster)[0]).toBeGreaterThan(cluster.logEndOffset(3))
  })

  it('does not wait for a follower that is fenced', () => {
    const cluster = newCluster({ 'retention.follower.hold.ms': '60000' })
    fill(cluster, 8)
    cluster.kill(3)
    cluster.until('it is fenced', () => !cluster.controller.image.isActive(brokerId(3)), 90_000)
    fill(cluster, 20)
    cluster.run(2_500)
    expect(cluster.node(1).store.log(zero).logStartOffset).toBeGreaterThan(8)
    expect(kinds(cluster)).toEqual([])
  })
})
