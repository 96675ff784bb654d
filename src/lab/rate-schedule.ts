/**
 * When work is meant to arrive, in an open loop: fixed before the run and not changed by it. A
 * latency counts from the intended time, so that a stall delays everything that was meant to arrive
 * meanwhile and is not left out of the figures (coordinated omission).
 *
 * Arrivals are numbered from 0. Times are milliseconds after the schedule's start.
 */
import { TidemarkError } from '../errors.ts'
import { invariant } from '../invariant.ts'
import { SeededRandom } from './statistics-random.ts'

export interface ArrivalSchedule {
  /** How many arrivals are intended at `nowMs` or before. */
  dueCount(nowMs: number): number
  /** When arrival `index` is intended; never before that of `index - 1`. */
  intendedTimeMs(index: number): number
}

/** Evenly spaced: arrival n at n / rate. */
export class ConstantSchedule implements ArrivalSchedule {
  readonly #periodMs: number

  /** @throws {TidemarkError} INVALID_ARGUMENT for a rate that is not above 0 and finite. */
  constructor(arrivalsPerSec: number) {
    this.#periodMs = periodMs(arrivalsPerSec)
  }

  dueCount(nowMs: number): number {
    if (nowMs < 0) return 0
    const count = Math.floor(nowMs / this.#periodMs) + 1
    // A division rounds: what is due must agree with when it is intended, to the last bit.
    if (this.intendedTimeMs(count - 1) > nowMs) return count - 1
    return this.intendedTimeMs(count) <= nowMs ? count + 1 : count
  }

  intendedTimeMs(index: number): number {
    return index * this.#periodMs
  }
}

const blockLength = 1024
const stateWords = 4
const blocksMin = 64

/**
 * Independent arrivals (Poisson) from a seed: gaps are exponentially distributed. Gaps add up, so
 * blocks of them are generated in order; each block's start is kept (24 bytes for 1,024 arrivals),
 * so that any arrival can be asked for again.
 */
export class PoissonSchedule implements ArrivalSchedule {
  readonly #periodMs: number
  readonly #random: SeededRandom
  /** Time of the arrival before each block, and the generator's state there. */
  #blockTimesMs = new Float64Array(blocksMin)
  #blockStates = new Int32Array(blocksMin * stateWords)
  #blocksKnown = 1
  /** The block at hand. */
  readonly #timesMs = new Float64Array(blockLength)
  #block = -1
  /** What was due at the last question: time mostly goes on from there. */
  #dueCount = 0

  /** @throws {TidemarkError} INVALID_ARGUMENT for a rate that is not above 0 and finite. */
  constructor(arrivalsPerSec: number, seed: number) {
    this.#periodMs = periodMs(arrivalsPerSec)
    this.#random = new SeededRandom(seed)
    this.#random.save(this.#blockStates, 0)
  }

  dueCount(nowMs: number): number {
    let count = this.#dueCount
    while (count > 0 && this.intendedTimeMs(count - 1) > nowMs) count--
    while (this.intendedTimeMs(count) <= nowMs) count++
    this.#dueCount = count
    return count
  }

  intendedTimeMs(index: number): number {
    const block = Math.floor(index / blockLength)
    if (block !== this.#block) this.#load(block)
    return this.#timesMs[index - block * blockLength]!
  }

  #load(block: number): void {
    for (let next = Math.min(block, this.#blocksKnown - 1); next <= block; next++) {
      this.#generate(next)
    }
  }

  #generate(block: number): void {
    this.#random.restore(this.#blockStates, block * stateWords)
    let timeMs = this.#blockTimesMs[block]!
    for (let place = 0; place < blockLength; place++) {
      timeMs += this.#random.nextExponential() * this.#periodMs
      this.#timesMs[place] = timeMs
    }
    this.#block = block
    if (block + 1 < this.#blocksKnown) return
    if (this.#blocksKnown === this.#blockTimesMs.length) this.#grow()
    this.#blockTimesMs[block + 1] = timeMs
    this.#random.save(this.#blockStates, (block + 1) * stateWords)
    this.#blocksKnown++
  }

  #grow(): void {
    const times = new Float64Array(this.#blockTimesMs.length * 2)
    times.set(this.#blockTimesMs)
    this.#blockTimesMs = times
    const states = new Int32Array(this.#blockStates.length * 2)
    states.set(this.#blockStates)
    this.#blockStates = states
  }
}

/**
 * Arrivals as they were recorded, from their timestamps, `timeScale` times faster, and from the
 * beginning again after the last. Between two rounds lies the mean gap. Where a timestamp is
 * smaller than one before it (producers' clocks differ), the arrival counts as simultaneous with
 * that one.
 */
export class RecordedSchedule implements ArrivalSchedule {
  /** Arrivals of one round. */
  readonly length: number
  /** How long one round takes at the given scale. */
  readonly roundMs: number
  /** Timestamps that were smaller than one before them. */
  readonly reorderedCount: number
  readonly #offsetsMs: Float64Array
  #dueCount = 0

  /**
   * @param timestampsMs in any unit's milliseconds, not empty; copied.
   * @throws {TidemarkError} INVALID_ARGUMENT if there are none, if they never move, or for a scale
   *   that
   *   is not above 0 and finite.
   */
  constructor(timestampsMs: ArrayLike<number>, timeScale = 1) {
    const count = timestampsMs.length
    if (!(timeScale > 0 && Number.isFinite(timeScale))) {
      throw new TidemarkError('INVALID_ARGUMENT', `time scale ${timeScale}: must be above 0`)
    }
    this.length = count
    this.#offsetsMs = new Float64Array(count)
    let latestMs = count === 0 ? 0 : timestampsMs[0]!
    const firstMs = latestMs
    let reordered = 0
    for (let index = 0; index < count; index++) {
      if (timestampsMs[index]! < latestMs) reordered++
      else latestMs = timestampsMs[index]!
      this.#offsetsMs[index] = (latestMs - firstMs) / timeScale
    }
    if (!(latestMs > firstMs)) {
      const recorded = `recorded timestamps of ${count} arrivals`
      throw new TidemarkError('INVALID_ARGUMENT', `${recorded}: must be several that move on`)
    }
    const spanMs = this.#offsetsMs[count - 1]!
    this.reorderedCount = reordered
    this.roundMs = spanMs + spanMs / (count - 1)
  }

  dueCount(nowMs: number): number {
    let count = this.#dueCount
    while (count > 0 && this.intendedTimeMs(count - 1) > nowMs) count--
    while (this.intendedTimeMs(count) <= nowMs) count++
    this.#dueCount = count
    return count
  }

  intendedTimeMs(index: number): number {
    const round = Math.floor(index / this.length)
    return round * this.roundMs + this.#offsetsMs[index - round * this.length]!
  }
}

/**
 * Which partition each arrival is for: every partition once a round, in an order that has nothing
 * to do with the order of their numbers, the same for the same seed.
 */
export class PartitionRotation {
  readonly #count: number
  readonly #first: number
  readonly #stride: number

  /** `partitionCount` from 1. */
  constructor(partitionCount: number, seed: number) {
    invariant(partitionCount >= 1, 'a rotation over no partitions')
    const random = new SeededRandom(seed, 1)
    this.#count = partitionCount
    this.#first = random.nextBelow(partitionCount)
    let stride = 1 + random.nextBelow(partitionCount)
    while (greatestCommonDivisor(stride, partitionCount) !== 1) stride++
    this.#stride = stride
  }

  /** From 0 to `partitionCount - 1`. */
  partitionOf(index: number): number {
    return (this.#first + (index % this.#count) * this.#stride) % this.#count
  }
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}

function periodMs(arrivalsPerSec: number): number {
  if (arrivalsPerSec > 0 && Number.isFinite(arrivalsPerSec)) return 1000 / arrivalsPerSec
  const rate = `arrival rate ${arrivalsPerSec} a second`
  throw new TidemarkError('INVALID_ARGUMENT', `${rate}: must be above 0 and finite`)
}
