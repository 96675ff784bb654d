import path from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import { logConfigDefaults } from '../../src/log/log-config.ts'
import { PartitionLog } from '../../src/log/partition-log.ts'
import { verifyDirectories } from '../../src/log-tools/verify-directories.ts'
import { runOfRecords, textRecords } from '../support/batch-builder.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { writeBroker } from './broker-directory.ts'
import { MemoryFiles } from './memory-files.ts'

let directory: string

beforeEach(() => {
  directory = temporaryDirectory()
})

/** A replica of `t-0` whose batches hold those texts; the leader epoch of each is given. */
function writeReplica(name: string, batches: readonly (readonly [number, string])[]): string {
  const partition = path.join(directory, name, 't-0')
  const log = PartitionLog.open({
    directory: partition,
    topic: 't',
    partition: 0,
    config: { ...logConfigDefaults, segmentBytes: 300 },
    clock: new ManualClock(),
    cleanShutdown: false,
  })
  for (const [leaderEpoch, text] of batches) {
    log.append(runOfRecords(textRecords(2, text)), leaderEpoch)
  }
  log.close()
  return partition
}

function faults(...partitions: string[]): string[] {
  return verifyDirectories(partitions).faults.map(({ check, offset, expected, found }) => {
    const shown = expected.replace(/, as in .*/, '')
    return `${check} @${offset}: expected ${shown}, found ${found}`
  })
}

describe('replicas', () => {
  it('that agree as far as the shorter goes have no fault', () => {
    const one = writeReplica('a', [
      [0, 'one'],
      [0, 'two'],
      [1, 'three'],
      [1, 'four'],
    ])
    const other = writeReplica('b', [
      [0, 'one'],
      [0, 'two'],
      [1, 'three'],
    ])
    expect(faults(one, other)).toEqual([])
    expect(verifyDirectories([one, other]).checked.comparedBatches).toBe(3)
  })

  it('that differ within an epoch are told once where it begins', () => {
    const one = writeReplica('a', [
      [0, 'one'],
      [0, 'two'],
      [0, 'three'],
      [0, 'four'],
    ])
    const other = writeReplica('b', [
      [0, 'one'],
      [0, 'twx'],
      [0, 'threx'],
      [0, 'four'],
    ])
    expect(faults(one, other)).toEqual([
      expect.stringMatching(/^replica @2: expected byte \d+ at 1\d of the batch, found \d+$/),
    ])
    const longer = writeReplica('c', [
      [0, 'one'],
      [0, 'longer'],
      [0, 'three'],
      [0, 'four'],
    ])
    expect(faults(one, longer)).toEqual([
      'replica @2: expected a batch of 85 bytes, found 91 bytes',
    ])
  })

  it('that differ by epoch differ in what was committed, unless a high watermark says no', () => {
    const one = writeReplica('a', [
      [0, 'one'],
      [2, 'two'],
    ])
    const other = writeReplica('b', [
      [0, 'one'],
      [1, 'was never committed'],
    ])
    expect(faults(one, other)).toEqual(['replica @2: expected leader epoch 2, found 1'])
  })

  it('are compared up to the high watermarks of their brokers where epochs differ', () => {
    for (const [nodeId, name] of [
      [1, 'x'],
      [2, 'y'],
    ] as const) {
      writeBroker({ directory: path.join(directory, name), nodeId })
    }
    const files = new MemoryFiles(directory)
    const log = path.join(directory, 'y', 't-1', '00000000000000000006.log')
    const judge = () => verifyDirectories([directory], { fs: files.fs })
    expect(judge().faults).toEqual([])
    expect(judge().checked.comparedBatches).toBe(12)
    const replicaFaults = () => judge().faults.filter(({ check }) => check === 'replica')
    // The epoch of its second batch, offsets 7 to 18: epoch 5 becomes 4.
    const batch = files.bytes(log).indexOf(2, 60) - 16
    files.flip(log, 8 * (batch + 15))
    const committed = path.join(directory, 'y', 'replication-offset-checkpoint')
    files.replace(committed, Buffer.from('0\n2\nt 0 20\nt 1 7\n'))
    expect(replicaFaults()).toEqual([])
    // Any offset of the batch that is committed makes it so.
    files.replace(committed, Buffer.from('0\n2\nt 0 20\nt 1 8\n'))
    expect(replicaFaults()).toHaveLength(1)
  })

  it('are of one cluster, in directories of their own', () => {
    for (const name of ['x', 'y']) writeBroker({ directory: path.join(directory, name) })
    const files = new MemoryFiles(directory)
    const judge = () => verifyDirectories([directory], { fs: files.fs }).faults
    expect(judge().map(({ expected }) => expected)).toEqual([
      expect.stringMatching(/^a directory.id of its own/),
    ])
    files.replace(
      path.join(directory, 'y', 'meta.properties'),
      Buffer.from('version=1\ncluster.id=other\nnode.id=2\n'),
    )
    expect(judge().map(({ expected }) => expected)).toEqual([
      'cluster.id bits, as in the first directory',
    ])
  })
})
