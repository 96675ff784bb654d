/**
 * A log on a disk that loses what wasn't synced, tears writes, puts them in another order, fills up
 * and fails, against an array of batches.
 *
 * `TIDEMARK_MODEL_SEED=17 npx vitest run test/crash` runs one seed again.
 */
import { describe, expect, it } from 'vitest'
import { runLogSeed } from './log-rounds.ts'

const seedsInAll = 300
const replayed = process.env.TIDEMARK_MODEL_SEED
const seeds =
  replayed === undefined
    ? Array.from({ length: seedsInAll }, (_, index) => index + 1)
    : [Number(replayed)]

describe('a log on a disk that fails', () => {
  it(`keeps what was flushed and invents nothing, for ${seeds.length} seeds`, () => {
    const failures: string[] = []
    for (const seed of seeds) {
      try {
        runLogSeed(seed)
      } catch (error) {
        failures.push((error as Error).message)
      }
    }
    expect(failures).toEqual([])
  }, 60_000)
})
