/**
 * WakeLoop: the application thread's sleep. Leaders ring one doorbell when acknowledgements or, if
 * a consumer waits, records below a high watermark have come. The loop runs only while somebody
 * expects something, never blocks the event loop, and wakes without a ring now and then for what is
 * due by time.
 */
import type { Doorbell } from '../workers/doorbell.ts'

const wakeMsMax = 100

export class WakeLoop {
  readonly #doorbell: Doorbell
  readonly #listeners = new Set<() => void>()
  #isRunning = false

  constructor(doorbell: Doorbell) {
    this.#doorbell = doorbell
  }

  /** `onWake` is called after every ring until `remove`; it may add and remove. */
  add(onWake: () => void): void {
    this.#listeners.add(onWake)
    if (!this.#isRunning) void this.#run()
  }

  remove(onWake: () => void): void {
    this.#listeners.delete(onWake)
  }

  /** Calls everybody soon, for a change that nobody rings for. */
  wake(): void {
    this.#doorbell.ring()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#listeners.size > 0) {
      const bell = this.#doorbell.read()
      for (const onWake of [...this.#listeners]) onWake()
      if (this.#listeners.size === 0) break
      // Rung meanwhile: no wait, but the event loop has its turn, or a busy bell would hold it up.
      if (this.#doorbell.read() !== bell) await new Promise((resolve) => setImmediate(resolve))
      else await this.#doorbell.parkAsync(bell, wakeMsMax)
    }
    this.#isRunning = false
  }
}
