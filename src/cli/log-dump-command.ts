/** `tidemark log dump`: files in, lines out. */
import type { Writable } from 'node:stream'
import type { Command } from 'commander'
import { checkDumpable, dumpFile } from '../log-tools/dump-file.ts'
import type { DumpLine } from '../log-tools/dump-line.ts'
import { dumpText } from '../log-tools/dump-text.ts'
import { type ExitCode, exitCodes } from './exit.ts'
import { createLineWriter } from './log-lines.ts'

interface DumpCommandOptions {
  readonly records?: boolean
  readonly json?: boolean
}

export function defineLogDumpCommand(command: Command, exit: (code: number) => void): Command {
  return command
    .description(
      'prints segments, indexes, snapshots and checkpoints: what is whole, and where that ends',
    )
    .argument('<file...>', 'files, by the names that Kafka gives them')
    .option('--records', 'print the records of each batch too')
    .option('--json', 'print a JSON object a line')
    .action(async (files: readonly string[], options: DumpCommandOptions) => {
      exit(await dumpFiles(files, options, process.stdout))
    })
}

/**
 * Success: all files were whole.
 *
 * @throws {TidemarkError} INVALID_ARGUMENT, before anything is printed, for a file that is none of
 *   a log's.
 */
export async function dumpFiles(
  files: readonly string[],
  { records = false, json = false }: DumpCommandOptions,
  stream: Writable,
): Promise<ExitCode> {
  for (const file of files) checkDumpable(file)
  const textOf = json ? (line: DumpLine) => JSON.stringify(line) : dumpText
  const writer = createLineWriter(stream)
  let whole = true
  for (const file of files) {
    for (const line of dumpFile(file, { records })) {
      if (line.type === 'end') whole &&= line.complete
      if (!(await writer.write(textOf(line)))) return exitCodes.success
    }
  }
  await writer.end()
  return whole ? exitCodes.success : exitCodes.failure
}
