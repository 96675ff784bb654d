/** One input made from a seed and given to its target. */
import { isTidemarkError } from '../../src/errors.ts'
import { SeededRandom } from '../../src/lab/statistics-random.ts'
import { batchTargets } from './batch-targets.ts'
import { directoryTarget } from './directory-target.ts'
import { fileTargets } from './file-targets.ts'
import type { FuzzTarget } from './fuzz-target.ts'
import { mutate } from './mutations.ts'

export const fuzzTargets: readonly FuzzTarget[] = [...batchTargets, ...fileTargets, directoryTarget]

/** Far above what any input needs, so that only a hang gets there. */
const inputMsMax = 5_000
const shownBytesMax = 400
const weightsInAll = fuzzTargets.reduce((sum, { weight }) => sum + weight, 0)

export interface FuzzOutcome {
  readonly target: string
  readonly accepted: boolean
}

/**
 * @throws an error with the seed and the input, when the target does what it must not: throws
 *   anything but its typed errors, takes too long or too much memory.
 */
export function runFuzzInput(seed: number): FuzzOutcome {
  const random = new SeededRandom(seed)
  const target = pickTarget(random)
  const origin = target.inputs[random.nextBelow(target.inputs.length)]!
  const mutated = mutate(origin, random)
  const bytes = target.mend?.(mutated, random) ?? mutated
  const startedMs = performance.now()
  const memoryBefore = process.memoryUsage().arrayBuffers
  try {
    return { target: target.name, accepted: wasAccepted(target, bytes, random) }
  } catch (cause) {
    const shown = Buffer.from(bytes)
      .toString('hex')
      .slice(0, 2 * shownBytesMax)
    const why = cause instanceof Error ? cause.stack : String(cause)
    const what = `seed ${seed}, ${target.name}, ${bytes.length} bytes`
    throw new Error(`${what}: ${why}\n  ${shown}`, { cause })
  } finally {
    checkCosts(seed, target, performance.now() - startedMs, memoryBefore)
  }
}

/** Every target reads what it is told is good. */
export function checkInputs(target: FuzzTarget): void {
  for (const input of target.inputs) target.run(Uint8Array.from(input), new SeededRandom(1))
}

function wasAccepted(target: FuzzTarget, bytes: Uint8Array, random: SeededRandom): boolean {
  try {
    target.run(bytes, random)
    return true
  } catch (error) {
    if (!isTidemarkError(error) || !target.codes.includes(error.code)) throw error
    if (error.message === '') throw new Error('an error that says nothing', { cause: error })
    return false
  }
}

/** Memory may have been freed meanwhile: what is seen is the least that was taken. */
function checkCosts(seed: number, target: FuzzTarget, ms: number, memoryBefore: number): void {
  const taken = process.memoryUsage().arrayBuffers - memoryBefore
  const { name, bytesMax } = target
  if (ms > inputMsMax) throw new Error(`seed ${seed}, ${name}: took ${ms.toFixed(0)} ms`)
  if (taken > bytesMax) throw new Error(`seed ${seed}, ${name}: took ${taken} bytes of memory`)
}

function pickTarget(random: SeededRandom): FuzzTarget {
  let at = random.nextBelow(weightsInAll)
  for (const target of fuzzTargets) {
    at -= target.weight
    if (at < 0) return target
  }
  return fuzzTargets[0]!
}
