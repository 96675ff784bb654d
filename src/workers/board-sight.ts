/**
 * BoardSight: what a leader sees of its followers on the board and in its own logs, for the causes
 * that its events carry. Looked at when a replica has fallen behind, noted at each check of the
 * in-sync replicas; never a batch.
 */
import type { BrokerId, PartitionIndex } from '../ids.ts'
import { brokerId as toBrokerId } from '../ids.ts'
import type { FollowerSigns } from '../replication/isr-cause.ts'
import type { FollowerSight } from '../replication/lagging-replicas.ts'
import type { PartitionStore } from './partition-store.ts'
import { brokerState, type ProgressBoard, readerState } from './progress-board.ts'
import type { BrokerCounter } from './progress-board-layout.ts'

const endedStates: ReadonlySet<number> = new Set([
  brokerState.dead,
  brokerState.stopped,
  brokerState.diskFailed,
])

interface Noted {
  atMs: number
  diskReads: number
  writes: number
  writeUs: number
}

export class BoardSight implements FollowerSight {
  readonly #board: ProgressBoard
  readonly #self: BrokerId
  readonly #store: PartitionStore
  /** By broker id. */
  readonly #noted: Noted[]

  constructor(board: ProgressBoard, self: BrokerId, store: PartitionStore) {
    this.#board = board
    this.#self = self
    this.#store = store
    const brokers = board.shape.brokers + 1
    this.#noted = Array.from({ length: brokers }, () => {
      return { atMs: 0, diskReads: 0, writes: 0, writeUs: 0 }
    })
  }

  note(nowMs: number): void {
    for (let id = 1; id <= this.#board.shape.brokers; id++) {
      const noted = this.#noted[id]!
      noted.atMs = nowMs
      noted.diskReads = this.#counter(toBrokerId(id), 'diskReads')
      noted.writes = this.#counter(toBrokerId(id), 'writes')
      noted.writeUs = this.#counter(toBrokerId(id), 'writeUs')
    }
  }

  look(follower: BrokerId, nowMs: number): FollowerSigns {
    const board = this.#board
    const { atMs, diskReads, writes, writeUs } = this.#noted[follower]!
    const tookMs = atMs > 0 ? nowMs - atMs : 0
    const writeMs = (this.#counter(follower, 'writeUs') - writeUs) / 1_000
    const written = this.#counter(follower, 'writes') - writes
    const reads = this.#counter(follower, 'diskReads') - diskReads
    const state = board.state(follower)
    const reader = board.readerState(this.#self, follower)
    const isReadingFiles = reader === readerState.detached
    const throttle = board.throttleBytesPerSec(follower)
    const catchUp = isReadingFiles ? board.catchUpBytesPerSec(follower) : 0
    return {
      isThreadEnded: endedStates.has(state),
      isLogFailed: state === brokerState.diskFailed,
      throttleBytesPerSec:
        throttle > 0 && catchUp > 0 ? Math.min(throttle, catchUp) : throttle + catchUp,
      isReadingFiles,
      fileReadsPerSec: tookMs > 0 ? (reads * 1_000) / tookMs : 0,
      writingShare: tookMs > 0 ? Math.min(1, writeMs / tookMs) : 0,
      msPerWrite: written > 0 ? writeMs / written : 0,
    }
  }

  bytesAfter(partition: PartitionIndex, offset: number): number {
    if (!this.#store.has(partition)) return 0
    const { logStartOffset, logEndOffset, sizeBytes } = this.#store.log(partition)
    const records = logEndOffset - logStartOffset
    if (records <= 0) return 0
    const behind = Math.min(records, logEndOffset - offset)
    return Math.max(0, Math.round((sizeBytes / records) * behind))
  }

  #counter(id: BrokerId, name: BrokerCounter): number {
    return this.#board.counter(id, name)
  }
}
