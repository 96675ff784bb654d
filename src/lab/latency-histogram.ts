/**
 * Latency counters for the hot path: log-linear buckets in 32-bit words that may lie in shared
 * memory.
 *
 *   0 … 255 µs            one bucket a microsecond
 *   2^k … 2^(k+1) - 1 µs  128 buckets each, so a value is known to 1/128 (its middle to 0.4 %)
 *   10 min and above      counted as 10 min
 *
 * One thread writes a histogram; any thread may read it meanwhile and sees each word as it was at
 * some moment. Writers on several threads have a histogram each, merged by the reader.
 */
import { TidemarkError } from '../errors.ts'
import { invariant } from '../invariant.ts'

const subBucketBits = 7
const subBucketCount = 1 << subBucketBits
const latencyUsMax = 600_000_000

function bucketOf(us: number): number {
  const shift = 24 - Math.clz32(us | 255)
  return (shift << subBucketBits) + (us >>> shift)
}

/** Buckets, then words of the writer: largest value recorded, in µs. */
const bucketCount = bucketOf(latencyUsMax) + 1
const maxWord = bucketCount
export const latencyHistogramWords = bucketCount + 1
/** Shared memory that one histogram takes. */
export const latencyHistogramBytes = latencyHistogramWords * Int32Array.BYTES_PER_ELEMENT

invariant(bucketOf(255) === 255 && bucketOf(256) === 256, 'buckets join without a gap')
invariant(bucketCount < 4096, 'a histogram stays within 16 KiB')

/** Milliseconds; all 0 when nothing was recorded. */
export interface LatencySummary {
  readonly count: number
  readonly meanMs: number
  readonly p50: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}

export class LatencyHistogram {
  /** Counts, read as unsigned: a bucket holds up to 2^32 - 1 and then starts again from 0. */
  readonly words: Int32Array

  constructor(words: Int32Array = new Int32Array(latencyHistogramWords)) {
    if (words.length !== latencyHistogramWords) {
      throw new TidemarkError(
        'INVALID_ARGUMENT',
        `latency histogram of ${words.length} words: must be ${latencyHistogramWords}`,
      )
    }
    this.words = words
  }

  /** A histogram in shared memory, for `new LatencyHistogram(words)` on other threads. */
  static shared(): LatencyHistogram {
    return new LatencyHistogram(new Int32Array(new SharedArrayBuffer(latencyHistogramBytes)))
  }

  /** Counts one latency. Below 0 (clocks of two threads may differ by some µs) counts as 0. */
  record(ms: number): void {
    this.recordMany(ms, 1)
  }

  /** Counts `count` events of the same latency: the records of one batch. */
  recordMany(ms: number, count: number): void {
    const words = this.words
    // Compared before it becomes an integer, so that neither NaN nor 1e12 wraps round.
    const scaled = ms * 1000 + 0.5
    const us = scaled >= latencyUsMax ? latencyUsMax : scaled > 0 ? scaled | 0 : 0
    const shift = 24 - Math.clz32(us | 255)
    const bucket = (shift << subBucketBits) + (us >>> shift)
    words[bucket] = words[bucket]! + count
    if (us > words[maxWord]!) words[maxWord] = us
  }

  get count(): number {
    let count = 0
    for (let bucket = 0; bucket < bucketCount; bucket++) count += this.words[bucket]! >>> 0
    return count
  }

  clear(): void {
    this.words.fill(0)
  }

  /** What was counted up to now, in memory of its own. */
  snapshot(): LatencyHistogram {
    return new LatencyHistogram(Int32Array.from(this.words))
  }

  /** Adds what `other` counted. */
  merge(other: LatencyHistogram): void {
    for (let bucket = 0; bucket < bucketCount; bucket++) this.words[bucket]! += other.words[bucket]!
    if (other.words[maxWord]! > this.words[maxWord]!) this.words[maxWord] = other.words[maxWord]!
  }

  /**
   * What was counted after `earlier`, a snapshot of the same histogram. The largest value of that
   * time is exact if it is the largest of all, otherwise the top of its bucket.
   */
  since(earlier: LatencyHistogram): LatencyHistogram {
    const window = new LatencyHistogram()
    let top = -1
    for (let bucket = 0; bucket < bucketCount; bucket++) {
      const count = (this.words[bucket]! - earlier.words[bucket]!) | 0
      window.words[bucket] = count
      if (count !== 0) top = bucket
    }
    const maxUs = this.words[maxWord]!
    if (top >= 0) {
      const grew = maxUs > earlier.words[maxWord]!
      window.words[maxWord] = grew ? maxUs : Math.min(bucketEndUs(top) - 1, maxUs)
    }
    return window
  }

  /** The latency in ms that the share `quantile` (0 to 1) of the counted ones does not exceed. */
  quantile(quantile: number): number {
    return this.quantiles([quantile])[0]!
  }

  /** `quantile` for several, which ascend, in one pass. All 0 when nothing was counted. */
  quantiles(quantiles: readonly number[]): number[] {
    const total = this.count
    const result: number[] = []
    let below = 0
    let bucket = -1
    for (const quantile of quantiles) {
      const rank = Math.max(1, Math.ceil(quantile * total))
      while (below < rank && bucket < bucketCount - 1) below += this.words[++bucket]! >>> 0
      result.push(total === 0 ? 0 : this.#valueOf(bucket) / 1000)
    }
    return result
  }

  summary(): LatencySummary {
    const [p50, p99, p999] = this.quantiles([0.5, 0.99, 0.999])
    let count = 0
    let sumUs = 0
    this.forEachBucket((us, inBucket) => {
      count += inBucket
      sumUs += us * inBucket
    })
    const meanMs = count === 0 ? 0 : sumUs / count / 1000
    return { count, meanMs, p50: p50!, p99: p99!, p999: p999!, max: this.maxMs }
  }

  get maxMs(): number {
    return this.words[maxWord]! / 1000
  }

  /** Each bucket that counted something, ascending: its middle in µs and how many. */
  forEachBucket(visit: (us: number, count: number) => void): void {
    for (let bucket = 0; bucket < bucketCount; bucket++) {
      const count = this.words[bucket]! >>> 0
      if (count > 0) visit(this.#valueOf(bucket), count)
    }
  }

  /** Middle of a bucket, but never more than the largest value recorded. */
  #valueOf(bucket: number): number {
    const middle = (bucketStartUs(bucket) + bucketEndUs(bucket) - 1) / 2
    return Math.min(middle, this.words[maxWord]!)
  }
}

function bucketStartUs(bucket: number): number {
  if (bucket < 2 * subBucketCount) return bucket
  const shift = (bucket >>> subBucketBits) - 1
  return (bucket - (shift << subBucketBits)) * 2 ** shift
}

function bucketEndUs(bucket: number): number {
  return bucketStartUs(bucket + 1)
}
