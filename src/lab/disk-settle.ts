/**
 * Lets the disk finish what it still has to write, so that the next measurement begins with none of
 * it.
 *
 * By one process that stays: each new one is a fork, after which this process' first write to each
 * of its pages is a page fault. In a ring of 64 MiB that is 16,384 of them in every measurement.
 */
import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'

/** Reads directories, a line each, and answers each with a line. Ends when its input does. */
const script = 'while IFS= read -r directory; do sync -f "$directory"; echo; done'

class DiskSettler {
  readonly #child = spawn('sh', ['-c', script], { stdio: ['pipe', 'pipe', 'ignore'] })
  #onAnswer: (() => void) | undefined
  #isGone = false

  constructor() {
    const { stdin, stdout } = this.#child
    // A figure with some write-back in it is still a figure.
    const gone = () => {
      this.#isGone = true
      this.#onAnswer?.()
    }
    this.#child.on('error', gone)
    this.#child.on('exit', gone)
    stdin.on('error', gone)
    stdout.on('data', () => this.#onAnswer?.())
    this.#child.unref()
    this.#hold(false)
  }

  async settle(directory: string): Promise<void> {
    if (this.#isGone) return
    this.#hold(true)
    await new Promise<void>((resolve) => {
      this.#onAnswer = resolve
      this.#child.stdin.write(`${directory}\n`)
    })
    this.#onAnswer = undefined
    this.#hold(false)
  }

  /** Only who waits for an answer keeps the process alive. */
  #hold(isWaiting: boolean): void {
    for (const pipe of [this.#child.stdin, this.#child.stdout] as unknown as Socket[]) {
      if (isWaiting) pipe.ref()
      else pipe.unref()
    }
  }
}

let settler: DiskSettler | undefined
/** One directory after the other. */
let last: Promise<void> = Promise.resolve()

/**
 * Where the system has no `sync` that takes a file system, nothing is waited for. To be called once
 * before memory is allocated in which something is measured.
 */
export async function settleDisk(directory: string): Promise<void> {
  settler ??= new DiskSettler()
  const one = settler
  last = last.then(() => one.settle(directory))
  await last
}
