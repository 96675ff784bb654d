/**
 * One question that a number answers. Input is made when the bench is, outside what is timed;
 * `check` proves afterwards that the work was done.
 */
export interface Bench {
  readonly name: string
  /** What one `run` handles; shown as a rate. */
  readonly bytes?: number
  readonly items?: number
  run(): unknown
  /** @throws {Error} when the work was not done */
  check(): void
  /** Gives back what the bench holds: files, threads. */
  close?(): void
}

export function expectEqual(what: string, actual: unknown, expected: unknown): void {
  if (actual !== expected) throw new Error(`${what}: ${actual}, expected ${expected}`)
}
