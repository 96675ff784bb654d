/** How a command ends: its exit code, its one line of error, and Ctrl-C. */
import { type Command, CommanderError } from 'commander'
import { type ErrorCode, TidemarkError } from '../errors.ts'
import { faultsOf } from '../lab/report/words.ts'
import type { CatchUpResult, ThroughputResult } from '../lab/result.ts'

export const exitCodes = {
  /** What was asked came true. */
  success: 0,
  /** It ran, and did not come true. */
  failure: 1,
  /** Bad usage or bad input. */
  usage: 2,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** Errors that the person at the keyboard can mend by asking for something else. */
const usageErrors: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'INVALID_ARGUMENT',
  'INVALID_CONFIG',
  'INVALID_PARTITIONS',
  'INVALID_REPLICATION_FACTOR',
  'INVALID_REPLICA_ASSIGNMENT',
  'INVALID_REQUIRED_ACKS',
  'INVALID_TOPIC_EXCEPTION',
  'DIRECTORY_IN_USE',
])

export function exitCodeOfCatchUp(result: CatchUpResult): ExitCode {
  const { records, outcome, interrupted } = result
  const complete = records.verified >= records.acknowledged && faultsOf(result).length === 0
  return outcome === 'converged' && complete && !interrupted ? exitCodes.success : exitCodes.failure
}

/** With acks=0 nothing is ever acknowledged: that it was sent is all that can come true. */
export function exitCodeOfThroughput({
  records,
  interrupted,
  scenario,
}: ThroughputResult): ExitCode {
  const complete = records.lost === 0 && records.verified >= records.acknowledged
  const isAny = (scenario.acks === 0 ? records.produced : records.acknowledged) > 0
  return complete && isAny && !interrupted ? exitCodes.success : exitCodes.failure
}

export function exitCodeOfError(error: unknown): ExitCode {
  if (error instanceof CommanderError) {
    return error.exitCode === 0 ? exitCodes.success : exitCodes.usage
  }
  if (error instanceof TidemarkError && usageErrors.has(error.code)) return exitCodes.usage
  return exitCodes.failure
}

/**
 * One line for standard error; null for what isn't an error, such as help that was asked for. A
 * fault of our own comes with its stack, because it is ours to find.
 */
export function errorLine(error: unknown): string | null {
  if (error instanceof CommanderError) {
    return error.exitCode === 0 || error.code === 'commander.help' ? null : usageLine(error)
  }
  if (error instanceof TidemarkError) return `tidemark: ${oneLine(error.message)}`
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return `tidemark: internal error, please report it: ${stack}`
}

/**
 * Errors are thrown to the caller, who prints them as one line; help and version are still printed.
 */
export function throwUsageErrors(command: Command): Command {
  return command.exitOverride().configureOutput({ outputError: () => {} })
}

function usageLine(error: CommanderError): string {
  const message = oneLine(error.message.replace(/^error: /, ''))
  const said = message
    .replace(/^unknown option '([^']*)'/, '$1: unknown option')
    .replace(/^unknown command '([^']*)'/, '$1: unknown command')
    .replace(/^option '(\S+) (\S+)' argument missing/, '$1: needs a value, $2')
    .replace(/\(Did you mean (.*)\?\)$/, '(did you mean $1?)')
  return `tidemark: ${said}; --help lists what is allowed`
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ').trim()
}
