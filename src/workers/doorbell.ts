/**
 * How threads sleep and are woken, so that no wake-up is lost and nobody spins.
 *
 * The owner reads the bell *before* it looks for work, and sleeps only while the bell still has
 * that value: whoever brings work after the look changes the bell, so the sleep ends at once. The
 * parked word spares the system call of `Atomics.notify` (1 µs and more) when the owner is awake
 * anyway. It is set before the wait compares the bell, and a ringer changes the bell before it
 * looks at the parked word: whichever order the two threads fall into, one of them sees the other.
 */
const bellWord = 0
const parkedWord = 1
export const doorbellWords = 2

/** Rings the bell of the thread whose doorbell lies at `base`. Callable from any thread. */
export function ringDoorbell(words: Int32Array, base: number): void {
  Atomics.add(words, base + bellWord, 1)
  if (Atomics.load(words, base + parkedWord) !== 0) Atomics.notify(words, base + bellWord)
}

/** The owner's side of one doorbell. */
export class Doorbell {
  readonly #words: Int32Array
  readonly #base: number

  constructor(words: Int32Array, base: number) {
    this.#words = words
    this.#base = base
  }

  ring(): void {
    ringDoorbell(this.#words, this.#base)
  }

  /** The bell's present value. Take it before looking for work. */
  read(): number {
    return Atomics.load(this.#words, this.#base + bellWord)
  }

  /** Blocks the thread while the bell is still `seen`, at most `timeoutMs`. Worker threads only. */
  park(seen: number, timeoutMs: number): void {
    Atomics.store(this.#words, this.#base + parkedWord, 1)
    Atomics.wait(this.#words, this.#base + bellWord, seen, timeoutMs)
    Atomics.store(this.#words, this.#base + parkedWord, 0)
  }

  /**
   * The same without blocking, for the application's event loop: resolves when the bell is no
   * longer `seen`, or after `timeoutMs`. A pending `waitAsync` does not keep the process alive.
   */
  async parkAsync(seen: number, timeoutMs: number): Promise<void> {
    Atomics.store(this.#words, this.#base + parkedWord, 1)
    const waiting = Atomics.waitAsync(this.#words, this.#base + bellWord, seen, timeoutMs)
    if (waiting.async) await waiting.value
    Atomics.store(this.#words, this.#base + parkedWord, 0)
  }
}
