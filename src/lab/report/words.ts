/** A run in words: the same sentences for the report's head and the terminal. */
import { endsTheBroker, faultWords } from '../faults.ts'
import type { CatchUpResult, CatchUpScenario, FlushPolicy, ThroughputScenario } from '../result.ts'
import {
  formatBytes,
  formatDuration,
  formatRate,
  formatSignedPercent,
  formatSizeOption,
  plural,
} from './quantity.ts'

export type Tone = 'good' | 'warn' | 'bad'

export interface Verdict {
  readonly tone: Tone
  /** One or two words. */
  readonly badge: string
  readonly headline: string
  /** What happened to the follower, in one or two sentences. */
  readonly story: string
  /** How the prediction did, in one sentence. */
  readonly prediction: string
}

export function verdictOf(result: CatchUpResult): Verdict {
  const faults = faultsOf(result)
  const story = storyOf(result)
  const prediction = predictionOf(result)
  const took = formatDuration(result.catchUpMs)
  if (faults.length > 0) {
    const said = faults.join(', ')
    const headline = result.outcome === 'converged' ? `Converged in ${took}, but ${said}` : said
    return { tone: 'bad', badge: 'Broken promise', headline: capital(headline), story, prediction }
  }
  if (result.interrupted) {
    const headline = `Interrupted after ${formatDuration(result.series.at(-1)?.atMs ?? 0)}`
    return { tone: 'warn', badge: 'Interrupted', headline, story, prediction }
  }
  if (result.outcome === 'converged') {
    const headline = `Converged in ${took}`
    return { tone: 'good', badge: 'Converged', headline, story, prediction }
  }
  if (result.outcome === 'diverges') {
    const headline = 'Does not converge: the log end outruns the copy'
    return { tone: 'bad', badge: 'Diverges', headline, story, prediction }
  }
  const headline = `Not caught up after ${formatDuration(result.scenario.timeoutMs)}`
  return { tone: 'bad', badge: 'Timed out', headline, story, prediction }
}

/** What must never be, and was: each a phrase. Empty: all promises kept. */
export function faultsOf(result: CatchUpResult): string[] {
  const { records, invariants, highWatermark } = result
  const faults: string[] = []
  if (records.lost > 0) faults.push(`${plural(records.lost, 'record')} lost`)
  if (records.duplicated > 0) faults.push(`${plural(records.duplicated, 'record')} duplicated`)
  if (invariants.violations > 0) {
    faults.push(`${plural(invariants.violations, 'invariant violation')}`)
  }
  if (highWatermark.wentBack > 0) {
    faults.push(`the high watermark went back ${plural(highWatermark.wentBack, 'time')}`)
  }
  return faults
}

export function storyOf(result: CatchUpResult): string {
  const { scenario, evictedAfterMs, backlogBytes, catchUpMs } = result
  const fault = mainFault(scenario)
  if (fault.kind === 'controller') return storyWithoutController(result)
  const stayed = endsTheBroker(fault) ? ' and stayed away' : ''
  const what = `was ${faultWords(fault)}${stayed} for ${formatDuration(scenario.outageMs)}`
  const others = scenario.faults.length - 1
  const more = others === 0 ? '' : ` and ${plural(others, 'other fault')} came with it`
  const start = `${roleOf(result)} ${scenario.follower} ${what} under load${more}.`
  if (evictedAfterMs === null) return `${start} It did not leave the in-sync replicas.`
  const left = `After ${formatDuration(evictedAfterMs.median)} (median) its partitions went on without it.`
  if (backlogBytes === 0 && catchUpMs === null) return `${start} ${left}`
  const back = `It came back ${formatBytes(backlogBytes)} behind a log end that kept moving`
  const end = catchUpMs === null ? '.' : ` and had reached it ${formatDuration(catchUpMs)} later.`
  return `${start} ${left} ${back}${end}`
}

function storyWithoutController({ scenario, evictedAfterMs }: CatchUpResult): string {
  const { follower, outageMs } = scenario
  const away = `The controller's thread was killed under load, and for ${formatDuration(outageMs)} there was none.`
  if (evictedAfterMs === null) return `${away} Broker ${follower} stayed in sync.`
  const left = formatDuration(evictedAfterMs.median)
  return `${away} After ${left} (median) partitions went on without broker ${follower}.`
}

export function predictionOf({ predicted, predictionError }: CatchUpResult): string {
  if (predicted === null) return 'No prediction: there were no disk reads to fit it from.'
  const naive = `backlog over spare bandwidth alone says ${formatDuration(predicted.naiveMs)}`
  if (!predicted.converges || predicted.catchUpMs === null) {
    return `The prediction: it never catches up at this rate; ${naive}.`
  }
  const error =
    predictionError === null
      ? ''
      : `, ${formatSignedPercent(predictionError)} off the measured time`
  return `Predicted ${formatDuration(predicted.catchUpMs)}${error}; ${naive}.`
}

export function scenarioOf(scenario: CatchUpScenario): string {
  const rate =
    scenario.rateBytesPerSec === 'max'
      ? 'as fast as it goes'
      : formatRate(scenario.offeredBytesPerSec ?? numberOr(scenario.rateBytesPerSec))
  return [
    ...clusterWords(scenario),
    `min ISR ${scenario.minInsync}`,
    `${rate} of ${payloadWords(scenario)}`,
    `acks=${scenario.acks}`,
    `${faultTitle(scenario)} for ${formatDuration(scenario.outageMs)}`,
    `lag limit ${formatDuration(scenario.replicaLagTimeMaxMs)}`,
  ].join(' · ')
}

export function throughputScenarioOf(scenario: ThroughputScenario): string {
  const { rateBytesPerSec: rate } = scenario
  return [
    ...clusterWords(scenario),
    payloadWords(scenario),
    `acks=${scenario.acks}`,
    rate === 'max' ? 'as fast as it goes' : `${formatRate(rate)} offered`,
    plural(scenario.producers, 'producer'),
  ].join(' · ')
}

export function flushWords(flush: FlushPolicy): string {
  if (flush.kind === 'os') return 'left to the operating system'
  return flush.kind === 'batch' ? 'after each batch' : `every ${formatDuration(flush.ms)}`
}

function clusterWords(scenario: CatchUpScenario | ThroughputScenario): string[] {
  return [
    plural(scenario.brokers, 'broker'),
    plural(scenario.partitions, 'partition'),
    `replication factor ${scenario.replicationFactor}`,
    scenario.leaders === 'one' ? 'one leader' : 'leaders spread',
  ]
}

function payloadWords(scenario: CatchUpScenario | ThroughputScenario): string {
  const packed = scenario.compression === 'none' ? '' : `, ${scenario.compression}`
  const batches = `in ${formatSizeOption(scenario.batchBytes)} batches${packed}`
  if (scenario.input !== null) return `records of ${scenario.input} ${batches}`
  return `${formatSizeOption(scenario.recordBytes)} records ${batches}`
}

/** What happened to the broker under study, or to the first that anything happened to. */
function faultTitle({ fault, follower }: CatchUpScenario): string {
  return fault === 'controller' ? 'no controller' : `${fault} broker ${follower}`
}

function mainFault({ faults, follower }: CatchUpScenario) {
  return faults.find(({ broker }) => broker === follower) ?? faults[0]!
}

function roleOf({ failover }: CatchUpResult): string {
  return failover === null ? 'Follower' : 'Leader'
}

function numberOr(value: number | string): number | null {
  return typeof value === 'number' ? value : null
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
