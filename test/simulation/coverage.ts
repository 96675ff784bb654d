/** How often each branch of the rules was taken: a quiet simulation shows as quiet. */

export class Coverage {
  readonly counts = new Map<string, number>()
  readonly #trace: ((line: string) => void) | undefined

  /** @param trace is told everything, as it happens */
  constructor(trace?: (line: string) => void) {
    this.#trace = trace
  }

  count(what: string, times = 1): void {
    if (times === 0) return
    this.counts.set(what, (this.counts.get(what) ?? 0) + times)
    this.#trace?.(what)
  }

  /** What only a trace shows. */
  note(line: () => string): void {
    this.#trace?.(line())
  }

  addAll(counts: Iterable<readonly [string, number]>): void {
    for (const [what, times] of counts) this.count(what, times)
  }

  of(what: string): number {
    return this.counts.get(what) ?? 0
  }
}
