/** What the threads of a chain share. */
import type { BatchPool } from '../../src/lab/batch-pool.ts'

/** Of one line of the processor's cache, so that threads don't disturb each other. */
const lineWords = 16

/**
 * Words of shared memory, one writer each. Batches are counted from 0 without end: `sent` by the
 * producer, `published` by the leader, `done` by each follower, `answered` by the leader.
 */
export const chainWord = {
  sent: 0,
  published: lineWords,
  answered: 2 * lineWords,
  /** Rounds begun, counted by who measures. */
  round: 3 * lineWords,
  stop: 4 * lineWords,
  doneBase: 5 * lineWords,
  bellBase: 16 * lineWords,
  count: 32 * lineWords,
} as const

export function doneWord(follower: number): number {
  return chainWord.doneBase + follower * lineWords
}

/** Of a thread: 0 the producer, 1 the leader, then the followers. */
export function bellWord(thread: number): number {
  return chainWord.bellBase + thread * lineWords
}

export interface ChainTask extends BatchPool {
  /** 0 the producer, 1 the leader, then the followers. */
  readonly thread: number
  readonly followers: number
  readonly words: Int32Array
  /** Of this thread's files. */
  readonly directory: string
  readonly partitions: number
  readonly batchesPerSec: number
  /** Of one round: when each batch was meant to be sent, until it was answered. */
  readonly latenciesMs: Float64Array
}

/** Told by every thread when it is ready, by the producer at the end of every round. */
export type ChainMessage = { readonly kind: 'ready' } | { readonly kind: 'roundOver' }
