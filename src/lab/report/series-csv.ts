import type { SeriesRow } from '../result.ts'

/**
 * Columns in the order of the file; each is a key of the row, so that CSV and JSON name it alike.
 */
export const seriesColumns = [
  'atMs',
  'phase',
  'logEndOffset',
  'highWatermark',
  'followerLogEndOffset',
  'lagRecords',
  'lagBytes',
  'lagTimeMs',
  'laggingPartitions',
  'inSyncReplicasMin',
  'inSyncReplicasMean',
  'partitionsBelowFull',
  'producedRecordsPerSec',
  'ackedRecordsPerSec',
  'ackP50Ms',
  'ackP99Ms',
  'ackMaxMs',
  'diskReadBytes',
  'ringBytes',
] as const satisfies readonly (keyof SeriesRow)[]

/**
 * RFC 4180 without quoting, which none of the values needs; nothing between commas is "no value".
 */
export function seriesCsv(rows: readonly SeriesRow[]): string {
  const lines = [seriesColumns.join(',')]
  for (const row of rows) lines.push(seriesColumns.map((column) => cell(row[column])).join(','))
  return `${lines.join('\n')}\n`
}

function cell(value: number | string | null): string {
  if (value === null) return ''
  if (typeof value === 'string') return value
  return Number.isFinite(value) ? String(Math.round(value * 1000) / 1000) : ''
}
