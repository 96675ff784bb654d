/** The six charts of a catch-up report, one function each. */
import type { CatchUpResult, SeriesRow, TrajectoryPoint } from '../result.ts'
import { type Chart, lastOf, peakOf } from './chart.ts'
import { formatBytes, formatCount, formatDuration, formatShortCount } from './quantity.ts'

export function chartsOf(result: CatchUpResult): Chart[] {
  return [
    lagBytesChart(result),
    offsetsChart(result),
    lagTimeChart(result),
    rateChart(result),
    latencyChart(result),
    inSyncChart(result),
  ]
}

export function lagBytesChart({ series: rows, predicted }: CatchUpResult): Chart {
  const lag = rows.map((row) => row.lagBytes)
  const expected = predicted === null ? null : along(rows, predicted.trajectory)
  const peak = peakOf(lag)
  const records = rows.map((row) => row.lagRecords)
  const peakText = `peak ${formatBytes(peak?.value ?? null)}`
  return {
    id: 'lag-bytes',
    title: 'Lag: measured against predicted',
    question: 'How far behind the moving log end is the follower, and did the prediction hold?',
    description: `Lag of the follower in bytes. ${peakText}${at(rows, peak)}, ${formatBytes(lastOf(lag))} at the end. A dashed line shows the prediction.`,
    axis: 'bytes behind',
    format: 'bytes',
    scale: 'linear',
    fromZero: true,
    series: [
      {
        label: 'Measured',
        color: 1,
        format: 'bytes',
        values: lag,
        rest: peakText,
        fill: true,
        width: 2,
      },
      ...(expected === null
        ? []
        : [
            {
              label: 'Predicted',
              color: 2,
              format: 'bytes' as const,
              values: expected,
              rest: `peak ${formatBytes(peakOf(expected)?.value ?? null)}`,
              dash: [6, 4],
              width: 2,
            },
          ]),
      {
        label: 'In records',
        color: 1,
        format: 'count',
        values: records,
        rest: `peak ${formatShortCount(peakOf(records)?.value ?? null)}`,
        hidden: true,
      },
    ],
  }
}

export function offsetsChart({ series: rows, scenario }: CatchUpResult): Chart {
  const last = rows.at(-1)
  const follower = rows.map((row) => row.followerLogEndOffset)
  return {
    id: 'offsets',
    title: 'Log end, high watermark, follower',
    question: 'What was written, what is committed, and what the follower has.',
    description: `Sums of offsets over all partitions. At the end: log end ${formatCount(last?.logEndOffset ?? null)}, high watermark ${formatCount(last?.highWatermark ?? null)}, follower ${formatCount(lastOf(follower))}.`,
    axis: 'records',
    format: 'count',
    scale: 'linear',
    fromZero: false,
    series: [
      line('Log end offset', 1, rows, (row) => row.logEndOffset),
      { ...line('High watermark', 3, rows, (row) => row.highWatermark), dash: [2, 3], width: 2 },
      {
        ...line(
          `Log end of follower ${scenario.follower}`,
          2,
          rows,
          (row) => row.followerLogEndOffset,
        ),
        width: 2,
      },
    ],
  }
}

export function lagTimeChart({ series: rows, scenario }: CatchUpResult): Chart {
  const lag = rows.map((row) => row.lagTimeMs)
  const peak = peakOf(lag)
  const limit = scenario.replicaLagTimeMaxMs
  return {
    id: 'lag-time',
    title: 'Lag in time',
    question: 'Since when has the follower lacked something the leader has? Worst partition.',
    description: `Lag in time of the worst partition. Peak ${formatDuration(peak?.value ?? null)}${at(rows, peak)}; the limit of the ISR is ${formatDuration(limit)}.`,
    axis: 'time behind',
    format: 'ms',
    scale: 'linear',
    fromZero: true,
    top: limit * 1.2,
    threshold: { value: limit, label: 'replica.lag.time.max.ms' },
    series: [
      {
        label: 'Worst partition',
        color: 1,
        format: 'ms',
        values: lag,
        rest: `peak ${formatDuration(peak?.value ?? null)}`,
        fill: true,
        width: 2,
      },
      {
        label: 'Partitions lagging',
        color: 1,
        format: 'count',
        values: rows.map((row) => row.laggingPartitions),
        rest: `peak ${formatCount(peakOf(rows.map((row) => row.laggingPartitions))?.value ?? null)}`,
        hidden: true,
      },
    ],
  }
}

export function rateChart({ series: rows }: CatchUpResult): Chart {
  return {
    id: 'rate',
    title: 'Produced and acknowledged',
    question: 'Did the producers notice? The two lines part only while acknowledgements are held.',
    description: `Records a second. Mean produced ${formatShortCount(mean(rows, (row) => row.producedRecordsPerSec))}, mean acknowledged ${formatShortCount(mean(rows, (row) => row.ackedRecordsPerSec))}.`,
    axis: 'records/s',
    format: 'recordsPerSec',
    scale: 'linear',
    fromZero: true,
    series: [
      rateLine('Produced', 1, rows, (row) => row.producedRecordsPerSec),
      { ...rateLine('Acknowledged', 2, rows, (row) => row.ackedRecordsPerSec), dash: [5, 3] },
    ],
  }
}

export function latencyChart({ series: rows, foreground, scenario }: CatchUpResult): Chart {
  const before = foreground.before?.ackMs ?? null
  const after = foreground.after?.ackMs ?? null
  return {
    id: 'latency',
    title: 'Acknowledgement latency',
    question: `acks=${scenario.acks}, counted from the instant a record was due. Logarithmic axis.`,
    description: `Latency of acknowledgements, median, 99th percentile and maximum, on a logarithmic axis. p99 before the fault ${formatDuration(before?.p99 ?? null)}, after it ${formatDuration(after?.p99 ?? null)}.`,
    axis: 'latency',
    format: 'ms',
    scale: 'log',
    fromZero: false,
    series: [
      latencyLine('p50', 1, rows, (row) => row.ackP50Ms),
      { ...latencyLine('p99', 2, rows, (row) => row.ackP99Ms), width: 2 },
      { ...latencyLine('max', 4, rows, (row) => row.ackMaxMs), dash: [2, 3] },
    ],
  }
}

export function inSyncChart({ series: rows, scenario }: CatchUpResult): Chart {
  const below = rows.map((row) => row.partitionsBelowFull)
  const peak = peakOf(below)
  return {
    id: 'in-sync',
    title: 'In-sync replicas',
    question: 'Size of the ISR as the controller committed it, over all partitions.',
    description: `Size of the ISR, mean and smallest, of ${scenario.replicationFactor} replicas. At most ${formatCount(peak?.value ?? null)} partitions had fewer${at(rows, peak)}; ${formatCount(lastOf(below))} at the end.`,
    axis: 'replicas',
    format: 'replicas',
    scale: 'linear',
    fromZero: true,
    top: scenario.replicationFactor + 0.5,
    threshold: { value: scenario.minInsync, label: 'min.insync.replicas' },
    series: [
      {
        label: 'Mean',
        color: 1,
        format: 'replicas',
        values: rows.map((row) => row.inSyncReplicasMean),
        rest: '',
        width: 2,
      },
      {
        label: 'Smallest',
        color: 2,
        format: 'replicas',
        values: rows.map((row) => row.inSyncReplicasMin),
        rest: '',
        dash: [5, 3],
        stepped: true,
      },
      {
        label: 'Partitions below full',
        color: 1,
        format: 'count',
        values: below,
        rest: `peak ${formatCount(peak?.value ?? null)}`,
        hidden: true,
      },
    ],
  }
}

/** The predicted lag at the instants of the rows, linear between points, nothing outside them. */
export function along(
  rows: readonly Pick<SeriesRow, 'atMs'>[],
  points: readonly TrajectoryPoint[],
): (number | null)[] {
  let next = 0
  return rows.map(({ atMs }) => {
    while (next < points.length && points[next]!.atMs < atMs) next++
    if (next === points.length) return null
    const right = points[next]!
    if (right.atMs === atMs) return right.lagBytes
    if (next === 0) return null
    const left = points[next - 1]!
    const share = (atMs - left.atMs) / (right.atMs - left.atMs)
    return left.lagBytes + (right.lagBytes - left.lagBytes) * share
  })
}

type Pick1 = (row: SeriesRow) => number | null

function line(label: string, color: number, rows: readonly SeriesRow[], pick: Pick1) {
  const values = rows.map(pick)
  return {
    label,
    color,
    format: 'count' as const,
    values,
    rest: formatShortCount(lastOf(values)),
    width: 1.5,
  }
}

function rateLine(label: string, color: number, rows: readonly SeriesRow[], pick: Pick1) {
  const rest = `mean ${formatShortCount(mean(rows, pick))}/s`
  return { ...line(label, color, rows, pick), format: 'recordsPerSec' as const, rest }
}

function latencyLine(label: string, color: number, rows: readonly SeriesRow[], pick: Pick1) {
  // A logarithmic axis has no zero.
  const values = rows.map(pick).map((value) => (value !== null && value > 0 ? value : null))
  const rest = `peak ${formatDuration(peakOf(values)?.value ?? null)}`
  return { label, color, format: 'ms' as const, values, rest, width: 1.5 }
}

function mean(rows: readonly SeriesRow[], pick: Pick1): number | null {
  if (rows.length === 0) return null
  return rows.reduce((sum, row) => sum + (pick(row) ?? 0), 0) / rows.length
}

function at(rows: readonly SeriesRow[], peak: { readonly index: number } | null): string {
  return peak === null ? '' : ` at ${formatDuration(rows[peak.index]!.atMs)}`
}
