/** A small directory of a broker, as it is after a clean shutdown. */
import path from 'node:path'
import { ManualClock } from '../../src/clock.ts'
import type { Compression } from '../../src/log/batch-header.ts'
import { logConfigDefaults } from '../../src/log/log-config.ts'
import { LogDirectory } from '../../src/log/log-directory.ts'
import { PartitionLog } from '../../src/log/partition-log.ts'
import { encodeBatch, runOf, textRecords } from '../support/batch-builder.ts'

export interface BrokerSetup {
  readonly directory: string
  readonly nodeId?: number
  readonly clean?: boolean
}

const config = { ...logConfigDefaults, segmentBytes: 330, indexIntervalBytes: 60 }
/** Of `t-0`. */
export const logStartOffset = 5
export const highWatermark = 13
/** Of both. */
export const logEndOffset = 20
const topicId = 'AAECAwQFBgcICQoLDA0ODw'
const batches: readonly (readonly [number, number, Compression])[] = [
  [0, 1, 'none'],
  [0, 3, 'zstd'],
  [2, 2, 'none'],
  [2, 1, 'none'],
  [5, 12, 'lz4'],
  [5, 1, 'none'],
]

/**
 * Partitions `t-0`, which begins within its third batch, and `t-1`, where an epoch began that never
 * wrote. Both have committed what their followers have.
 */
export function writeBroker({ directory, nodeId = 1, clean = true }: BrokerSetup): PartitionLog[] {
  const broker = LogDirectory.open({
    directory,
    clusterId: 'bits',
    nodeId,
    makeId: () => new Uint8Array(16).fill(nodeId),
  })
  const logs = [0, 1].map((partition) => {
    const log = PartitionLog.open({
      directory: path.join(directory, `t-${partition}`),
      topic: 't',
      partition,
      topicId,
      config,
      clock: new ManualClock(),
      cleanShutdown: false,
    })
    for (const [index, [leaderEpoch, count, compression]] of batches.entries()) {
      // Times go back once, so that the time index has something to pass over.
      const timestampMs = 1_000 + (index === 3 ? 0 : 10 * index)
      const records = textRecords(count, 'text', timestampMs)
      log.append(runOf([encodeBatch(records, { compression })]), leaderEpoch)
    }
    return log
  })
  logs[0]!.advanceLogStart(logStartOffset)
  logs[1]!.leaderEpochs.assign(9, logs[1]!.logEndOffset)
  for (const log of logs) log.close()
  const offsets = (offsetOf: (log: PartitionLog) => number) =>
    logs.map((log) => ({ topic: log.topic, partition: log.partition, offset: offsetOf(log) }))
  broker.writeCheckpoint(
    'recoveryPoint',
    offsets((log) => log.logEndOffset),
  )
  broker.writeCheckpoint(
    'highWatermark',
    offsets(() => highWatermark),
  )
  broker.writeCheckpoint('logStartOffset', offsets((log) => log.logStartOffset).slice(0, 1))
  broker.close(clean ? 7 : undefined)
  return logs
}
