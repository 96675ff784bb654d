/** A metadata log's history as lines for people; times in UTC. */
import { formatDuration } from '../lab/units.ts'
import type { MetadataTimeline, PartitionHistory } from '../log-tools/timeline-model.ts'
import {
  flapDeparturesMin,
  flapWindowMs,
  stormChangesMin,
  stormWindowMs,
} from '../log-tools/timeline-storms.ts'
import {
  absenceTexts,
  changeText,
  controllerText,
  list,
  timeText,
  wordOfEvent,
} from './timeline-words.ts'

export function* timelineLines(timeline: MetadataTimeline): Generator<string> {
  yield headLine(timeline)
  yield* section(
    'controllers',
    timeline.controllers.map((term) => `${timeText(term.atMs)}  ${controllerText(term)}`),
  )
  yield* section('brokers', brokerLines(timeline))
  const changed = timeline.partitions.filter(({ changes }) => changes.length > 1)
  for (const history of changed) yield* partitionLines(history)
  const quiet = timeline.partitions.length - changed.length
  if (quiet > 0) {
    yield ''
    yield `${count(quiet, 'partition')} without a change: ${quietNames(timeline.partitions)}`
  }
  yield* section(
    `storms (${stormChangesMin} changes or more within ${formatDuration(stormWindowMs)})`,
    stormLines(timeline),
  )
  yield* section(
    `flapping (${flapDeparturesMin} departures or more within ${formatDuration(flapWindowMs)})`,
    timeline.flapping.map(({ topic, partition, brokerId, departures, fromMs, toMs }) => {
      const when = `${timeText(fromMs)} to ${timeText(toMs)}`
      return `${topic}-${partition}: broker ${brokerId} left ${departures} times, ${when}`
    }),
  )
  const notes = timeline.notes.map(({ offset, text }) =>
    offset === null ? text : `offset ${offset}: ${text}`,
  )
  if (notes.length > 0) yield* section('notes', notes)
  for (const { file, position, expected, found } of timeline.faults) {
    yield ''
    yield `NOT WHOLE: ${file} at position ${position}: expected ${expected}, found ${found}; the history ends there`
  }
}

function headLine(timeline: MetadataTimeline): string {
  const { directory, records, fromOffset, endOffset, fromMs, toMs } = timeline
  if (fromMs === null || toMs === null) return `${directory}: no records`
  const span = `${timeText(fromMs)} to ${timeText(toMs)} UTC, ${formatDuration(toMs - fromMs)}`
  return `${directory}: ${count(records, 'record')}, offsets ${fromOffset} to ${endOffset - 1}, ${span}`
}

function* section(title: string, lines: readonly string[]): Generator<string> {
  yield ''
  yield lines.length === 0 ? `${title}: none` : title
  for (const line of lines) yield `  ${line}`
}

function brokerLines({ brokers }: MetadataTimeline): string[] {
  return brokers.flatMap(({ brokerId, events }) =>
    events.map(({ atMs, kind, brokerEpoch }) => {
      return `${timeText(atMs)}  broker ${brokerId} ${wordOfEvent(kind)}, epoch ${brokerEpoch}`
    }),
  )
}

function* partitionLines(history: PartitionHistory): Generator<string> {
  const { topic, partition, changes, removedAtMs } = history
  yield ''
  yield `${topic}-${partition}: replicas ${list(changes.at(-1)!.replicas)}`
  for (const change of changes) {
    const { atMs, offset, leader, leaderEpoch, partitionEpoch, inSyncReplicas } = change
    const who = leader < 0 ? 'no leader' : `leader ${leader}`
    const epochs = `leader epoch ${leaderEpoch}, partition epoch ${partitionEpoch}`
    const inSync = `in sync ${list(inSyncReplicas)}`
    yield `  ${timeText(atMs)}  ${changeText(change, history)}`
    yield `      ${who}, ${inSync}; ${epochs}, offset ${offset}`
  }
  if (removedAtMs !== null) yield `  ${timeText(removedAtMs)}  topic removed`
  for (const text of absenceTexts(history)) yield `  ${text}`
  for (const { fromMs, toMs, ms } of history.offline) {
    const end = toMs === null ? ', still so at the end' : ''
    yield `  without a leader from ${timeText(fromMs)} for ${formatDuration(ms)}${end}`
  }
}

function stormLines({ storms }: MetadataTimeline): string[] {
  return storms.map(({ fromMs, toMs, changes, partitions, brokers }) => {
    const took = formatDuration(toMs - fromMs)
    const who = brokers.length === 0 ? '' : `, brokers ${list(brokers)}`
    return `${timeText(fromMs)}  ${changes} changes in ${took}: ${count(partitions, 'partition')}${who}`
  })
}

const namesMax = 12

/** Topics of the partitions that never changed. */
function quietNames(partitions: readonly PartitionHistory[]): string {
  const quiet = partitions.filter(({ changes }) => changes.length === 1)
  const topics = [...new Set(quiet.map(({ topic }) => topic))]
  const more = topics.length > namesMax ? ` and ${topics.length - namesMax} more topics` : ''
  return `${topics.slice(0, namesMax).join(', ')}${more}`
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
