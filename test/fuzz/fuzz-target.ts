/** What is fuzzed: something that reads bytes, and bytes that it reads well. */
import type { ErrorCode } from '../../src/errors.ts'
import type { SeededRandom } from '../../src/lab/statistics-random.ts'

export interface FuzzTarget {
  readonly name: string
  /** How often it is taken, among all. */
  readonly weight: number
  /** Each is read without an error. */
  readonly inputs: readonly Uint8Array[]
  /** Codes of the errors it may throw; anything else thrown is a fault. */
  readonly codes: readonly ErrorCode[]
  /** Memory that one input may cost beyond what it holds when it ends. */
  readonly bytesMax: number
  /** Reads the bytes; checks what can be checked of the result, throwing an ordinary error. */
  run(bytes: Uint8Array, random: SeededRandom): void
  /** After the spoiling: what makes the rest be believed, a checksum say. */
  mend?(bytes: Uint8Array, random: SeededRandom): Uint8Array
}
