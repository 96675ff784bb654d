/**
 * Predicts how long a follower takes to catch up, from costs fitted to the run's own first reads.
 *
 * Three answers, from the crudest to the one that counts:
 *
 *   naive      x₀ / (c - λ)      copy bandwidth less load, as if reads cost nothing to set up
 *   fluid      x₀ / (μ - λ)      with μ = b / (a + b/c), what reads of b bytes really carry
 *   simulated  event by event    policy, chunks, ring, throttle, partitions of their own
 */
import { TidemarkError } from '../errors.ts'
import { limits } from '../limits.ts'
import {
  type CatchUpCosts,
  type CatchUpCourse,
  type CatchUpLoad,
  type CatchUpRules,
  simulateCatchUp,
} from './catch-up-model.ts'
import type { CatchUpPolicy, FittedFrom, Prediction } from './result.ts'
import { formatDuration, formatRate } from './units.ts'

export interface CatchUpQuestion {
  /** Bytes each partition lacks at the resume: finite, from 0. */
  readonly backlogBytes: ArrayLike<number>
  /** At which each log end moves, as many: finite, from 0. */
  readonly arrivalBytesPerSec: ArrayLike<number>
  readonly policy: CatchUpPolicy
  /** Chunk of one read; default `limits.catchUpReadBytesDefault`. */
  readonly readBytesMax?: number
  /** Fixed part of a read, from 0. */
  readonly setupMsPerRead: number
  /** Read, check and write together, above 0. */
  readonly copyBytesPerSec: number
  /** One look into the ring between two reads; default 0. */
  readonly pollMsPerRound?: number
  /** Ring bytes the same thread appends a second; default: at no cost. */
  readonly ringBytesPerSec?: number
  /** Ring bytes of one round at most; default `limits.followerRoundBytesMax`. */
  readonly pollBytesMax?: number
  /** As `CatchUpRules` has it; default: all is read at once. */
  readonly leavesLastBytesMin?: number
  /** Disk reads are paced to it; default: no throttle. */
  readonly throttleBytesPerSec?: number
  /**
   * How many times longer all of it takes than fitted, for a run whose load is not that of the fit:
   * leader and follower share processors. Default 1.
   */
  readonly slowdown?: number
  /** Standard deviation of one read about its fitted time; for `deviationMs`. Default 0. */
  readonly readDeviationMs?: number
  readonly fittedFrom: FittedFrom | string
}

/** `Prediction` is what the result document has of it. */
export interface CatchUpPrediction extends Prediction {
  /** x₀ / (μ - λ); null where μ ≤ λ. */
  readonly fluidMs: number | null
  /** Total produce rate at which this stops converging, were the backlog many reads deep. */
  readonly stableBytesPerSec: number
  /** One sentence: why it converges, or why it does not. */
  readonly verdict: string
  readonly reads: number
  readonly diskBytes: number
  readonly ringBytes: number
  /** Resume to the log end, each partition; infinite where it never is. */
  readonly perPartitionMs: Float64Array
  /**
   * Standard deviation of `catchUpMs` that the scatter of single reads leaves: a read that takes δ
   * longer lets λδ more arrive, so near the stability bound it grows without limit.
   */
  readonly deviationMs: number
}

/**
 * @throws {TidemarkError} INVALID_ARGUMENT naming the number that is out of its range.
 */
export function predictCatchUp(question: CatchUpQuestion): CatchUpPrediction {
  const { load, costs, rules } = checked(question)
  const course = simulateCatchUp(load, costs, rules)
  const total: Totals = {
    backlogBytes: sum(load.backlogBytes),
    arrivalBytesPerSec: sum(load.arrivalBytesPerSec),
  }
  const stableBytesPerSec = stabilityBound(load, costs, rules)
  // Whoever cannot carry the whole load through the ring falls behind again at once.
  const converges =
    course.outcome !== 'diverges' && total.arrivalBytesPerSec < costs.ringBytesPerSec
  return {
    catchUpMs: converges ? course.catchUpMs : null,
    naiveMs: naive(total, question),
    fluidMs: fluid(load, total, costs, rules),
    converges,
    verdict: verdictOf(course, converges, total, costs, stableBytesPerSec),
    stableBytesPerSec,
    setupMsPerRead: question.setupMsPerRead,
    copyBytesPerSec: question.copyBytesPerSec,
    floorLagBytes: floorLag(total, costs),
    fittedFrom: question.fittedFrom,
    trajectory: course.trajectory,
    reads: course.reads,
    diskBytes: course.diskBytes,
    ringBytes: course.ringBytes,
    perPartitionMs: course.perPartitionMs,
    deviationMs: converges ? deviation(course, question) : 0,
  }
}

interface Totals {
  readonly backlogBytes: number
  readonly arrivalBytesPerSec: number
}

function naive(total: Totals, question: CatchUpQuestion): number | null {
  const throttle = question.throttleBytesPerSec ?? Number.POSITIVE_INFINITY
  const copyBytesPerSec = Math.min(question.copyBytesPerSec, throttle)
  return drainMs(total.backlogBytes, copyBytesPerSec - total.arrivalBytesPerSec)
}

/** With reads as long as the backlog at the resume makes them on average. */
function fluid(
  load: CatchUpLoad,
  total: Totals,
  costs: CatchUpCosts,
  rules: CatchUpRules,
): number | null {
  let reads = 0
  for (const bytes of load.backlogBytes) reads += Math.ceil(bytes / rules.readBytesMax)
  if (reads === 0) return 0
  const rate = readRate(total.backlogBytes / reads, costs, rules)
  return drainMs(total.backlogBytes, rate - total.arrivalBytesPerSec)
}

function drainMs(bytes: number, bytesPerSec: number): number | null {
  if (bytes === 0) return 0
  return bytesPerSec > 0 ? (bytes / bytesPerSec) * 1000 : null
}

/** μ = b / (a + b/c), in bytes a second, with the look into the ring as a part of a. */
function readRate(bytes: number, costs: CatchUpCosts, rules: CatchUpRules): number {
  const fixedSec = (costs.setupMsPerRead + costs.pollMsPerRound) / 1000
  return Math.min(bytes / (fixedSec + bytes / costs.copyBytesPerSec), rules.throttleBytesPerSec)
}

/**
 * x* = λa / (1 - λ/c): what keeps arriving during the shortest possible read. Reads alone never get
 * below it, which is why "caught up" means the log end as it was when the read began.
 */
function floorLag(total: Totals, costs: CatchUpCosts): number {
  const { arrivalBytesPerSec } = total
  if (arrivalBytesPerSec >= costs.copyBytesPerSec) return Number.POSITIVE_INFINITY
  const fixedSec = (costs.setupMsPerRead + costs.pollMsPerRound) / 1000
  return (arrivalBytesPerSec * fixedSec) / (1 - arrivalBytesPerSec / costs.copyBytesPerSec)
}

/**
 * The total rate Λ, with each partition's share of it as given, up to which every partition in its
 * turn shrinks. While m partitions share the reads and those with shares W run through the ring,
 * one with share w shrinks if w Λ m < μ (1 - W Λ / ring rate). Smallest lag first has m = 1 and
 * goes by backlog, slow growers first among equals; round robin has all that are behind, and slow
 * growers leave first. Exact where the order of the backlogs stays what it is, as it does after an
 * outage with steady load.
 */
function stabilityBound(load: CatchUpLoad, costs: CatchUpCosts, rules: CatchUpRules): number {
  const behind = [...load.backlogBytes.keys()].filter((index) => load.backlogBytes[index]! > 0)
  const total = sum(load.arrivalBytesPerSec)
  const share = (index: number) =>
    total > 0 ? load.arrivalBytesPerSec[index]! / total : 1 / load.backlogBytes.length
  const roundRobin = rules.policy === 'round-robin'
  const backlog = (index: number) => (roundRobin ? 0 : load.backlogBytes[index]!)
  behind.sort((a, b) => backlog(a) - backlog(b) || share(a) - share(b))

  const unpaced = { ...rules, throttleBytesPerSec: Number.POSITIVE_INFINITY }
  const rate = readRate(rules.readBytesMax, costs, unpaced)
  let bound = costs.ringBytesPerSec
  let ringShare = 1 - behind.reduce((shares, index) => shares + share(index), 0)
  behind.forEach((index, done) => {
    const weight = share(index) * (roundRobin ? behind.length - done : 1)
    const byThread = rate / (weight + (rate * Math.max(0, ringShare)) / costs.ringBytesPerSec)
    bound = Math.min(bound, byThread, rules.throttleBytesPerSec / weight)
    ringShare += share(index)
  })
  return bound
}

/** Independent reads add up by squares; each delay lets more arrive, as the stretch says. */
function deviation(course: CatchUpCourse, question: CatchUpQuestion): number {
  const { readDeviationMs = 0, fittedFrom } = question
  const samples = typeof fittedFrom === 'string' ? undefined : fittedFrom.samples
  const firstLagBytes = course.trajectory[0]!.lagBytes
  if (course.reads === 0 || firstLagBytes === 0) return 0
  const stretch = Math.max(1, course.diskBytes / firstLagBytes)
  // The fitted mean is itself uncertain, and the same for all reads: that share adds up.
  const shared = samples === undefined ? 0 : course.reads / Math.sqrt(samples)
  return Math.hypot(Math.sqrt(course.reads), shared) * readDeviationMs * stretch
}

function verdictOf(
  course: CatchUpCourse,
  converges: boolean,
  total: Totals,
  costs: CatchUpCosts,
  stableBytesPerSec: number,
): string {
  const load = formatRate(total.arrivalBytesPerSec)
  const bound = formatRate(stableBytesPerSec)
  if (total.arrivalBytesPerSec >= costs.ringBytesPerSec) {
    const ring = formatRate(costs.ringBytesPerSec)
    return `diverges: ${load} arrive, the follower takes ${ring} through the ring`
  }
  if (!converges) return `diverges: ${load} arrive, catching up stops converging at ${bound}`
  const after = formatDuration(course.catchUpMs)
  if (total.arrivalBytesPerSec < stableBytesPerSec) {
    return `converges after ${after}: ${load} arrive, it would up to ${bound}`
  }
  const depth = 'though only because the backlog is a few reads deep'
  return `converges after ${after}, ${depth}: ${load} arrive`
}

function sum(values: ArrayLike<number>): number {
  let total = 0
  for (let index = 0; index < values.length; index++) total += values[index]!
  return total
}

function checked(question: CatchUpQuestion): {
  readonly load: CatchUpLoad
  readonly costs: CatchUpCosts
  readonly rules: CatchUpRules
} {
  const unlimited = Number.POSITIVE_INFINITY
  const { backlogBytes, arrivalBytesPerSec } = question
  if (backlogBytes.length !== arrivalBytesPerSec.length) {
    throw outOfRange('arrivalBytesPerSec', `${arrivalBytesPerSec.length} values`, 'one a partition')
  }
  const slowdown = positive('slowdown', question.slowdown ?? 1, 1e6)
  const setup = notNegative('setupMsPerRead', question.setupMsPerRead)
  const poll = notNegative('pollMsPerRound', question.pollMsPerRound ?? 0)
  return {
    load: {
      backlogBytes: amounts('backlogBytes', backlogBytes),
      arrivalBytesPerSec: amounts('arrivalBytesPerSec', arrivalBytesPerSec),
    },
    costs: {
      setupMsPerRead: setup * slowdown,
      copyBytesPerSec: positive('copyBytesPerSec', question.copyBytesPerSec) / slowdown,
      pollMsPerRound: poll * slowdown,
      ringBytesPerSec:
        positive('ringBytesPerSec', question.ringBytesPerSec ?? unlimited) / slowdown,
    },
    rules: {
      policy: question.policy,
      readBytesMax: positive(
        'readBytesMax',
        question.readBytesMax ?? limits.catchUpReadBytesDefault,
      ),
      leavesLastBytesMin: positive('leavesLastBytesMin', question.leavesLastBytesMin ?? unlimited),
      pollBytesMax: positive('pollBytesMax', question.pollBytesMax ?? limits.followerRoundBytesMax),
      throttleBytesPerSec: positive(
        'throttleBytesPerSec',
        question.throttleBytesPerSec ?? unlimited,
      ),
    },
  }
}

function amounts(name: string, values: ArrayLike<number>): Float64Array {
  return Float64Array.from(values, (value, index) => notNegative(`${name}[${index}]`, value))
}

function notNegative(name: string, value: number): number {
  if (value >= 0 && Number.isFinite(value)) return value
  throw outOfRange(name, String(value), 'must be finite and at least 0')
}

function positive(name: string, value: number, max = Number.POSITIVE_INFINITY): number {
  if (value > 0 && value <= max) return value
  throw outOfRange(
    name,
    String(value),
    max === Number.POSITIVE_INFINITY ? 'must be above 0' : `must be above 0, at most ${max}`,
  )
}

function outOfRange(name: string, value: string, allowed: string): TidemarkError {
  return new TidemarkError('INVALID_ARGUMENT', `${name} ${value}: ${allowed}`)
}
