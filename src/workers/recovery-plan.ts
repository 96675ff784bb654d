/** How the recovery of many logs is cut into tasks, and how far it is. */
import { realFileSystem } from '../log/file-system.ts'
import { bytesToRecover } from '../log/log-recovery.ts'
import type { RecoveryTask } from './recovery-task.ts'

export interface RecoveryProgress {
  /** Logs that are whole. */
  readonly done: number
  readonly total: number
  /** Of what must be read, in steps of some MiB. */
  readonly doneBytes: number
  readonly totalBytes: number
}

export interface SizedLog {
  readonly log: RecoveryTask['logs'][number]
  readonly bytes: number
}

const logsPerTaskMax = 16
const bytesPerTaskMax = 64 * 1024 * 1024
/** Directories that are looked at before others get their turn. */
const logsPerTurn = 100

/** What recovery will read of each log. */
export async function measureLogs(logs: RecoveryTask['logs']): Promise<SizedLog[]> {
  const sized: SizedLog[] = []
  for (const log of logs) {
    if (sized.length % logsPerTurn === logsPerTurn - 1) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    const bytes = bytesToRecover(realFileSystem, log.directory, log.recoveryPoint)
    sized.push({ log, bytes })
  }
  return sized
}

/** Large logs first and alone, so that none of them is still being read when all else is done. */
export function planTasks(sized: readonly SizedLog[]): RecoveryTask['logs'][] {
  const tasks: RecoveryTask['logs'][number][][] = []
  let bytesOfLast = Number.POSITIVE_INFINITY
  for (const { log, bytes } of [...sized].sort((one, other) => other.bytes - one.bytes)) {
    const last = tasks.at(-1)
    const fits = last !== undefined && last.length < logsPerTaskMax
    if (fits && bytesOfLast + bytes <= bytesPerTaskMax) {
      last.push(log)
      bytesOfLast += bytes
    } else {
      tasks.push([log])
      bytesOfLast = bytes
    }
  }
  return tasks
}
