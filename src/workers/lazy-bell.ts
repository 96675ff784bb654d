/**
 * LazyBell: when to wake somebody who may be asleep. A wake-up costs the ringer a system call and
 * both a change of threads, 10 µs and more on a virtual machine; a sleeper that finds twice as much
 * to do is woken half as often. So a bell waits until enough has come together, its first part is a
 * little old, or the ringer has nothing else to do: at low load that is at once, under load once
 * for many batches.
 */
const amountMin = 256 * 1024
const ageMsMax = 0.3

export class LazyBell {
  #amount = 0
  #sinceMs = 0

  /** Something of `amount` bytes waits for the sleeper. */
  note(amount: number, nowMs: number): void {
    if (this.#amount === 0) this.#sinceMs = nowMs
    this.#amount += Math.max(1, amount)
  }

  /**
   * Whether to ring now; if so, nothing is noted any more. `isIdle`: the ringer is about to sleep
   * itself.
   */
  take(nowMs: number, isIdle: boolean): boolean {
    if (this.#amount === 0) return false
    if (!isIdle && this.#amount < amountMin && nowMs - this.#sinceMs < ageMsMax) return false
    this.#amount = 0
    return true
  }
}
