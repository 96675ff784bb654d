/** `tidemark log verify`: directories in, faults out. */
import type { Command } from 'commander'
import { type VerifyResult, verifyDirectories } from '../log-tools/verify-directories.ts'
import type { LogFault } from '../log-tools/verify-report.ts'
import { type ExitCode, exitCodes } from './exit.ts'
import { createLineWriter } from './log-lines.ts'
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
      const result = verifyDirectories(directories, { allowGaps: allowGaps === true })
      if (json === true) printJson(process.stdout, { schemaVersion: 1, ...result })
      else {
        const writer = createLineWriter(process.stdout)
        for (const line of verifyLines(result)) await writer.write(line)
        await writer.end()
      }
      exit(exitCodeOfVerify(result))
    })
}

export function exitCodeOfVerify({ faults }: VerifyResult): ExitCode {
  return faults.length === 0 ? exitCodes.success : exitCodes.failure
}

/** Each fault on a line of its own, then what was checked. */
export function verifyLines({ faults, checked, directories }: VerifyResult): string[] {
  const { partitions, segments, batches, records, indexEntries, checkpointEntries } = checked
  const compared =
    checked.comparedBatches === 0 ? '' : `, ${checked.comparedBatches} batches of replicas compared`
  return [
    ...faults.map(faultLine),
    `${directories.length} directories, ${partitions} partitions, ${segments} segments: ${batches} batches, ${records} records, ${indexEntries} index entries, ${checkpointEntries} checkpoint entries, ${checked.bytes} bytes${compared}`,
    faults.length === 0 ? 'no fault found' : `${faults.length} faults`,
  ]
}

function faultLine({ file, check, offset, position, expected, found }: LogFault): string {
  const places = [
    ...(offset === null ? [] : [`offset ${offset}`]),
    ...(position === null ? [] : [`position ${position}`]),
  ]
  const where = places.length === 0 ? '' : ` at ${places.join(', ')}`
  return `${file}: ${check.replace('-', ' ')}${where}: expected ${expected}, found ${found}`
}
