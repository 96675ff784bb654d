/** Opens the directory of a log without a broker, after whatever end its last owner had. */
import path from 'node:path'
import { type Clock, systemClock } from '../clock.ts'
import type { StandaloneConfig } from '../config.ts'
import { type SyncOne, syncOneOf } from './file-sync.ts'
import { type FileSystem, realFileSystem } from './file-system.ts'
import { logConfigOf } from './log-config.ts'
import type { OpenLogOptions } from './log-options.ts'
import { recoverLogBySegments } from './log-recovery.ts'
import { OpenFiles } from './open-files.ts'
import { PartitionLog } from './partition-log.ts'
import { type StandaloneOffsets, StandaloneState } from './standalone-state.ts'
import { parsePartitionDirectoryName } from './topic-name.ts'

export interface OpenedStandalone {
  readonly directory: string
  readonly config: StandaloneConfig
  readonly log: PartitionLog
  readonly state: StandaloneState
  readonly clock: Clock
  readonly fs: FileSystem
  readonly syncFile: SyncOne
}

/** @throws {TidemarkError} what `StandaloneState.claim` and `PartitionLog.open` throw */
export async function openStandalone(
  directory: string,
  config: StandaloneConfig,
  options: OpenLogOptions,
): Promise<OpenedStandalone> {
  const fs = options.fs ?? realFileSystem
  const clock = options.clock ?? systemClock
  const state = StandaloneState.claim(fs, directory)
  try {
    const log = await openLog(directory, config, state, { ...options, fs, clock })
    log.compaction.cleanedOffset = state.offsets.cleanedOffset
    state.write(offsetsOf(log, undefined))
    const syncFile = options.syncFile ?? syncOneOf(fs)
    return { directory, config, log, state, clock, fs, syncFile }
  } catch (cause) {
    state.release()
    throw cause
  }
}

/** What the next owner should know. */
export function offsetsOf(
  log: PartitionLog,
  cleanEndOffset: number | undefined,
): StandaloneOffsets {
  const { recoveryPoint, logStartOffset } = log
  const { cleanedOffset } = log.compaction
  return { recoveryPoint, logStartOffset, cleanEndOffset, cleanedOffset }
}

type Systems = OpenLogOptions & Required<Pick<OpenLogOptions, 'fs' | 'clock'>>

async function openLog(
  directory: string,
  config: StandaloneConfig,
  state: StandaloneState,
  { fs, clock, topicId, onRecovery }: Systems,
): Promise<PartitionLog> {
  const { recoveryPoint, logStartOffset, cleanEndOffset } = state.offsets
  const name = path.basename(path.resolve(directory))
  const { topic, partition } = parsePartitionDirectoryName(name) ?? { topic: name, partition: 0 }
  const own = { directory, topic, partition, config: logConfigOf(config), clock, fs }
  const known = {
    ...own,
    ...(topicId === undefined ? {} : { topicId }),
    recoveryPoint,
    logStartOffset,
  }
  const recover = async () => {
    const { config: logConfig } = own
    const files = new OpenFiles(fs)
    const options = { recoveryPoint, logStartOffset, config: logConfig, files }
    for (const progress of recoverLogBySegments(directory, options)) {
      onRecovery?.(progress)
      await new Promise((resolve) => setImmediate(resolve))
    }
    files.closeAll()
    return PartitionLog.open({ ...known, cleanShutdown: true, recovered: true })
  }
  if (cleanEndOffset === undefined) return recover()
  // Before anything is written: a mark that came back after a crash would vouch for torn files.
  state.write({ ...state.offsets, cleanEndOffset: undefined })
  const log = PartitionLog.open({ ...known, cleanShutdown: true })
  if (log.logEndOffset === cleanEndOffset) return log
  // Somebody else, a broker perhaps, has written since, and nobody knows how that ended.
  log.close({ flush: false })
  return recover()
}
