/** The command line: one program, one file a command. */
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { defineCatchUpCommand } from './catch-up-command.ts'
import { errorLine, exitCodeOfError, exitCodes, throwUsageErrors } from './exit.ts'
import { defineLogCommand } from './log-command.ts'
import { defineThroughputCommand } from './throughput-command.ts'
import { defineWalkthroughCommand } from './walkthrough-command.ts'

function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

async function main(): Promise<void> {
  const program = throwUsageErrors(new Command('tidemark'))
    .description('A storage-backed broker in one process, and a laboratory for in-sync replicas.')
    .version(packageVersion())
  const setExitCode = (code: number) => {
    process.exitCode = code
  }
  throwUsageErrors(defineCatchUpCommand(program.command('catch-up'), setExitCode))
  throwUsageErrors(defineThroughputCommand(program.command('throughput'), setExitCode))
  throwUsageErrors(defineWalkthroughCommand(program.command('walkthrough'), setExitCode))
  throwUsageErrors(defineLogCommand(program.command('log'), setExitCode))
  try {
    await program.parseAsync()
    process.exitCode ??= exitCodes.success
  } catch (error) {
    const line = errorLine(error)
    if (line !== null) process.stderr.write(`${line}\n`)
    process.exitCode = exitCodeOfError(error)
  }
}

await main()
