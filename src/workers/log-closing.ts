/**
 * How a broker's logs end. Few are synced one by one, as at any other time; of many each would wait
 * for several turns of the disk, so that all are closed first and then synced at once.
 */
import { isTidemarkError } from '../errors.ts'
import type { PartitionLog } from '../log/partition-log.ts'
import type { DeferredSyncs, FindSync } from './deferred-syncs.ts'

/** From so many on the one sync pays, though others may have left it much to write. */
const manyLogs = 256

export interface WholeSync {
  /** Of the file system that the logs are in. */
  readonly syncs: DeferredSyncs
  readonly findSync: FindSync
}

export interface ClosingParts {
  readonly logs: readonly PartitionLog[]
  readonly directory: string
  /** undefined: each log is synced for itself. */
  readonly whole: WholeSync | undefined
}

export interface ClosingOutcome {
  /** Every log was flushed and closed without an error. */
  readonly isClean: boolean
  /** The recovery points that the logs show now are true. */
  readonly arePointsTrue: boolean
}

export function closeLogs(
  { logs, directory, whole }: ClosingParts,
  { flush }: { readonly flush: boolean },
): ClosingOutcome {
  const sync = flush && logs.length >= manyLogs ? whole?.findSync() : undefined
  if (sync !== undefined) whole?.syncs.begin()
  let isClean = flush
  for (const log of logs) {
    if (!tryClose(log, flush)) isClean = false
  }
  const deferred = whole?.syncs.end() ?? 0
  const arePointsTrue = sync === undefined || deferred === 0 || sync(directory)
  return { isClean: isClean && arePointsTrue, arePointsTrue }
}

function tryClose(log: PartitionLog, flush: boolean): boolean {
  try {
    const hadFailed = log.failure !== undefined
    log.close({ flush })
    return !hadFailed
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    return false
  }
}
