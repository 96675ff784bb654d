/** The only way the code learns the time, so that tests and the simulation own it. */
export interface Clock {
  /** Milliseconds since 1970, with fractions; never goes back. */
  nowMs(): number
}

/** Read once: the getter takes longer than the clock itself. */
const originMs = performance.timeOrigin

/**
 * Wall time that cannot go back: the time at which this process started plus a monotonic count.
 * All threads of a process share the origin within a few microseconds, so their readings compare.
 */
export const systemClock: Clock = {
  nowMs: () => originMs + performance.now(),
}

/** A clock that moves when told to. */
export class ManualClock implements Clock {
  #nowMs: number

  constructor(startMs = 1_000_000) {
    this.#nowMs = startMs
  }

  nowMs(): number {
    return this.#nowMs
  }

  advance(ms: number): void {
    this.#nowMs += ms
  }

  set(ms: number): void {
    this.#nowMs = ms
  }
}
