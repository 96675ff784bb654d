/**
 * 64-bit numbers in shared memory, without BigInt and without tearing.
 *
 * A number takes three Int32 words, high, low and a second copy of high. The one writer stores
 * second high, low, high; a reader loads high, low, second high and tries again until both highs
 * agree (Lamport 1977). A number that keeps its high word, which is nearly every store, costs one
 * atomic store.
 *
 *   word   0      1     2
 *        ┌──────┬─────┬───────┐
 *        │ high │ low │ high' │
 *        └──────┴─────┴───────┘
 */
export const sharedNumberWords = 3

const twoTo32 = 4_294_967_296

/** Stores an integer within ±2^53 at `word`. One writer a number. */
export function storeShared(words: Int32Array, word: number, value: number): void {
  const high = Math.floor(value / twoTo32) | 0
  // Both copies: in a ring the words may hold anything, after a writer's end half a store.
  if (words[word] === high && words[word + 2] === high) {
    Atomics.store(words, word + 1, value | 0)
    return
  }
  Atomics.store(words, word + 2, high)
  Atomics.store(words, word + 1, value | 0)
  Atomics.store(words, word, high)
}

/**
 * Loads a number that another thread may be storing at this moment: the old or the new one, never a
 * mixture.
 */
export function loadShared(words: Int32Array, word: number): number {
  for (;;) {
    const high = Atomics.load(words, word)
    const low = Atomics.load(words, word + 1)
    if (Atomics.load(words, word + 2) === high) return high * twoTo32 + (low >>> 0)
  }
}

/**
 * Loads a number that nobody can be storing: the caller wrote it, or something it loaded before
 * says that the writer is done. Spares the calls that atomic loads are.
 */
export function loadSettled(words: Int32Array, word: number): number {
  return words[word]! * twoTo32 + (words[word + 1]! >>> 0)
}

/** Stores a number that nobody looks at before a later atomic store says so. */
export function storeSettled(words: Int32Array, word: number, value: number): void {
  const high = Math.floor(value / twoTo32) | 0
  words[word] = high
  words[word + 1] = value | 0
  words[word + 2] = high
}

export const cacheLineWords = 16

/** Rounds a count of Int32 words up to whole cache lines, so that two writers never share one. */
export function roundToCacheLine(words: number): number {
  return Math.ceil(words / cacheLineWords) * cacheLineWords
}
