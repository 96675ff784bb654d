/**
 * What a disk read of the follower costs, learned from the first reads of the run itself:
 * T(b) = a + b/c with a fixed part a and a copy bandwidth c.
 *
 * The line is Theil and Sen's (median of the slopes between pairs, then median of what is left),
 * which a few stalled reads cannot bend. A median says what a read usually takes, though, and
 * catching up takes the sum: `meanFactor` is what the stalls add to it. From one read's begin to
 * the next is a round: what of it is not the read is the look into the ring and all else the thread
 * does.
 */
import { TidemarkError } from '../errors.ts'
import type { FittedFrom } from './result.ts'
import { median, quantilesOf } from './statistics.ts'

/** Disk reads one after the other: bytes above 0, and the time of read, check and write. */
export interface ReadSamples {
  readonly bytes: ArrayLike<number>
  readonly ms: ArrayLike<number>
  /** When the round of each read began, milliseconds after the resume, ascending. */
  readonly atMs?: ArrayLike<number>
}

export type FitMethod =
  /** Both parts come from the samples. */
  | 'line'
  /** Longer reads took no longer: all cost is the fixed part, the bandwidth only a lower bound. */
  | 'constant'
  /** The line met the axis below zero: all cost is bandwidth. */
  | 'proportional'
  /** Reads of one size cannot tell the parts: the bandwidth is `assumedCopyBytesPerSec`. */
  | 'one-size'

export interface ReadCostFit {
  readonly setupMsPerRead: number
  readonly copyBytesPerSec: number
  /** What a round takes beside its read; 0 without `atMs`. */
  readonly pollMsPerRound: number
  /** Mean of the real times over mean of the fitted ones; a `slowdown` for predictions of sums. */
  readonly meanFactor: number
  /** Scatter of one read about the line, as a standard deviation, outliers included. */
  readonly readDeviationMs: number
  readonly fittedFrom: FittedFrom & { readonly method: FitMethod }
}

export interface FitOptions {
  /** Bandwidth to go by where the samples cannot tell it; default 1.5 GB/s. */
  readonly assumedCopyBytesPerSec?: number
  /** Reads waited for a throttle: the time between them says nothing. Default false. */
  readonly throttled?: boolean
}

/** Reads below which nothing is left out, and by how much slower the first half then was. */
const settledSamplesMin = 40
const settledRatioMax = 1.15
/** Pairs grow with the square: 200 samples make 19,900, sorted in about 2 ms. */
const pairSamplesMax = 200
const assumedCopyBytesPerSecDefault = 1.5e9
/** Sizes closer than this share of the largest are one size. */
const sizeSpreadMin = 0.02

/**
 * @throws {TidemarkError} INVALID_ARGUMENT without samples, or with one that is not a size above 0
 *   and a
 *   time from 0.
 */
export function fitReadCost(given: ReadSamples, options: FitOptions = {}): ReadCostFit {
  checkSamples(given)
  const samples = settled(given)
  const count = samples.bytes.length
  const { setupMs, msPerByte, method } = line(
    pick(samples, pairSamplesMax),
    1000 / (options.assumedCopyBytesPerSec ?? assumedCopyBytesPerSecDefault),
  )
  const fittedMs = Float64Array.from(
    { length: count },
    (_, index) => setupMs + msPerByte * samples.bytes[index]!,
  )
  const squares = fittedMs.reduce((sum, ms, index) => sum + (samples.ms[index]! - ms) ** 2, 0)
  const poll = options.throttled === true ? undefined : fitPoll(samples, fittedMs)
  return {
    setupMsPerRead: setupMs,
    copyBytesPerSec: 1000 / msPerByte,
    pollMsPerRound: poll?.ms ?? 0,
    meanFactor: poll?.meanFactor ?? ratio(sum(samples.ms), sum(fittedMs)),
    readDeviationMs: Math.sqrt(squares / count),
    fittedFrom: { samples: count, windowMs: windowMs(samples), method },
  }
}

/**
 * The first reads run code that is not compiled yet, and open files nobody has opened: two to four
 * times slower than those to come. Halves are left out at the beginning until both cost alike.
 */
function settled(samples: ReadSamples): ReadSamples {
  const count = samples.bytes.length
  if (count < settledSamplesMin) return samples
  const { setupMs, msPerByte } = line(
    pick(samples, pairSamplesMax),
    1000 / assumedCopyBytesPerSecDefault,
  )
  const cost = Float64Array.from({ length: count }, (_, index) => {
    return samples.ms[index]! / (setupMs + msPerByte * samples.bytes[index]!)
  })
  const half = count >> 1
  const isSettled = median(cost.subarray(0, half)) <= settledRatioMax * median(cost.subarray(half))
  return isSettled ? samples : settled(tail(samples, half))
}

function tail({ bytes, ms, atMs }: ReadSamples, start: number): ReadSamples {
  const rest = (values: ArrayLike<number>) => Float64Array.from(values).subarray(start)
  const kept = { bytes: rest(bytes), ms: rest(ms) }
  return atMs === undefined ? kept : { ...kept, atMs: rest(atMs) }
}

/**
 * Reads of one round begin at the same time, as the round does. What the round takes beside them is
 * theirs in equal parts. Undefined where there is no whole round.
 */
function fitPoll(
  { ms, atMs }: ReadSamples,
  fittedMs: Float64Array,
): { readonly ms: number; readonly meanFactor: number } | undefined {
  if (atMs === undefined) return undefined
  const besidePerRead: number[] = []
  let whole = 0
  for (let first = 0, roundMs = 0, index = 0; index + 1 < ms.length; index++) {
    roundMs += ms[index]!
    const nextAtMs = atMs[index + 1]!
    if (nextAtMs === atMs[index]!) continue
    const reads = index + 1 - first
    const besideMs = Math.max(0, nextAtMs - atMs[first]! - roundMs) / reads
    for (let read = 0; read < reads; read++) besidePerRead.push(besideMs)
    whole = index + 1
    first = whole
    roundMs = 0
  }
  if (whole === 0) return undefined
  const pollMs = median(Float64Array.from(besidePerRead))
  const realMs = sum(besidePerRead) + sum(Float64Array.from(ms).subarray(0, whole))
  const expectedMs = whole * pollMs + sum(fittedMs.subarray(0, whole))
  return { ms: pollMs, meanFactor: ratio(realMs, expectedMs) }
}

function ratio(real: number, expected: number): number {
  return expected > 0 && real > 0 ? real / expected : 1
}

function sum(values: ArrayLike<number>): number {
  let total = 0
  for (let index = 0; index < values.length; index++) total += values[index]!
  return total
}

interface Line {
  readonly setupMs: number
  readonly msPerByte: number
  readonly method: FitMethod
}

interface Points {
  readonly bytes: Float64Array
  readonly ms: Float64Array
}

function line(points: Points, assumedMsPerByte: number): Line {
  const { bytes, ms } = points
  const [smallest, largest] = quantilesOf(bytes, [0, 1])
  if (largest! - smallest! <= sizeSpreadMin * largest!) return oneSize(points, assumedMsPerByte)
  const msPerByte = medianSlope(points)
  if (!(msPerByte > 0)) {
    // The fixed part is what reads take; the copy must fit into the quickest of them.
    const quickest = quantilesOf(ms, [0.1])[0]!
    const boundMsPerByte = Math.min(assumedMsPerByte, quickest / largest!) || assumedMsPerByte
    return { ...through(points, boundMsPerByte), method: 'constant' }
  }
  const setupMs = median(ms.map((value, index) => value - msPerByte * bytes[index]!))
  if (setupMs >= 0) return { setupMs, msPerByte, method: 'line' }
  const perByte = median(ms.map((value, index) => value / bytes[index]!))
  return { setupMs: 0, msPerByte: perByte, method: 'proportional' }
}

function oneSize(points: Points, assumedMsPerByte: number): Line {
  const perByte = median(points.ms.map((value, index) => value / points.bytes[index]!))
  const msPerByte = perByte > 0 ? Math.min(assumedMsPerByte, perByte) : assumedMsPerByte
  return { ...through(points, msPerByte), method: 'one-size' }
}

/** The fixed part that goes with a given slope. */
function through(points: Points, msPerByte: number): { setupMs: number; msPerByte: number } {
  const rest = points.ms.map((value, index) => value - msPerByte * points.bytes[index]!)
  return { setupMs: Math.max(0, median(rest)), msPerByte }
}

/** Pairs of nearly the same size say nothing but noise and are left out. */
function medianSlope({ bytes, ms }: Points): number {
  const slopes: number[] = []
  const distanceMin = (sizeSpreadMin / 2) * quantilesOf(bytes, [1])[0]!
  for (let first = 0; first < bytes.length; first++) {
    for (let second = first + 1; second < bytes.length; second++) {
      const distance = bytes[second]! - bytes[first]!
      if (Math.abs(distance) < distanceMin) continue
      slopes.push((ms[second]! - ms[first]!) / distance)
    }
  }
  return median(slopes)
}

/** At most `countMax` samples, spread evenly over all. */
function pick(samples: ReadSamples, countMax: number): Points {
  const count = samples.bytes.length
  const kept = Math.min(count, countMax)
  const place = (index: number) => Math.floor((index * count) / kept)
  return {
    bytes: Float64Array.from({ length: kept }, (_, index) => samples.bytes[place(index)]!),
    ms: Float64Array.from({ length: kept }, (_, index) => samples.ms[place(index)]!),
  }
}

/** From the resume to the end of the last read; without `atMs`, the time of the reads alone. */
function windowMs({ atMs, ms }: ReadSamples): number {
  const last = ms.length - 1
  return atMs === undefined ? sum(ms) : atMs[last]! + ms[last]!
}

function checkSamples({ bytes, ms, atMs }: ReadSamples): void {
  const count = bytes.length
  if (count === 0 || ms.length !== count || (atMs !== undefined && atMs.length !== count)) {
    const lengths = `${count} sizes and ${ms.length} times`
    throw new TidemarkError('INVALID_ARGUMENT', `read samples ${lengths}: as many, at least 1`)
  }
  for (let index = 0; index < count; index++) {
    const sound =
      bytes[index]! > 0 && ms[index]! >= 0 && Number.isFinite(bytes[index]! + ms[index]!)
    if (sound) continue
    const sample = `${bytes[index]} bytes in ${ms[index]} ms`
    const allowed = 'must be bytes above 0 and a time from 0'
    throw new TidemarkError('INVALID_ARGUMENT', `read sample ${index} of ${sample}: ${allowed}`)
  }
}
