/** What lies in the logs of a WorkerCluster, and whether it is what it should be. */
import fs from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { batchPositions, checkBatch } from '../../src/log/batch-header.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { readRecords } from '../../src/log/record-reader.ts'
import { topicName } from './worker-brokers.ts'
import type { WorkerCluster } from './worker-cluster.ts'

/** All segment bytes of a replica, in order. */
export function logBytes(cluster: WorkerCluster, broker: number, partition = 0): Buffer {
  const directory = path.join(cluster.directory(broker), `${topicName}-${partition}`)
  const names = fs.readdirSync(directory).filter((name) => name.endsWith('.log'))
  return Buffer.concat(names.sort().map((name) => fs.readFileSync(path.join(directory, name))))
}

/** Values of a replica's records by offset; fails at a gap in offsets or a damaged batch. */
export function logValues(cluster: WorkerCluster, broker: number, partition = 0): string[] {
  const bytes = logBytes(cluster, broker, partition)
  const memory = batchMemory(bytes.buffer, bytes.byteOffset, bytes.length)
  const positions = new Int32Array(bytes.length / 61 + 1)
  const count = batchPositions(memory, 0, bytes.length, positions)
  const values: string[] = []
  for (const position of positions.subarray(0, count)) {
    expect(checkBatch(memory, position, bytes.length - position)).toBeUndefined()
    for (const { offset, value } of readRecords(memory, position)) {
      expect(offset).toBe(values.length)
      values.push(Buffer.from(value!).toString())
    }
  }
  return values
}

/** Logs of all replicas are byte-identical, hold no value twice and all that was acknowledged. */
export function expectSameLogs(cluster: WorkerCluster): void {
  expect(cluster.failures()).toEqual([])
  for (let partition = 0; partition < cluster.partitions; partition++) {
    const { replicas, leader } = cluster.registration(partition)
    const bytes = logBytes(cluster, leader, partition)
    for (const replica of replicas) {
      expect(logBytes(cluster, replica, partition).equals(bytes)).toBe(true)
    }
    const values = logValues(cluster, leader, partition)
    expect(values.length).toBe(cluster.logEndOffset(leader, partition))
    expect(new Set(values).size).toBe(values.length)
  }
  expectNothingLost(cluster)
}

/** Every batch acknowledged to an acks=all producer is where the answer said. */
export function expectNothingLost(cluster: WorkerCluster): void {
  for (let partition = 0; partition < cluster.partitions; partition++) {
    const values = logValues(cluster, cluster.leader(partition), partition)
    for (const batch of cluster.acknowledged) {
      if (batch.partition !== partition || batch.error !== 'NONE' || batch.acks !== -1) continue
      expect(values.slice(batch.baseOffset, batch.baseOffset + batch.values.length)).toEqual(
        batch.values,
      )
    }
  }
}
