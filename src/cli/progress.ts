/** Progress on standard error: a bar that moves on a terminal, a line a phase elsewhere. */
import type { Writable } from 'node:stream'
import { Presets, SingleBar } from 'cli-progress'
import { type Clock, systemClock } from '../clock.ts'
import { formatDuration } from '../lab/units.ts'

export interface Progress {
  /** A phase begins; `expectedMs` null: nobody knows how long it takes. */
  phase(title: string, expectedMs: number | null): void
  /** What goes on within the phase, a few words; may be called often. */
  status(text: string): void
  /** A line that stays. */
  note(text: string): void
  /** Ends it; nothing is drawn afterwards. */
  stop(): void
}

export interface ProgressOptions {
  readonly stream: Writable & { readonly isTTY?: boolean }
  readonly clock?: Clock
}

export function createProgress(options: ProgressOptions): Progress {
  const clock = options.clock ?? systemClock
  return options.stream.isTTY === true
    ? new BarProgress(options.stream, clock)
    : new LineProgress(options.stream, clock)
}

class LineProgress implements Progress {
  readonly #stream: Writable
  readonly #startMs: number
  readonly #clock: Clock

  constructor(stream: Writable, clock: Clock) {
    this.#stream = stream
    this.#clock = clock
    this.#startMs = clock.nowMs()
  }

  phase(title: string, expectedMs: number | null): void {
    const expected = expectedMs === null ? '' : ` (${formatDuration(expectedMs)})`
    this.note(`${title}${expected}`)
  }

  status(): void {}

  note(text: string): void {
    const second = ((this.#clock.nowMs() - this.#startMs) / 1000).toFixed(1)
    this.#stream.write(`${second.padStart(6)} s  ${text}\n`)
  }

  stop(): void {}
}

/** Each phase leaves one line behind when the next begins. */
class BarProgress implements Progress {
  readonly #stream: Writable
  readonly #clock: Clock
  #bar: SingleBar | null = null
  #startMs = 0
  #expectedMs = 0
  #title = ''
  #timer: NodeJS.Timeout | null = null

  constructor(stream: Writable, clock: Clock) {
    this.#stream = stream
    this.#clock = clock
  }

  phase(title: string, expectedMs: number | null): void {
    this.stop()
    this.#title = title
    this.#startMs = this.#clock.nowMs()
    this.#expectedMs = expectedMs ?? 0
    this.#bar = new SingleBar(this.#look(expectedMs !== null), Presets.shades_classic)
    this.#bar.start(1000, 0, { status: '', spent: '0 s' })
    this.#timer = setInterval(() => this.#advance(), 200)
    this.#timer.unref()
  }

  status(text: string): void {
    this.#bar?.update({ status: text })
  }

  note(text: string): void {
    const title = this.#title
    const expected = this.#expectedMs
    const started = this.#startMs
    const running = this.#bar !== null
    this.stop()
    this.#stream.write(`  ${text}\n`)
    if (!running) return
    this.phase(title, expected === 0 ? null : expected)
    this.#startMs = started
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
    if (this.#bar === null) return
    this.#advance()
    this.#bar.stop()
    this.#bar = null
  }

  #advance(): void {
    const spentMs = this.#clock.nowMs() - this.#startMs
    const share = this.#expectedMs === 0 ? 0 : Math.min(1, spentMs / this.#expectedMs)
    this.#bar?.update(Math.round(share * 1000), { spent: `${(spentMs / 1000).toFixed(1)} s` })
  }

  #look(known: boolean) {
    const title = this.#title.padEnd(22)
    return {
      format: known ? `  ${title} {bar} {spent}  {status}` : `  ${title} {spent}  {status}`,
      barsize: 24,
      hideCursor: true,
      clearOnComplete: false,
      gracefulExit: false,
      noTTYOutput: false,
      stream: this.#stream as NodeJS.WritableStream,
    }
  }
}
