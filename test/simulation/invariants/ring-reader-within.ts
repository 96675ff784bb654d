/**
 * Invariant: a reader of a ring never sees an unpublished or an overwritten frame: while it is
 * attached, its cursor lies between what is in use and what is published.
 */

/** Units counted without end, modulo 2^32. */
export interface RingPositions {
  readonly limit: number
  readonly cursor: number
  readonly published: number
  readonly tail: number
}

/** @returns what is broken; undefined: nothing */
export function ringReaderFault(ring: RingPositions): string | undefined {
  const { limit, cursor, published, tail } = ring
  const told = `limit ${limit}, cursor ${cursor}, published ${published}, tail ${tail}`
  if (((cursor - limit) | 0) < 0) return `the reader's next frame may be overwritten: ${told}`
  if (((published - cursor) | 0) < 0) return `the reader is beyond what is published: ${told}`
  if (((tail - published) | 0) < 0) return `published is beyond what is claimed: ${told}`
  return undefined
}
