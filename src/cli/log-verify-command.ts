/** `tidemark log verify`: directories in, faults out. */
import type { Command } from 'commander'
import { type VerifyResult, verifyDirectories } from '../log-tools/verify-directories.ts'
import type { LogFault } from '../log-tools/verify-report.ts'
import { type ExitCode, exitCodes } from './exit.ts'
import { createLineWriter } from './log-lines.ts'
import { createVerifyBar } from './log-verify-progress.ts'
import { printJson } from './output.ts'

interface VerifyCommandOptions {
  readonly allowGaps?: boolean
  readonly json?: boolean
}

export function defineLogVerifyCommand(command: Command, exit: (code: number) => void): Command {
  return command
    .description(
      'checks CRCs, offsets, indexes, epochs and checkpoints, and replicas against each other',
    )
    .argument('<directory...>', 'directories of partitions, of brokers, or of a cluster')
    .option('--allow-gaps', 'offsets may be missing, as compaction leaves them')
    .option('--json', 'print one JSON document')
    .action(async (directories: readonly string[], { allowGaps, json }: VerifyCommandOptions) => {
      const result = verifyShowingProgress(directories, allowGaps === true)
      if (json === true) printJson(process.stdout, { schemaVersion: 1, ...result })
      else {
        const writer = createLineWriter(process.stdout)
        for (const line of verifyLines(result)) await writer.write(line)
        await writer.end()
      }
      exit(exitCodeOfVerify(result))
    })
}

function verifyShowingProgress(directories: readonly string[], allowGaps: boolean): VerifyResult {
  const bar = createVerifyBar(process.stderr)
  try {
    return verifyDirectories(directories, { allowGaps, onProgress: bar.onProgress })
  } finally {
    bar.stop()
  }
}

export function exitCodeOfVerify({ faults }: VerifyResult): ExitCode {
  return faults.length === 0 ? exitCodes.success : exitCodes.failure
}

/** Each fault on a line of its own, then what was checked. */
export function verifyLines({ faults, checked, directories }: VerifyResult): string[] {
  const { comparedBatches, bytes } = checked
  const counted = [
    counts(checked.batches, 'batch', 'batches'),
    counts(checked.records, 'record'),
    counts(checked.indexEntries, 'index entry', 'index entries'),
    counts(checked.checkpointEntries, 'checkpoint entry', 'checkpoint entries'),
    counts(bytes, 'byte'),
    ...(comparedBatches === 0 ? [] : [`${comparedBatches} pairs of batches compared`]),
  ]
  const partitions = counts(checked.partitions, 'partition')
  const segments = counts(checked.segments, 'segment')
  const where = counts(directories.length, 'directory', 'directories')
  return [
    ...faults.map(faultLine),
    `${where}, ${partitions}, ${segments}: ${counted.join(', ')}`,
    faults.length === 0 ? 'no fault found' : counts(faults.length, 'fault'),
  ]
}

function counts(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

function faultLine({ file, check, offset, position, expected, found }: LogFault): string {
  const places = [
    ...(offset === null ? [] : [`offset ${offset}`]),
    ...(position === null ? [] : [`position ${position}`]),
  ]
  const where = places.length === 0 ? '' : ` at ${places.join(', ')}`
  return `${file}: ${check.replace('-', ' ')}${where}: expected ${expected}, found ${found}`
}
