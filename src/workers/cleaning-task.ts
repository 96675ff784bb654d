/** Task of the pool: one compaction of one log. It ends early when it is told to. */
import { isTidemarkError } from '../errors.ts'
import { Cleaner } from '../log/compaction/cleaner.ts'
import type { CleanerJob, CleanerResult } from '../log/compaction/cleaner-job.ts'
import { realFileSystem } from '../log/file-system.ts'
import { systemErrorCode } from '../log/storage-error.ts'

export interface CleaningTask {
  readonly job: CleanerJob
  /** Bytes read a second at most; 0: no bound. */
  readonly bytesPerSec: number
  /** One word; anything but 0 ends the task. */
  readonly cancel: Int32Array
}

/** Errors lose what they are between threads, so this is what one says. */
export interface CleaningFailure {
  /** One of ours, or the system's. */
  readonly code: string
  readonly message: string
}

export type CleaningOutcome =
  | { readonly result: CleanerResult; readonly failure?: undefined }
  | { readonly failure: CleaningFailure }

const cancelled: CleaningOutcome = { failure: { code: 'ECANCELED', message: 'cancelled' } }

/** Never throws. */
export function cleanLog({ job, bytesPerSec, cancel }: CleaningTask): CleaningOutcome {
  let cleaner: Cleaner | undefined
  try {
    cleaner = new Cleaner(realFileSystem, job)
    const startedMs = performance.now()
    let bytes = 0
    for (;;) {
      if (Atomics.load(cancel, 0) !== 0) {
        cleaner.abandon()
        return cancelled
      }
      const step = cleaner.step()
      if (step === 0) return { result: cleaner.result }
      bytes += step
      if (bytesPerSec === 0) continue
      const aheadMs = (bytes / bytesPerSec) * 1_000 - (performance.now() - startedMs)
      // Whoever cancels wakes it.
      if (aheadMs > 1) Atomics.wait(cancel, 0, 0, aheadMs)
    }
  } catch (error) {
    cleaner?.abandon()
    return { failure: failureOf(error) }
  }
}

function failureOf(error: unknown): CleaningFailure {
  const code = isTidemarkError(error) ? error.code : systemErrorCode(error)
  return { code, message: error instanceof Error ? error.message : String(error) }
}
