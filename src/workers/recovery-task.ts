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
}

export interface RecoveryTaskResult {
  readonly directory: string
  readonly summary: RecoverySummary
}

/** @throws {TidemarkError} what `recoverLog` throws, for the first directory that fails */
export function recoverSome(task: RecoveryTask): RecoveryTaskResult[] {
  const config = task.config ?? logConfigDefaults
  return task.logs.map(({ directory, recoveryPoint, logStartOffset }) => {
    return { directory, summary: recoverLog(directory, { recoveryPoint, logStartOffset, config }) }
  })
}
