/**
 * Stops code between two operations on shared memory, in one thread: every `Atomics` call is a
 * point at which another thread could come in between, or at which its own thread could end.
 */
type Operation = (...args: never[]) => unknown

const names = ['load', 'store', 'add', 'compareExchange', 'notify', 'wait'] as const
const atomics = Atomics as unknown as Record<(typeof names)[number], Operation>

/** What ends a thread in the middle of its work. */
export class EndOfThread extends Error {}

/** Runs `work` and calls `before` with the number, from 0, of each operation about to be done. */
export function stepping<T>(work: () => T, before: (operation: number) => void): T {
  const originals = new Map(names.map((name) => [name, atomics[name]]))
  const restore = (): void => {
    for (const [name, original] of originals) atomics[name] = original
  }
  let count = 0
  const install = (): void => {
    for (const [name, original] of originals) {
      atomics[name] = (...args) => {
        restore()
        try {
          before(count++)
        } finally {
          install()
        }
        return original(...args)
      }
    }
  }
  install()
  try {
    return work()
  } finally {
    restore()
  }
}

/** Operations that `work` does when nobody disturbs it. */
export function countSteps(work: () => unknown): number {
  let count = 0
  stepping(work, () => count++)
  return count
}

/** Runs `intruder` whole, before operation `at` of `work`. */
export function interrupting<T>(work: () => T, at: number, intruder: () => void): T {
  return stepping(work, (operation) => {
    if (operation === at) intruder()
  })
}

/** Ends the thread of `work` before its operation `at`. @returns whether it came so far */
export function endingAt(work: () => unknown, at: number): boolean {
  try {
    stepping(work, (operation) => {
      if (operation === at) throw new EndOfThread()
    })
    return false
  } catch (error) {
    if (!(error instanceof EndOfThread)) throw error
    return true
  }
}
