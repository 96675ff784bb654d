/** Task of the pool: makes some partition directories whole after a crash. */
import { type LogConfig, logConfigDefaults } from '../log/log-config.ts'
import { type RecoverySummary, recoverLog } from '../log/log-recovery.ts'

export interface RecoveryTask {
  readonly logs: readonly {
    readonly directory: string
    readonly recoveryPoint: number
    readonly logStartOffset: number
  }[]
  readonly config?: LogConfig
  /** One shared word that all tasks add to: KiB read. */
  readonly scannedKiB: Int32Array
}

export interface RecoveryTaskResult {
  readonly directory: string
  readonly summary: RecoverySummary
}

/** @throws {TidemarkError} what `recoverLog` throws, for the first directory that fails */
export function recoverSome(task: RecoveryTask): RecoveryTaskResult[] {
  const config = task.config ?? logConfigDefaults
  const onScanned = (bytes: number): void => {
    Atomics.add(task.scannedKiB, 0, Math.round(bytes / 1024))
  }
  return task.logs.map(({ directory, recoveryPoint, logStartOffset }) => {
    const options = { recoveryPoint, logStartOffset, config, onScanned }
    return { directory, summary: recoverLog(directory, options) }
  })
}
