/**
 * The memory that threads share, allocated once and made as new for each history: allocating it
 * costs more than a history does.
 */

import { limits } from '../../src/limits.ts'
import { allocateAckRings } from '../../src/workers/ack-ring.ts'
import { allocateBatchRing, ringUnitBytes } from '../../src/workers/batch-ring.ts'
import type { ClusterMemory } from '../../src/workers/cluster-memory.ts'
import { allocateLagTables } from '../../src/workers/lag-table.ts'
import { allocateProgressBoard } from '../../src/workers/progress-board-layout.ts'
import { cacheLineWords } from '../../src/workers/shared-words.ts'

export const originMs = 1_000_000
const acksCapacity = 64

interface Kept {
  readonly memory: ClusterMemory
  /** All words but those of batches. */
  readonly words: readonly Int32Array[]
  readonly pristine: readonly Int32Array[]
  /** Where the rings began in the history before. */
  ringStart: number
}

const kept = new Map<number, Kept>()

/** Valid until the next call. */
export function freshMemory(brokers: number, partitionsMax: number, ringStart: number) {
  const found = keptFor(brokers, partitionsMax)
  const { memory, words, pristine } = found
  for (const { data, control } of memory.rings) clearUsed(data, control, found.ringStart)
  for (const [at, each] of words.entries()) each.set(pristine[at])
  found.ringStart = ringStart
  for (const { control } of memory.rings) {
    const words = new Int32Array(control)
    // Tail, limit and published stand side by side, a cache line each.
    for (let word = 0; word < 3; word++) words[word * cacheLineWords] = ringStart
  }
  return memory
}

/** What a history wrote lies between where its ring began and the tail. */
function clearUsed(data: SharedArrayBuffer, control: SharedArrayBuffer, ringStart: number): void {
  const units = data.byteLength / ringUnitBytes
  const used = (new Int32Array(control)[0] - ringStart) >>> 0
  const bytes = new Uint8Array(data)
  if (used >= units) {
    bytes.fill(0)
    return
  }
  const first = (ringStart >>> 0) % units
  const end = first + used
  bytes.fill(0, first * ringUnitBytes, Math.min(end, units) * ringUnitBytes)
  if (end > units) bytes.fill(0, 0, (end - units) * ringUnitBytes)
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
    const controls = memory.rings.map(({ control }) => control)
    const buffers = [memory.board.buffer, memory.acks.buffer, ...controls]
    const words = buffers.map((buffer) => new Int32Array(buffer))
    const pristine = words.map((each) => each.slice())
    found = { memory, words, pristine, ringStart: 0 }
    kept.set(key, found)
  }
  return found
}

function buffersOf({ board, rings, acks }: ClusterMemory): SharedArrayBuffer[] {
  const ofRings = rings.flatMap(({ data, control }) => [data, control])
  return [board.buffer, acks.buffer, ...ofRings]
}
