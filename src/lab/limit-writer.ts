/** Worker entry: one replica of the limit. */
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../clock.ts'
import { type LimitTask, type LimitWriterMessage, limitWord } from './limit-task.ts'
import { PoolFiles } from './pool-files.ts'

/** Writes everything, unless told to stop. */
function run(files: PoolFiles, { totalBatches, words, flush }: LimitTask): void {
  const { roundBatches } = files
  let flushedMs = systemClock.nowMs()
  for (let next = 0; next < totalBatches; next += roundBatches) {
    if (Atomics.load(words, limitWord.stop) === 1) return
    files.write(next, Math.min(totalBatches, next + roundBatches), flush.kind === 'batch')
    if (flush.kind !== 'interval' || systemClock.nowMs() - flushedMs < flush.ms) continue
    files.sync()
    flushedMs = systemClock.nowMs()
  }
}

function main(): void {
  const task = workerData as LimitTask
  const say = (message: LimitWriterMessage): void => parentPort?.postMessage(message)
  const files = new PoolFiles(task)
  try {
    say({ kind: 'ready' })
    Atomics.wait(task.words, limitWord.gate, 0)
    if (Atomics.load(task.words, limitWord.start) === 1) {
      run(files, task)
      say({ kind: 'done', endMs: systemClock.nowMs() })
    }
  } finally {
    files.close()
  }
}

main()
