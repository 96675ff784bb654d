/** `tidemark log`: the offline tools, for our own directories and Apache Kafka's. */
import type { Command } from 'commander'
import { throwUsageErrors } from './exit.ts'
import { defineLogDumpCommand } from './log-dump-command.ts'
import { defineLogTimelineCommand } from './log-timeline-command.ts'
import { defineLogVerifyCommand } from './log-verify-command.ts'

export function defineLogCommand(command: Command, exit: (code: number) => void): Command {
  command.description(
    'prints, checks and tells the story of the files of logs, ours or Apache Kafka’s',
  )
  throwUsageErrors(defineLogDumpCommand(command.command('dump'), exit))
  throwUsageErrors(defineLogVerifyCommand(command.command('verify'), exit))
  throwUsageErrors(defineLogTimelineCommand(command.command('timeline'), exit))
  return command
}
