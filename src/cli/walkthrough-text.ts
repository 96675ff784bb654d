/** Steps of a walkthrough as text for a terminal, at a pace that can be read. */
import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WalkthroughResult, WalkthroughStep } from '../lab/walkthrough-result.ts'
import { wrap } from './output.ts'

const indent = ' '.repeat(12)

export function stepText(step: WalkthroughStep, columns: number): string {
  const at = `${(step.atMs / 1_000).toFixed(3)} s`.padStart(10)
  const lines = wrap(step.text.replaceAll('\u00a0', ' '), Math.max(40, columns - indent.length))
  const head = `${at}  ${step.step} (${step.actor})`
  return `${[head, ...lines.map((line) => indent + line)].join('\n')}\n`
}

/** Nothing broken, nothing lost, told to its end. */
export function isGood({ records, invariants, interrupted }: WalkthroughResult): boolean {
  const isComplete = records.acknowledged > 0 && records.verified >= records.acknowledged
  const isWhole = isComplete && records.lost === 0 && records.duplicated === 0
  return isWhole && invariants.violations === 0 && !interrupted
}

export function verdictText(result: WalkthroughResult): string {
  const { invariants, interrupted } = result
  if (interrupted) return 'Interrupted before the end of the story.'
  if (isGood(result))
    return `No violation in ${invariants.checked} checks; nothing acknowledged was lost.`
  return ['NOT AS IT SHOULD BE', ...invariants.faults].join('\n  ')
}

/**
 * Prints steps one by one, `paceMs` apart. Only the printing waits: the cluster goes on, because
 * its time limits would make another story of a slow one.
 */
export class StepPrinter {
  readonly #stream: Writable
  readonly #paceMs: number
  readonly #columns: number
  readonly #signal: AbortSignal
  readonly #queue: WalkthroughStep[] = []
  #chapter = ''
  #isPrinting = false
  #idle: Promise<void> = Promise.resolve()

  /** With an aborted signal nothing waits any more. */
  constructor(
    stream: Writable,
    paceMs: number,
    options: { readonly columns: number; readonly signal: AbortSignal },
  ) {
    this.#stream = stream
    this.#paceMs = paceMs
    this.#columns = options.columns
    this.#signal = options.signal
  }

  readonly add = (step: WalkthroughStep): void => {
    this.#queue.push(step)
    if (!this.#isPrinting) this.#idle = this.#print()
  }

  /** Resolves when all is printed. */
  async end(): Promise<void> {
    await this.#idle
  }

  async #print(): Promise<void> {
    this.#isPrinting = true
    for (let step = this.#queue.shift(); step !== undefined; step = this.#queue.shift()) {
      if (step.chapter !== this.#chapter) {
        this.#chapter = step.chapter
        this.#stream.write(`\n${step.chapter}\n\n`)
      }
      this.#stream.write(`${stepText(step, this.#columns)}\n`)
      if (this.#paceMs > 0) await pause(this.#paceMs, this.#signal)
    }
    this.#isPrinting = false
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal })
  } catch {
    // Aborted: go on at once.
  }
}
