/** `tidemark throughput`: options in, study, result out. */
import type { Command } from 'commander'
import { studyThroughput } from '../lab/throughput-study.ts'
import { exitCodeOfThroughput } from './exit.ts'
import { watchInterrupts } from './exit-interrupt.ts'
import { defineThroughputOptions, resolveThroughputOptions } from './options-throughput.ts'
import type { RawOptions } from './options-values.ts'
import { printJson, summarizeThroughput } from './output.ts'
import { createProgress } from './progress.ts'

export function defineThroughputCommand(command: Command, exit: (code: number) => void): Command {
  command.description('measures what the replicas take, against what the machine can do at all')
  return defineThroughputOptions(command).action(async (raw: RawOptions) => {
    const options = resolveThroughputOptions(raw)
    const interrupt = watchInterrupts()
    const progress = createProgress({ stream: process.stderr })
    try {
      const result = await studyThroughput(options, progress, interrupt.signal)
      progress.stop()
      if (options.json) printJson(process.stdout, result)
      else {
        const columns = process.stdout.columns ?? 100
        process.stdout.write(`${summarizeThroughput(result, { columns })}\n`)
      }
      exit(exitCodeOfThroughput(result))
    } finally {
      progress.stop()
      interrupt.dispose()
    }
  })
}
