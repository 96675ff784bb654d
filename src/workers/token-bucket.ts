/**
 * Rate limit in bytes a second that can be looked at before and paid after: a payment may overdraw
 * it.
 */
export class TokenBucket {
  #bytesPerSec = 0
  #tokens = 0
  #atMs = 0

  /** @param bytesPerSec 0: no limit */
  setRate(bytesPerSec: number, nowMs: number): void {
    if (bytesPerSec === this.#bytesPerSec) return
    this.#bytesPerSec = bytesPerSec
    this.#tokens = 0
    this.#atMs = nowMs
  }

  get limited(): boolean {
    return this.#bytesPerSec > 0
  }

  /** Whether something may be done now, whatever its size: the bucket is not in debt. */
  isOpen(nowMs: number): boolean {
    if (this.#bytesPerSec === 0) return true
    const earned = ((nowMs - this.#atMs) / 1000) * this.#bytesPerSec
    // A burst of a tenth of a second: finer steps would measure the scheduler, coarser ones
    // stutter.
    this.#tokens = Math.min(this.#tokens + earned, this.#bytesPerSec / 10)
    this.#atMs = nowMs
    return this.#tokens > 0
  }

  pay(bytes: number): void {
    if (this.#bytesPerSec > 0) this.#tokens -= bytes
  }
}
