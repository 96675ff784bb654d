/**
 * Which partition a follower reads next while it catches up. An order sees the lags of the
 * simulation, `baseBytes[i] + arrivalBytesPerMs[i] * nowMs`, and remembers who is still behind.
 */

/** Lags of all partitions as straight lines in time; a read of b bytes lowers `baseBytes` by b. */
export interface LagLines {
  readonly baseBytes: Float64Array
  readonly arrivalBytesPerMs: Float64Array
}

export interface ReadOrder {
  /** How many are still behind. */
  readonly count: number
  /** The partition to read now; only while `count` is above 0. */
  next(nowMs: number): number
  /** The partition that `next` gave last has reached the log end: it is never given again. */
  removeCurrent(): void
  /**
   * Reads without any progress after which none will come. An order tells, as it knows how long a
   * partition that could progress may have to wait for its turn.
   */
  readonly stallReadsMax: number
}

/** Stalled reads that any order grants: meanwhile the ring, which shares the time, settles. */
const settleReads = 200

/** One chunk each in turn, by partition number. */
export class RoundRobinOrder implements ReadOrder {
  count: number
  readonly #following: Int32Array
  #before: number
  #current: number

  constructor(members: Int32Array, partitionCount: number) {
    this.count = members.length
    this.#following = new Int32Array(partitionCount)
    for (let place = 0; place < members.length; place++) {
      this.#following[members[place]!] = members[(place + 1) % members.length]!
    }
    this.#current = members.length === 0 ? -1 : members.at(-1)!
    this.#before = this.#current
  }

  get stallReadsMax(): number {
    return 2 * this.count + settleReads
  }

  next(): number {
    this.#before = this.#current
    this.#current = this.#following[this.#current]!
    return this.#current
  }

  removeCurrent(): void {
    this.#following[this.#before] = this.#following[this.#current]!
    this.#current = this.#before
    this.count--
  }
}

/**
 * Smallest lag first where all partitions grow alike: the order of the lags then never changes, and
 * a partition once begun is read to its end.
 */
export class SortedOrder implements ReadOrder {
  count: number
  readonly stallReadsMax = settleReads
  readonly #sorted: Int32Array

  constructor(members: Int32Array, lines: LagLines) {
    const base = lines.baseBytes
    this.#sorted = members.slice().sort((a, b) => base[a]! - base[b]! || a - b)
    this.count = members.length
  }

  next(): number {
    return this.#sorted[this.#sorted.length - this.count]!
  }

  removeCurrent(): void {
    this.count--
  }
}

/**
 * Smallest lag first where partitions grow at rates of their own, so that the order of the lags
 * keeps changing. Members lie sorted by rate in blocks of equal length. The smallest lag of a
 * block, when it was last looked through, and the block's smallest rate bound its lags from below
 * at any later time: a choice looks through one or two blocks, not through all members.
 */
export class SmallestLagOrder implements ReadOrder {
  count: number
  readonly #lines: LagLines
  readonly #members: Int32Array
  /** Of `#members`, side by side; the base of a removed one is infinite. */
  readonly #base: Float64Array
  readonly #rate: Float64Array
  readonly #blockLength: number
  /** No lag of the block was below its line `floor + rate * nowMs` since it was looked through. */
  readonly #blockFloor: Float64Array
  readonly #blockRate: Float64Array
  #place = -1
  #lagBytes = 0

  constructor(members: Int32Array, lines: LagLines) {
    const { baseBytes, arrivalBytesPerMs } = lines
    this.#lines = lines
    this.count = members.length
    this.#members = members
      .slice()
      .sort((a, b) => arrivalBytesPerMs[a]! - arrivalBytesPerMs[b]! || a - b)
    this.#base = Float64Array.from(this.#members, (member) => baseBytes[member]!)
    this.#rate = Float64Array.from(this.#members, (member) => arrivalBytesPerMs[member]!)
    this.#blockLength = Math.max(1, Math.ceil(Math.sqrt(members.length)))
    const blockCount = Math.ceil(members.length / this.#blockLength)
    this.#blockFloor = new Float64Array(blockCount).fill(Number.NEGATIVE_INFINITY)
    this.#blockRate = Float64Array.from(
      { length: blockCount },
      (_, block) => this.#rate[block * this.#blockLength]!,
    )
  }

  get stallReadsMax(): number {
    return 4 * this.count + settleReads
  }

  next(nowMs: number): number {
    if (this.#place >= 0) {
      const base = this.#lines.baseBytes[this.#members[this.#place]!]!
      const lagBytes = base + this.#rate[this.#place]! * nowMs
      // All others have only grown: what was the smallest and has shrunk still is.
      if (lagBytes <= this.#lagBytes) {
        this.#lagBytes = lagBytes
        return this.#members[this.#place]!
      }
      this.#setBase(this.#place, base)
    }
    this.#choose(nowMs)
    return this.#members[this.#place]!
  }

  removeCurrent(): void {
    this.#setBase(this.#place, Number.POSITIVE_INFINITY)
    this.#place = -1
    this.count--
  }

  #setBase(place: number, base: number): void {
    this.#base[place] = base
    this.#blockFloor[Math.floor(place / this.#blockLength)] = Number.NEGATIVE_INFINITY
  }

  #choose(nowMs: number): void {
    this.#lagBytes = Number.POSITIVE_INFINITY
    this.#lookThrough(this.#lowestBlock(nowMs), nowMs)
    for (let block = 0; block < this.#blockFloor.length; block++) {
      const floorBytes = this.#blockFloor[block]! + this.#blockRate[block]! * nowMs
      if (floorBytes < this.#lagBytes) this.#lookThrough(block, nowMs)
    }
  }

  #lowestBlock(nowMs: number): number {
    let lowest = 0
    let lowestBytes = Number.POSITIVE_INFINITY
    for (let block = 0; block < this.#blockFloor.length; block++) {
      const floorBytes = this.#blockFloor[block]! + this.#blockRate[block]! * nowMs
      if (floorBytes < lowestBytes) {
        lowestBytes = floorBytes
        lowest = block
      }
    }
    return lowest
  }

  #lookThrough(block: number, nowMs: number): void {
    const end = Math.min((block + 1) * this.#blockLength, this.#members.length)
    let smallestBytes = Number.POSITIVE_INFINITY
    let smallest = -1
    for (let place = block * this.#blockLength; place < end; place++) {
      const lagBytes = this.#base[place]! + this.#rate[place]! * nowMs
      if (lagBytes < smallestBytes) {
        smallestBytes = lagBytes
        smallest = place
      }
    }
    this.#blockFloor[block] = smallestBytes - this.#blockRate[block]! * nowMs
    if (smallestBytes < this.#lagBytes) {
      this.#lagBytes = smallestBytes
      this.#place = smallest
    }
  }
}
