import type { TrajectoryPoint } from './result.ts'

/**
 * Points of a curve of unknown length in bounded memory: when full, every second point goes and
 * only every second of those that follow is taken.
 */
export class TrajectoryRecorder {
  readonly #atMs: Float64Array
  readonly #lagBytes: Float64Array
  #count = 0
  #stride = 1
  #untilNext = 0

  /** Keeps from `pointsMax / 2` to `pointsMax` points; `pointsMax` is even, from 2. */
  constructor(pointsMax: number) {
    this.#atMs = new Float64Array(pointsMax)
    this.#lagBytes = new Float64Array(pointsMax)
  }

  record(atMs: number, lagBytes: number): void {
    if (this.#untilNext > 0) {
      this.#untilNext--
      return
    }
    // As the number of points is even, this one falls on the wider grid.
    if (this.#count === this.#atMs.length) this.#halve()
    this.#atMs[this.#count] = atMs
    this.#lagBytes[this.#count] = lagBytes
    this.#count++
    this.#untilNext = this.#stride - 1
  }

  /** The points taken, and the last one, which is always there. */
  points(lastAtMs: number, lastLagBytes: number): TrajectoryPoint[] {
    const points: TrajectoryPoint[] = []
    for (let index = 0; index < this.#count; index++) {
      const atMs = this.#atMs[index]!
      if (atMs < lastAtMs) points.push({ atMs, lagBytes: this.#lagBytes[index]! })
    }
    points.push({ atMs: lastAtMs, lagBytes: lastLagBytes })
    return points
  }

  #halve(): void {
    const kept = this.#count >> 1
    for (let index = 1; index < kept; index++) {
      this.#atMs[index] = this.#atMs[2 * index]!
      this.#lagBytes[index] = this.#lagBytes[2 * index]!
    }
    this.#count = kept
    this.#stride *= 2
  }
}
