/**
 * Bytes that nobody vouches for, given to everything that reads bytes from a disk.
 *
 * `TIDEMARK_FUZZ_SEED=17 npx vitest run test/fuzz` runs one input again; `npm run test:fuzz` runs a
 * million others.
 */
import { describe, expect, it } from 'vitest'
import { checkInputs, fuzzTargets, runFuzzInput } from './fuzz-inputs.ts'

const inputsInAll = 50_000
const replayed = process.env.TIDEMARK_FUZZ_SEED
const firstSeed = replayed === undefined ? 1 : Number(replayed)
const inputCount = replayed === undefined ? inputsInAll : 1

describe('before they are spoiled', () => {
  it.each(fuzzTargets.map((target) => [target.name, target] as const))(
    '%s: inputs are read',
    (_, target) => {
      expect(target.inputs.length).toBeGreaterThan(0)
      checkInputs(target)
    },
  )
})

describe('spoiled bytes', () => {
  it(`cost a typed error or nothing, for ${inputCount} inputs`, () => {
    const accepted = new Map<string, number>()
    const refused = new Map<string, number>()
    const failures: string[] = []
    for (let seed = firstSeed; seed < firstSeed + inputCount; seed += 1) {
      try {
        const outcome = runFuzzInput(seed)
        const counts = outcome.accepted ? accepted : refused
        counts.set(outcome.target, (counts.get(outcome.target) ?? 0) + 1)
      } catch (error) {
        if (failures.length < 5) failures.push((error as Error).message)
      }
    }
    expect(failures).toEqual([])
    if (replayed !== undefined) return
    // Spoiled enough to be refused, and not so much that nothing behind the first check is read.
    for (const { name, codes } of fuzzTargets) {
      if (codes.length > 0) expect(refused.get(name), `${name}, refused`).toBeGreaterThan(20)
      expect(accepted.get(name), `${name}, accepted`).toBeGreaterThan(20)
    }
  }, 120_000)
})
