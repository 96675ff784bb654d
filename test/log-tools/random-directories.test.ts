/** Directories of ours, made by a random workload, verify without a fault; so do replicas. */
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { verifyDirectories } from '../../src/log-tools/verify-directories.ts'
import { writeRandomLogs } from '../interop/random-log.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

describe('logs that rolled, were truncated and changed leaders', () => {
  it.each([1, 2, 3, 4, 5, 6])('are whole, and the same on leader and follower: seed %d', (seed) => {
    const parent = temporaryDirectory()
    const logs = writeRandomLogs(parent, seed)
    const brokers = logs.map(({ directory }) => path.dirname(directory))
    const { faults, checked } = verifyDirectories(brokers)
    expect(faults).toEqual([])
    expect(checked.partitions).toBe(2)
    expect(checked.records).toBe(2 * logs[0]!.records.length)
    expect(checked.comparedBatches * 2).toBe(checked.batches)
    expect(checked.indexEntries).toBeGreaterThan(20)
  })
})
