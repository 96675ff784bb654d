/**
 * What a log may hold after a crash, told by the plainest log there is: arrays of batches.
 *
 * Between two flushes the log goes from state to state (appends, truncations, restarts). A crash
 * may bring back any of them, cut short at its end, but no mixture; and never less than what the
 * last flush covered and no truncation has touched since.
 */
export interface ModelBatch {
  readonly baseOffset: number
  /** Exclusive. */
  readonly nextOffset: number
  readonly leaderEpoch: number
  /** All of it, as stamped. */
  readonly bytes: Uint8Array
}

export interface LogState {
  /** Where the first segment begins. */
  readonly base: number
  readonly batches: readonly ModelBatch[]
}

/** What was found when the log was opened. */
export interface FoundLog {
  /** Where the first segment begins. */
  readonly base: number
  readonly startOffset: number
  readonly endOffset: number
  readonly batches: readonly ModelBatch[]
}

interface PossibleState extends LogState {
  /** The log was restarted since, so that segments at the beginning may be gone already. */
  readonly isSuperseded: boolean
}

export class LogHistory {
  #possible: PossibleState[]
  #current: LogState
  #durableEnd: number
  /** What has expired and may come back, before all that was written since. */
  #beginnings: LogState[] = []
  /** Where segments began when some were about to go. */
  #expiring: readonly number[] = []
  /** Since the last flush; nothing of the log may be left then, not even where it begins. */
  #wasRestarted = false

  constructor(state: LogState) {
    this.#current = state
    this.#possible = [{ ...state, isSuperseded: false }]
    this.#durableEnd = state.base
  }

  get current(): LogState {
    return this.#current
  }

  /** One past the last record that is there. */
  get dataEnd(): number {
    return dataEndOf(this.#current)
  }

  /** Batches below this must survive everything. */
  get durableEnd(): number {
    return this.#durableEnd
  }

  /** To be called before the append: any part of it may reach the disk. */
  willAppend(batches: readonly ModelBatch[]): LogState {
    return this.#mayBecome({
      base: this.#current.base,
      batches: [...this.#current.batches, ...batches],
    })
  }

  willTruncate(offset: number): LogState {
    const { base } = this.#current
    const batches = this.#current.batches.filter((batch) => batch.nextOffset <= offset)
    const state = this.#mayBecome({ base, batches })
    this.#durableEnd = Math.min(this.#durableEnd, dataEndOf(state))
    return state
  }

  willRestart(offset: number): LogState {
    this.#beginnings = []
    this.#possible = this.#possible.map((state) => ({ ...state, isSuperseded: true }))
    this.#durableEnd = 0
    this.#wasRestarted = true
    return this.#mayBecome({ base: offset, batches: [] })
  }

  /** Of the segments at the beginning any number may go, the first first. */
  willExpire(bases: readonly number[]): void {
    this.#expiring = bases
    for (const state of [...this.#possible]) {
      for (const base of bases) this.#possible.push({ ...state, ...startingAt(state, base) })
    }
  }

  /** So many went. What comes last in time stands last. */
  expiredTo(base: number): void {
    this.#possible = this.#possible.filter((state) => state.base <= base)
    const { current } = this
    const gone = current.batches.filter(({ baseOffset }) => baseOffset < base)
    const longer = this.#beginnings.map((each) => ({
      base: each.base,
      batches: [...each.batches, ...gone],
    }))
    const starts = [current.base, ...this.#expiring].filter(
      (start) => start >= current.base && start < base,
    )
    const shorter = starts.map((start) => startingAt({ base: current.base, batches: gone }, start))
    this.#beginnings = [...longer, ...shorter]
    this.#current = startingAt(current, base)
    this.#mayBecome(this.#current)
  }

  became(state: LogState): void {
    this.#current = state
  }

  /** The append failed; the log says where it ends now. */
  becameCutAt(state: LogState, endOffset: number): void {
    const batches = state.batches.filter((batch) => batch.nextOffset <= endOffset)
    this.#current = this.#mayBecome({ base: state.base, batches })
  }

  flushed(): void {
    this.#possible = [{ ...this.#current, isSuperseded: false }]
    this.#beginnings = []
    this.#durableEnd = this.dataEnd
    this.#wasRestarted = false
  }

  /**
   * What lies below is on disk, and so nothing that once lay there instead comes back. What has
   * expired before it still may.
   */
  flushedBelow(offset: number): void {
    const { base } = this.#current
    const below = (state: LogState, start: number) =>
      state.batches.filter((each) => each.baseOffset >= start && each.nextOffset <= offset)
    const last = below(this.#current, base).at(-1)
    if (last === undefined) return
    this.#durableEnd = Math.max(this.#durableEnd, last.nextOffset)
    this.#possible = this.#possible.filter((state) => {
      const start = Math.max(base, state.base)
      const [kept, other] = [below(this.#current, start), below(state, start)]
      return other.length === kept.length && other.every((batch, at) => isSame(batch, kept[at]!))
    })
  }

  /**
   * Takes what was found as the present state. `statedStart`: log start as it was written down.
   * After a loss of power that is all there is; else the disk may still go back to what was before.
   *
   * @throws when no history leads there.
   */
  accept(found: FoundLog, statedStart: number, afterPowerLoss: boolean): void {
    if (found.endOffset < this.#durableEnd) {
      throw new Error(`ends at ${found.endOffset}, flushed were all below ${this.#durableEnd}`)
    }
    const faults: string[] = []
    const states = this.#possible.toReversed()
    if (this.#wasRestarted) states.push({ base: statedStart, batches: [], isSuperseded: false })
    // The newest first: the usual case.
    for (const state of states) {
      const fault = differenceOf(state, found, statedStart)
      if (fault === undefined) {
        const before = this.#possible
        if (afterPowerLoss || found.base !== this.#current.base) this.#beginnings = []
        this.#take(state, found)
        if (!afterPowerLoss) this.#possible.unshift(...before)
        return
      }
      faults.push(fault)
    }
    throw new Error(`no state of the log leads here:\n  ${faults.join('\n  ')}`)
  }

  /** What lies below the log start wasn't read; it is there as far as the segments go back. */
  #take(state: PossibleState, found: FoundLog): void {
    const before = state.batches.filter(
      (batch) => batch.nextOffset <= found.startOffset && batch.baseOffset >= found.base,
    )
    this.#current = { base: found.base, batches: [...before, ...found.batches] }
    this.#possible = [{ ...this.#current, isSuperseded: state.isSuperseded }]
  }

  #mayBecome(state: LogState): LogState {
    if (state.base === this.#current.base) {
      for (const { base, batches } of this.#beginnings) {
        this.#possible.push({ base, batches: [...batches, ...state.batches], isSuperseded: false })
      }
    }
    this.#possible.push({ ...state, isSuperseded: false })
    return state
  }
}

export function dataEndOf({ base, batches }: LogState): number {
  return batches.at(-1)?.nextOffset ?? base
}

function startingAt(state: LogState, base: number): LogState {
  return {
    base: Math.max(base, state.base),
    batches: state.batches.filter(({ baseOffset }) => baseOffset >= base),
  }
}

/** Why what was found isn't a beginning of the state; undefined when it is. */
function differenceOf(
  state: PossibleState,
  found: FoundLog,
  statedStart: number,
): string | undefined {
  const start = Math.max(statedStart, state.base)
  const startsRight = state.isSuperseded ? found.startOffset >= start : found.startOffset === start
  if (!startsRight) return `starts at ${found.startOffset}, expected ${start}`
  const held = state.batches.filter((batch) => batch.nextOffset > found.startOffset)
  if (found.batches.length > held.length) {
    return `${found.batches.length} batches from ${found.startOffset} on, expected ${held.length}`
  }
  for (const [index, batch] of found.batches.entries()) {
    if (!isSame(batch, held[index]!)) {
      return `batch at ${batch.baseOffset} (epoch ${batch.leaderEpoch}) is not the one expected`
    }
  }
  return undefined
}

export function isSame(one: ModelBatch, other: ModelBatch): boolean {
  return Buffer.compare(one.bytes, other.bytes) === 0
}
