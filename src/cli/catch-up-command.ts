/** `tidemark catch-up`: options in, study, result and report out. */
import type { Command } from 'commander'
import { studyCatchUp } from '../lab/catch-up-study.ts'
import { prepareReportDirectory } from '../lab/report/report-directory.ts'
import { writeReport } from '../lab/report/write-report.ts'
import { exitCodeOfCatchUp } from './exit.ts'
import { watchInterrupts } from './exit-interrupt.ts'
import { defineCatchUpOptions, resolveCatchUpOptions } from './options-catch-up.ts'
import type { RawOptions } from './options-values.ts'
import { printJson, summarizeCatchUp } from './output.ts'
import { createProgress } from './progress.ts'

export function defineCatchUpCommand(command: Command, exit: (code: number) => void): Command {
  command.description('takes a follower out under load, lets it rejoin, compares with a prediction')
  return defineCatchUpOptions(command).action(async (raw: RawOptions) => {
    const options = resolveCatchUpOptions(raw)
    // Before the run: a minute of measuring must not end in a report that cannot be written.
    if (options.report !== null) prepareReportDirectory(options.report)
    const interrupt = watchInterrupts()
    const progress = createProgress({ stream: process.stderr })
    try {
      const result = await studyCatchUp(options, progress, interrupt.signal)
      const files = options.report === null ? undefined : writeReport(options.report, result)
      progress.stop()
      if (options.json) printJson(process.stdout, result)
      else {
        const columns = process.stdout.columns ?? 100
        const reportFile = files === undefined ? {} : { reportFile: files.html }
        process.stdout.write(`${summarizeCatchUp(result, { columns, ...reportFile })}\n`)
      }
      exit(exitCodeOfCatchUp(result))
    } finally {
      progress.stop()
      interrupt.dispose()
    }
  })
}
