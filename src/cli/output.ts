/** What a command prints on standard output when it is done. */
import type { Writable } from 'node:stream'
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatRate,
  formatSignedPercent,
} from '../lab/report/quantity.ts'
import { scenarioOf, throughputScenarioOf, verdictOf } from '../lab/report/words.ts'
import type { CatchUpResult, ForegroundWindow, Latency, ThroughputResult } from '../lab/result.ts'

export interface SummaryOptions {
  /** Columns of the terminal; sentences are wrapped there. */
  readonly columns?: number
  /** Path of the written report, to be named at the end. */
  readonly reportFile?: string
}

type Row = readonly string[]

/** One JSON document and a line feed; nothing else goes to that stream. */
export function printJson(stream: Writable, document: object): void {
  stream.write(`${JSON.stringify(document, null, 2)}\n`)
}

export function summarizeCatchUp(result: CatchUpResult, options: SummaryOptions = {}): string {
  const { headline, story, prediction } = verdictOf(result)
  const { scenario, records, invariants } = result
  const width = columnsOf(options)
  const parts = [
    ...wrap(scenarioOf(scenario), width),
    '',
    headline,
    ...wrap(`${story} ${prediction}`, width),
    '',
    ...alignFacts(catchUpFacts(result)),
    '',
    ...alignTable(foregroundTable(result)),
    '',
    ...wrap(
      `${formatCount(records.verified)} of ${formatCount(records.acknowledged)} acknowledged records read back and compared: ${formatCount(records.lost)} lost, ${formatCount(records.duplicated)} duplicated. ${formatCount(invariants.checked)} invariant checks, ${formatCount(invariants.violations)} violations. Seed ${scenario.seed}.`,
      width,
    ),
  ]
  if (options.reportFile !== undefined) parts.push(`Report: ${options.reportFile}`)
  return plainSpaces(parts)
}

export function summarizeThroughput(
  result: ThroughputResult,
  options: SummaryOptions = {},
): string {
  const { records, scenario } = result
  const width = columnsOf(options)
  const stopped = result.interrupted ? 'Interrupted; until then: ' : ''
  return plainSpaces([
    ...wrap(throughputScenarioOf(scenario), width),
    '',
    `${stopped}${formatCount(result.recordsPerSec)} records/s, ${formatRate(result.bytesPerSec)} of payload`,
    ...wrap(limitSentence(result), width),
    '',
    ...alignTable([
      ['', 'p50', 'p99', 'p99.9', 'max'],
      ['acknowledged', ...latencyCells(result.ackMs)],
      ...(result.endToEndMs === null ? [] : [['end to end', ...latencyCells(result.endToEndMs)]]),
    ]),
    '',
    ...wrap(
      `${formatCount(records.verified)} of ${formatCount(records.acknowledged)} acknowledged records read back: ${formatCount(records.lost)} lost. CPU ${formatDuration(result.cpu.userMs)} user, ${formatDuration(result.cpu.systemMs)} system over ${formatDuration(result.durationMs)}; memory ${formatBytes(result.memory.rssBytes)}, ${formatBytes(result.memory.sharedBytes)} of it shared. Seed ${scenario.seed}.`,
      width,
    ),
  ])
}

function catchUpFacts(result: CatchUpResult): Row[] {
  const { evictedAfterMs: evicted, admissionMs: admission, predicted, scenario } = result
  const limit = formatDuration(scenario.replicaLagTimeMaxMs)
  const facts: Row[] = [
    [
      'left the ISR after',
      evicted === null
        ? 'never'
        : `${formatDuration(evicted.min)} / ${formatDuration(evicted.median)} / ${formatDuration(evicted.max)}  min / median / max, limit ${limit}`,
    ],
    [
      'backlog at the resume',
      `${formatBytes(result.backlogBytes)}, ${formatCount(result.backlogRecords)} records`,
    ],
    [
      'copied',
      `${formatBytes(result.copiedBytes)}: ${formatBytes(result.diskReadBytes)} from disk, ${formatBytes(result.ringBytes)} from shared memory`,
    ],
    [
      'caught up after',
      result.catchUpMs === null ? 'not reached' : formatDuration(result.catchUpMs),
    ],
  ]
  if (predicted !== null) {
    const time = predicted.catchUpMs === null ? 'never' : formatDuration(predicted.catchUpMs)
    const error = formatSignedPercent(result.predictionError)
    const naive = formatDuration(predicted.naiveMs)
    facts.push(['predicted', `${time}, error ${error}; naive ${naive}`])
  }
  if (admission !== null) {
    const { median, p99, max } = admission
    facts.push([
      'into the ISR after',
      `${formatDuration(median)} / ${formatDuration(p99)} / ${formatDuration(max)}  median / p99 / max`,
    ])
  }
  if (result.repetitions !== undefined) {
    const { count, catchUpMs } = result.repetitions
    const interval = `${formatDuration(catchUpMs.low)} to ${formatDuration(catchUpMs.high)}`
    facts.push([
      `over ${formatCount(count)} repetitions`,
      `median ${formatDuration(catchUpMs.median)}, 95 % from ${interval}`,
    ])
  }
  return facts
}

function foregroundTable({ foreground }: CatchUpResult): Row[] {
  const row = (label: string, window: ForegroundWindow | null): Row[] =>
    window === null
      ? []
      : [[label, formatCount(window.recordsPerSec), ...latencyCells(window.ackMs)]]
  return [
    ['load', 'records/s', 'ack p50', 'p99', 'p99.9', 'max'],
    ...row('before', foreground.before),
    ...row('awaiting eviction', foreground.awaitingEviction),
    ...row('out of sync', foreground.outOfSync),
    ...row('after', foreground.after),
  ]
}

function latencyCells({ p50, p99, p999, max }: Latency): string[] {
  return [p50, p99, p999, max].map((ms) => formatDuration(ms))
}

function limitSentence({ limit, ratioToLimit, scenario }: ThroughputResult): string {
  if (limit === null || ratioToLimit === null) return ''
  const where =
    scenario.machine.fileSystem === undefined ? '' : ` on ${scenario.machine.fileSystem}`
  return `${(ratioToLimit * 100).toFixed(0)} % of the physical limit of ${formatRate(limit.bytesPerSec)}${where}, measured in ${formatCount(limit.pairs)} alternating pairs.`
}

function alignFacts(rows: readonly Row[]): string[] {
  const width = Math.max(...rows.map(([label]) => label!.length))
  return rows.map(([label, value]) => `  ${label!.padEnd(width)}  ${value}`)
}

/** First column to the left, numbers to the right. */
function alignTable(rows: readonly Row[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) => {
    const cells = row.map((cell, i) =>
      i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!),
    )
    return `  ${cells.join('  ')}`
  })
}

export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  if (line !== '') lines.push(line)
  return lines
}

/**
 * Terminals are searched and cut by words: a no-break space has done its work once lines are
 * broken.
 */
function plainSpaces(lines: readonly string[]): string {
  return `${lines.join('\n').replaceAll('\u00a0', ' ')}\n`
}

function columnsOf({ columns }: SummaryOptions): number {
  return Math.min(100, Math.max(40, columns ?? 80))
}
