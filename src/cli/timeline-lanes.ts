/** A metadata log as a picture: a lane a broker, a lane a partition, time to the right. */
import { type Html, html } from '../lab/report/html.ts'
import { formatDuration } from '../lab/units.ts'
import type {
  BrokerEventKind,
  BrokerHistory,
  MetadataTimeline,
  PartitionHistory,
} from '../log-tools/timeline-model.ts'
import { type TimeScale, timeScale } from './timeline-scale.ts'
import { changeText, list, timeText, wordOfEvent } from './timeline-words.ts'

const gutter = 190
const pictureWidth = 1_360
const right = 24
const axisHeight = 34
const brokerLaneHeight = 22
const replicaRowHeight = 9
const laneGap = 12

/** More lanes than this nobody can read; those of most changes are drawn. */
export const lanesMax = 120

export interface Picture {
  readonly svg: Html
  readonly drawn: number
}

interface Placed {
  readonly height: number
  readonly part: Html
}

export function timelinePicture(timeline: MetadataTimeline): Picture {
  const partitions = lanePartitions(timeline.partitions)
  const scale = timeScale(timesOf(timeline, partitions), gutter, pictureWidth - gutter - right)
  const endMs = timeline.toMs ?? 0
  let y = axisHeight + 8
  const parts: Html[] = []
  const put = (draw: (y: number) => Placed) => {
    const { height, part } = draw(y)
    parts.push(part)
    y += height
  }
  put((at) => controllerLane(timeline, scale, at))
  for (const broker of timeline.brokers) put((at) => brokerLane(broker, scale, endMs, at))
  for (const history of partitions) put((at) => partitionLane(history, scale, endMs, at))
  const height = y + 4
  const svg = html`<svg class="lanes" viewBox="0 0 ${pictureWidth} ${height}" role="img" aria-label="Brokers, partitions and their in-sync replicas over time">
<defs><pattern id="out" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" class="out-ground"/><rect width="2.4" height="6" class="out-stripe"/></pattern></defs>
${storms(timeline, scale, height)}${ticks(scale, height)}${parts}${breaks(scale, height)}</svg>`
  return { svg, drawn: partitions.length }
}

function lanePartitions(partitions: readonly PartitionHistory[]): PartitionHistory[] {
  const changed = partitions.filter(({ changes }) => changes.length > 1)
  const most = [...changed].sort((a, b) => b.changes.length - a.changes.length).slice(0, lanesMax)
  const drawn = new Set(most)
  return changed.filter((history) => drawn.has(history))
}

function timesOf(timeline: MetadataTimeline, partitions: readonly PartitionHistory[]): number[] {
  const { fromMs, toMs, brokers, controllers } = timeline
  return [
    ...(fromMs === null || toMs === null ? [] : [fromMs, toMs]),
    ...controllers.map(({ atMs }) => atMs),
    ...brokers.flatMap(({ events }) => events.map(({ atMs }) => atMs)),
    ...partitions.flatMap(({ changes }) => changes.map(({ atMs }) => atMs)),
  ]
}

function ticks(scale: TimeScale, height: number): Html {
  return html`${scale.ticks.map(({ x, atMs }) => {
    const label = tickText(atMs, scale.stepMs)
    return html`<line class="tick" x1="${px(x)}" x2="${px(x)}" y1="${axisHeight - 6}" y2="${height}"/><text class="axis" x="${px(x)}" y="${axisHeight - 14}">${label}</text>`
  })}`
}

/** Over the lanes: what is drawn there goes on unchanged for longer than the picture shows. */
function breaks(scale: TimeScale, height: number): Html {
  return html`${scale.breaks.map(({ x, fromMs, toMs }) => {
    const quiet = formatDuration(toMs - fromMs)
    return html`<g><title>nothing for ${quiet}</title><rect class="break" x="${px(x - 8)}" y="${axisHeight - 6}" width="16" height="${height - axisHeight + 6}"/><text class="cut" transform="translate(${px(x + 3.5)} ${axisHeight}) rotate(90)">${quiet} cut</text></g>`
  })}`
}

function tickText(atMs: number, stepMs: number): string {
  const text = timeText(atMs).slice(11)
  return stepMs < 1_000 ? text : text.slice(0, 8)
}

function storms({ storms: found }: MetadataTimeline, scale: TimeScale, height: number): Html {
  return html`${found.map(({ fromMs, toMs, changes }) => {
    const x = scale.x(fromMs)
    const width = Math.max(3, scale.x(toMs) - x)
    return html`<rect class="storm" x="${px(x)}" y="${axisHeight - 6}" width="${px(width)}" height="${height - axisHeight + 6}"><title>storm: ${changes} changes in ${formatDuration(toMs - fromMs)}</title></rect>`
  })}`
}

function controllerLane({ controllers }: MetadataTimeline, scale: TimeScale, y: number): Placed {
  const marks = controllers.map(({ epoch, controllerId, atMs }) => {
    const x = scale.x(atMs)
    const who = controllerId === null ? '' : ` (controller ${controllerId})`
    return html`<g><title>${timeText(atMs)}: controller epoch ${epoch}${who}</title><path class="controller" d="M${px(x)} ${y + 2}l6 6l-6 6l-6 -6z"/><text class="mark" x="${px(x + 9)}" y="${y + 12}">epoch ${epoch}${who}</text></g>`
  })
  return { height: 26, part: html`${laneName('controllers', y + 12)}${marks}` }
}

const brokerClasses: Readonly<Record<BrokerEventKind, string>> = {
  registered: 'fenced',
  fenced: 'fenced',
  unfenced: 'active',
  shuttingDown: 'leaving',
  unregistered: 'gone',
}

function brokerLane(
  { brokerId, events }: BrokerHistory,
  scale: TimeScale,
  endMs: number,
  y: number,
): Placed {
  const bars = events.map(({ atMs, kind, brokerEpoch }, at) => {
    const untilMs = events[at + 1]?.atMs ?? endMs
    const words = `broker ${brokerId} ${wordOfEvent(kind)} at ${timeText(atMs)}, epoch ${brokerEpoch}`
    return bar(scale, { fromMs: atMs, toMs: untilMs }, y, 13, brokerClasses[kind], words)
  })
  return { height: brokerLaneHeight, part: html`${laneName(`broker ${brokerId}`, y + 11)}${bars}` }
}

function partitionLane(
  history: PartitionHistory,
  scale: TimeScale,
  endMs: number,
  top: number,
): Placed {
  const { changes, topic, partition, removedAtMs } = history
  const y = top + laneGap
  const replicas = [...new Set(changes.flatMap((change) => change.replicas))].sort((a, b) => a - b)
  const rows = replicas.map((replica, row) => {
    const rowY = y + row * replicaRowHeight
    const bars = changes.map((change, at) => {
      if (!change.replicas.includes(replica)) return html``
      const span = { fromMs: change.atMs, toMs: changes[at + 1]?.atMs ?? removedAtMs ?? endMs }
      const isIn = change.inSyncReplicas.includes(replica)
      const look = change.leader === replica ? 'leads' : isIn ? 'in-sync' : 'out-of-sync'
      const state = `${topic}-${partition}, replica ${replica}: ${look.replaceAll('-', ' ')}`
      const epochs = `leader epoch ${change.leaderEpoch}, partition epoch ${change.partitionEpoch}`
      const since = `${timeText(change.atMs)}: ${changeText(change, history)}`
      const words = `${state}\nin sync ${list(change.inSyncReplicas)}; ${epochs}\n${since}`
      return bar(scale, span, rowY, replicaRowHeight - 1.5, look, words)
    })
    return html`<text class="replica" x="${gutter - 8}" y="${rowY + 7}">${replica}</text>${bars}`
  })
  const height = replicas.length * replicaRowHeight
  const part = html`${laneName(`${topic}-${partition}`, y + height / 2 + 3)}${rows}${offlineMarks(history, scale, y, endMs)}`
  return { height: height + laneGap, part }
}

function offlineMarks(
  { offline }: PartitionHistory,
  scale: TimeScale,
  y: number,
  endMs: number,
): Html {
  return html`${offline.map(({ fromMs, toMs, ms }) => {
    const x = scale.x(fromMs)
    const width = Math.max(3, scale.x(toMs ?? endMs) - x)
    return html`<rect class="offline" x="${px(x)}" y="${px(y - 4)}" width="${px(width)}" height="2.5"><title>without a leader for ${formatDuration(ms)}</title></rect>`
  })}`
}

function laneName(name: string, y: number): Html {
  const shown = name.length > 24 ? `${name.slice(0, 11)}…${name.slice(-12)}` : name
  return html`<text class="name" x="${gutter - 26}" y="${px(y)}">${shown}<title>${name}</title></text>`
}

function bar(
  scale: TimeScale,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  y: number,
  height: number,
  look: string,
  words: string,
): Html {
  const x = scale.x(fromMs)
  const width = Math.max(1.5, scale.x(toMs) - x)
  return html`<rect class="${look}" x="${px(x)}" y="${px(y)}" width="${px(width)}" height="${height}"><title>${words}</title></rect>`
}

function px(value: number): string {
  return String(Math.round(value * 10) / 10)
}
