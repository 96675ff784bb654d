/** `tidemark log timeline`: a metadata log in, its history out. */
import path from 'node:path'
import type { Command } from 'commander'
import { TidemarkError } from '../errors.ts'
import { writeAtomically } from '../lab/report/report-directory.ts'
import { parseCount } from '../lab/units.ts'
import { readTimeline } from '../log-tools/timeline.ts'
import type { MetadataTimeline } from '../log-tools/timeline-model.ts'
import {
  flapDeparturesMin,
  flapWindowMs,
  stormChangesMin,
  stormWindowMs,
} from '../log-tools/timeline-storms.ts'
import { type ExitCode, exitCodes } from './exit.ts'
import { createLineWriter } from './log-lines.ts'
import { printJson } from './output.ts'
import { timelinePage } from './timeline-page.ts'
import { timelineLines } from './timeline-text.ts'

interface TimelineCommandOptions {
  readonly topic?: string
  readonly partition?: string
  readonly html?: string
  readonly json?: boolean
}

export function defineLogTimelineCommand(command: Command, exit: (code: number) => void): Command {
  return command
    .description(
      'who left the in-sync replicas and came back when, leaders and epochs, out of a metadata log',
    )
    .argument('<directory>', 'a directory __cluster_metadata-0, or the one around it')
    .option('--topic <name>', 'only the partitions of this topic')
    .option('--partition <number>', 'only the partitions of this number')
    .option('--html <file>', 'write a page with a picture of it, too')
    .option('--json', 'print one JSON document')
    .action(async (directory: string, options: TimelineCommandOptions) => {
      exit(await printTimeline(directory, options))
    })
}

/** Success: the log was whole. */
async function printTimeline(
  directory: string,
  { topic, partition, html, json = false }: TimelineCommandOptions,
): Promise<ExitCode> {
  const number = partition === undefined ? undefined : partitionNumber(partition)
  const timeline = readTimeline(directory, { topic, partition: number })
  if (html !== undefined) writePage(html, timeline)
  if (json) printJson(process.stdout, timelineDocument(timeline))
  else {
    const writer = createLineWriter(process.stdout)
    for (const line of timelineLines(timeline)) {
      if (!(await writer.write(printable(line)))) break
    }
    await writer.end()
  }
  return timeline.faults.length === 0 ? exitCodes.success : exitCodes.failure
}

function timelineDocument(timeline: MetadataTimeline): object {
  return {
    schemaVersion: 1,
    ...timeline,
    thresholds: { stormChangesMin, stormWindowMs, flapDeparturesMin, flapWindowMs },
  }
}

/** A name out of a file may hold what a terminal would obey. */
function printable(line: string): string {
  return line.replaceAll(/\p{Cc}/gu, '\uFFFD')
}

function partitionNumber(text: string): number {
  return parseCount('--partition', text, { min: 0, max: 2 ** 31 - 1 })
}

function writePage(file: string, timeline: MetadataTimeline): void {
  try {
    writeAtomically(path.resolve(file), timelinePage(timeline))
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const detail = `--html ${file}: ${reason}; must be a file that can be written`
    throw new TidemarkError('INVALID_ARGUMENT', { detail, cause })
  }
}
