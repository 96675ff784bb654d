/** A broken promise of our own code: not an error of the world, never caught to go on. */
export class InvariantViolation extends Error {
  override readonly name = 'InvariantViolation'
}

/**
 * Asserts what must hold; stays on in production.
 *
 * @throws {InvariantViolation} when `condition` is false. `what` may be a function, so that the
 *   text is only built when it is needed.
 */
export function invariant(condition: boolean, what: string | (() => string)): asserts condition {
  if (condition) return
  throw new InvariantViolation(typeof what === 'string' ? what : what())
}
