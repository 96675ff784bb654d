/**
 * The memory that threads share, allocated once and made as new for each history: allocating it
 * costs more than a history does.
 */

import { limits } from '../../src/limits.ts'
import { allocateAckRings } from '../../src/workers/ack-ring.ts'
import { allocateBatchRing } from '../../src/workers/batch-ring.ts'
import type { ClusterMemory } from '../../src/workers/cluster-memory.ts'
import { allocateLagTables } from '../../src/workers/lag-table.ts'
import { allocateProgressBoard } from '../../src/workers/progress-board-layout.ts'
import { cacheLineWords } from '../../src/workers/shared-words.ts'

export const originMs = 1_000_000
const acksCapacity = 64

interface Kept {
  readonly memory: ClusterMemory
  readonly buffers: readonly SharedArrayBuffer[]
  readonly pristine: readonly Int32Array[]
}

const kept = new Map<number, Kept>()

/** Valid until the next call. */
export function freshMemory(brokers: number, partitionsMax: number, ringStart: number) {
  const { memory, buffers, pristine } = keptFor(brokers, partitionsMax)
  for (const [at, buffer] of buffers.entries()) new Int32Array(buffer).set(pristine[at])
  for (const { control } of memory.rings) {
    const words = new Int32Array(control)
    // Tail, limit and published stand side by side, a cache line each.
    for (let word = 0; word < 3; word++) words[word * cacheLineWords] = ringStart
  }
  return memory
}

/** All words as they are now. @returns puts them back */
export function snapshotMemory(memory: ClusterMemory): () => void {
  const buffers = buffersOf(memory)
  const copies = buffers.map((buffer) => new Int32Array(buffer).slice())
  return () => {
    for (const [at, buffer] of buffers.entries()) new Int32Array(buffer).set(copies[at])
  }
}

function keptFor(brokers: number, partitionsMax: number): Kept {
  const key = brokers * 1_000 + partitionsMax
  let found = kept.get(key)
  if (found === undefined) {
    const shape = { brokers, partitionsMax, clients: limits.producersMax }
    const memory = {
      board: allocateProgressBoard(shape, originMs),
      rings: Array.from({ length: brokers }, () => allocateBatchRing(limits.ringBytesMin)),
      acks: allocateAckRings(4, brokers, acksCapacity),
      lags: allocateLagTables(brokers),
    }
    const buffers = buffersOf(memory)
    found = { memory, buffers, pristine: buffers.map((each) => new Int32Array(each).slice()) }
    kept.set(key, found)
  }
  return found
}

function buffersOf({ board, rings, acks }: ClusterMemory): SharedArrayBuffer[] {
  const ofRings = rings.flatMap(({ data, control }) => [data, control])
  return [board.buffer, acks.buffer, ...ofRings]
}
