/** Worker entry: one replica of the limit. */
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../clock.ts'
import { restBeforeEnd } from '../workers/thread-end.ts'
import type { LimitCommand, LimitTask, LimitWriterMessage } from './limit-task.ts'
import { PoolFiles } from './pool-files.ts'

/** Writes everything, unless told to stop. */
function write(files: PoolFiles, totalBatches: number, { stopped, flush }: LimitTask): void {
  const { roundBatches } = files
  let flushedMs = systemClock.nowMs()
  for (let next = 0; next < totalBatches; next += roundBatches) {
    if (Atomics.load(stopped, 0) !== 0) return
    files.write(next, Math.min(totalBatches, next + roundBatches), flush.kind === 'batch')
    if (flush.kind !== 'interval' || systemClock.nowMs() - flushedMs < flush.ms) continue
    files.sync()
    flushedMs = systemClock.nowMs()
  }
}

function main(task: LimitTask): void {
  const port = parentPort!
  const say = (message: LimitWriterMessage): void => port.postMessage(message)
  const files = new PoolFiles(task)
  port.on('message', (command: LimitCommand) => {
    if (command.kind === 'close') {
      files.close()
      port.close()
      restBeforeEnd()
      return
    }
    write(files, command.totalBatches, task)
    say({ kind: 'done', endMs: systemClock.nowMs() })
    files.empty()
    say({ kind: 'ready' })
  })
  say({ kind: 'ready' })
}

main(workerData as LimitTask)
