/** The disk's lasting rate, measured by a worker thread: its file calls block. */
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import { moduleSuffix, workerEntry } from '../workers/worker-entry.ts'
import { type DiskRate, measureDiskRate } from './disk-rate.ts'

export async function runInWorker(directory: string, budgetMs: number): Promise<DiskRate> {
  const pool = new Piscina({
    filename: fileURLToPath(workerEntry(import.meta.url, `disk-rate-task${moduleSuffix}`)),
    maxThreads: 1,
  })
  try {
    return (await pool.run({ directory, budgetMs }, { name: 'measure' })) as DiskRate
  } finally {
    await pool.destroy()
  }
}

/** Beyond the burst of a virtual disk. */
const bytesMax = 6 * 1024 ** 3

export function measure(task: { readonly directory: string; readonly budgetMs: number }): DiskRate {
  return measureDiskRate(task.directory, { budgetMs: task.budgetMs, bytesMax })
}
