/** Cost as work grows, out of the findings of the trial over 1 to 10,000 partitions. */
import type { TickFormat } from '../../src/lab/report/chart.ts'
import type { Finding } from '../trial.ts'

export interface Curve {
  readonly id: string
  readonly title: string
  readonly question: string
  readonly description: string
  readonly format: TickFormat
  readonly unit: string
  readonly color: number
  readonly partitions: readonly number[]
  readonly medians: readonly number[]
  readonly p25: readonly number[]
  readonly p75: readonly number[]
}

interface Told extends Pick<Curve, 'id' | 'title' | 'question' | 'format' | 'unit' | 'color'> {
  /** Behind the number of partitions in the finding's name. */
  readonly suffix: string
  /** Of what the finding has, into what is drawn. */
  readonly scale: number
}

const told: readonly Told[] = [
  {
    id: 'rate',
    title: 'Payload acknowledged',
    question: 'Three replicas, acks=all, batches of 16 KiB. A cliff would be a step below 0.8.',
    ...{ suffix: '', scale: 1e6, format: 'bytes', unit: '/s', color: 1 },
  },
  {
    id: 'cpu',
    title: 'Processor time',
    question: 'Of all threads of the process, for a GB of payload.',
    ...{ suffix: ', CPU', scale: 1e3, format: 'ms', unit: '/GB', color: 2 },
  },
  {
    id: 'memory',
    title: 'Memory of a partition',
    question: 'Resident, of all three replicas, over what the process takes with one partition.',
    ...{ suffix: ', memory of each', scale: 1, format: 'bytes', unit: '', color: 3 },
  },
]

/** Names are those that `partitions-curve.trial.ts` gives; what it did not measure is left out. */
export function curvesOf(findings: readonly Finding[]): Curve[] {
  return told.flatMap(({ suffix, scale, ...about }) => {
    const points = findings.flatMap((finding) => {
      const found = / over (\d+(?:,\d{3})*)(.*)$/.exec(finding.name)
      if (found === null || found[2] !== suffix) return []
      return [{ partitions: Number(found[1]!.replaceAll(',', '')), finding }]
    })
    if (points.length < 2) return []
    const column = (of: 'median' | 'p25' | 'p75'): number[] => {
      return points.map(({ finding }) => finding[of] * scale)
    }
    const description = points
      .map(({ partitions, finding }) => `${partitions}: ${finding.median} ${finding.unit}`)
      .join(', ')
    const partitions = points.map((point) => point.partitions)
    const values = { medians: column('median'), p25: column('p25'), p75: column('p75') }
    return [{ ...about, description, partitions, ...values }]
  })
}
