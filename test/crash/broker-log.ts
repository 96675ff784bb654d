/** How a broker opens its directory and the one log in it, and writes its checkpoints. */
import type { Clock } from '../../src/clock.ts'
import type { BackgroundFlush } from '../../src/log/background-flush.ts'
import type { FileSystem } from '../../src/log/file-system.ts'
import type { LogConfig } from '../../src/log/log-config.ts'
import { LogDirectory } from '../../src/log/log-directory.ts'
import { recoverLog } from '../../src/log/log-recovery.ts'
import type { OpenFiles } from '../../src/log/open-files.ts'
import { PartitionLog } from '../../src/log/partition-log.ts'

export const brokerParent = '/disk'
const directory = `${brokerParent}/broker-1`
const topicId = Buffer.alloc(16, 7).toString('base64url')
const topicPartition = { topic: 't', partition: 0 }

export interface BrokerLogOptions {
  readonly fs: FileSystem
  readonly files: OpenFiles
  readonly config: LogConfig
  readonly clock: Clock
  readonly backgroundFlush: BackgroundFlush
  /** Recovery runs as a job of its own, before the log is opened. */
  readonly recoversApart: boolean
  /** Called when the directory is locked and read, before the log is looked at. */
  readonly onDirectory: (broker: LogDirectory) => void
}

export interface BrokerLog {
  readonly log: PartitionLog
  /** As the checkpoints had them; 0 when they had none. */
  readonly statedRecoveryPoint: number
  readonly statedStart: number
}

export function openBrokerLog(options: BrokerLogOptions): BrokerLog {
  const { fs, files, config, clock } = options
  const makeId = () => new Uint8Array(16)
  const broker = LogDirectory.open({ directory, clusterId: 'c', nodeId: 1, fs, makeId })
  const { cleanShutdown } = broker
  options.onDirectory(broker)
  const recoveryPoint = broker.readCheckpoint('recoveryPoint').get('t-0') ?? 0
  const logStartOffset = broker.readCheckpoint('logStartOffset').get('t-0') ?? 0
  const partition = broker.partitionDirectory(topicPartition)
  // A broker recovers the partitions whose directories it finds.
  const recovered = options.recoversApart && !cleanShutdown && fs.isDirectory(partition)
  if (recovered) recoverLog(partition, { recoveryPoint, logStartOffset, config, files })
  const log = PartitionLog.open({
    ...topicPartition,
    directory: partition,
    topicId,
    config,
    clock,
    files,
    backgroundFlush: options.backgroundFlush,
    cleanShutdown: cleanShutdown || recovered,
    recovered,
    recoveryPoint,
    logStartOffset,
  })
  return { log, statedRecoveryPoint: recoveryPoint, statedStart: logStartOffset }
}

export function writeCheckpoints(
  broker: LogDirectory,
  { recoveryPoint, logStartOffset }: PartitionLog,
): void {
  broker.writeCheckpoint('recoveryPoint', [{ ...topicPartition, offset: recoveryPoint }])
  broker.writeCheckpoint('logStartOffset', [{ ...topicPartition, offset: logStartOffset }])
}
