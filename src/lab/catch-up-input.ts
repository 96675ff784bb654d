/** What the options ask of an input, which shows only when it is loaded. */
import type { CatchUpOptions } from './result.ts'
import { badValue } from './units.ts'

/**
 * Only a segment knows when its records arrived; what the input is shows when it is loaded.
 *
 * @throws {TidemarkError} INVALID_ARGUMENT when a replay was asked of anything else.
 */
export function requireReplayable(options: CatchUpOptions, inputKind: 'text' | 'segment'): void {
  if (!options.replay || inputKind === 'segment') return
  const allowed = 'is text; --replay needs a Kafka .log segment, whose records have timestamps'
  throw badValue('--input', options.input ?? '', allowed)
}
