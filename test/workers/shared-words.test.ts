import { describe, expect, it } from 'vitest'
import { loadShared, roundToCacheLine, storeShared } from '../../src/workers/shared-words.ts'
import { countSteps, endingAt, interrupting } from '../support/atomics-steps.ts'

const twoTo32 = 2 ** 32
/** Values whose halves differ in each way. */
const values = [
  0,
  1,
  -1,
  -2,
  2 ** 31 - 1,
  2 ** 31,
  twoTo32 - 1,
  twoTo32,
  twoTo32 + 1,
  -twoTo32,
  -twoTo32 - 1,
  5 * twoTo32 + 7,
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
]

function wordsWith(value: number): Int32Array {
  const words = new Int32Array(new SharedArrayBuffer(12))
  storeShared(words, 0, value)
  return words
}

describe('a 64-bit number in shared words', () => {
  it('comes back as it was stored, whatever was there before', () => {
    for (const before of values) {
      for (const value of values) {
        const words = wordsWith(before)
        storeShared(words, 0, value)
        expect(loadShared(words, 0)).toBe(value)
      }
    }
  })

  it('comes back from words that held anything', () => {
    for (const garbage of [
      [0, 9, 7],
      [-1, 9, 0],
      [7, 7, 0],
      [5, 0, 5],
    ]) {
      for (const value of values) {
        const words = Int32Array.from(garbage)
        storeShared(words, 0, value)
        expect(loadShared(words, 0)).toBe(value)
      }
    }
  })

  it('is the old or the new one for a reader between any two stores', () => {
    for (const before of values) {
      for (const after of values) {
        const steps = countSteps(() => storeShared(wordsWith(before), 0, after))
        for (let at = 0; at < steps; at++) {
          const words = wordsWith(before)
          // The reader may find no whole number; then it tries again.
          interrupting(
            () => storeShared(words, 0, after),
            at,
            () => {
              const seen = tryLoad(words)
              if (seen !== undefined) expect([before, after]).toContain(seen)
            },
          )
          expect(loadShared(words, 0)).toBe(after)
        }
      }
    }
  })

  it('is the old or the new one when it is stored between any two loads', () => {
    for (const before of values) {
      for (const after of values) {
        for (let at = 0; at < 3; at++) {
          const words = wordsWith(before)
          const seen = interrupting(
            () => loadShared(words, 0),
            at,
            () => storeShared(words, 0, after),
          )
          expect([before, after]).toContain(seen)
        }
      }
    }
  })

  it('a store that was cut off does not spoil the next one', () => {
    for (const before of values) {
      for (const lost of values) {
        for (let at = 0; at < 3; at++) {
          for (const value of [before, lost, 3]) {
            const words = wordsWith(before)
            endingAt(() => storeShared(words, 0, lost), at)
            storeShared(words, 0, value)
            expect(tryLoad(words)).toBe(value)
          }
        }
      }
    }
  })

  it('costs one atomic store while the high half stays', () => {
    const words = wordsWith(100)
    expect(countSteps(() => storeShared(words, 0, twoTo32 - 1))).toBe(1)
    expect(countSteps(() => storeShared(words, 0, twoTo32))).toBe(3)
  })

  it('cache lines: 16 words each', () => {
    expect([0, 1, 16, 17].map(roundToCacheLine)).toEqual([0, 16, 16, 32])
  })
})

/** One try of what a reader does; undefined: it would try again. */
function tryLoad(words: Int32Array): number | undefined {
  const [high, low, second] = [0, 1, 2].map((word) => Atomics.load(words, word))
  return high === second ? high! * twoTo32 + (low! >>> 0) : undefined
}
