/** All memory that the threads of a cluster share, allocated once, and its sum. */
import { limits } from '../limits.ts'
import { type AckRingsBuffers, allocateAckRings } from './ack-ring.ts'
import { allocateBatchRing, type BatchRingBuffers } from './batch-ring.ts'
import { allocateLagTables, type LagTableBuffers } from './lag-table.ts'
import { allocateProgressBoard, type ProgressBoardBuffers } from './progress-board-layout.ts'

export interface ClusterMemory {
  readonly board: ProgressBoardBuffers
  /** One a broker; that of broker `id` at `id - 1`. */
  readonly rings: readonly BatchRingBuffers[]
  readonly acks: AckRingsBuffers
  readonly lags: LagTableBuffers
}

/** Clients have doorbells: the application thread, the controller, each producing thread. */
export const clientSlot = { application: 0, controller: limits.producersMax - 1 } as const

export function allocateClusterMemory(options: {
  readonly brokers: number
  readonly partitionsMax: number
  readonly ringBytes: number
  readonly originMs: number
}): ClusterMemory {
  const { brokers, partitionsMax, ringBytes, originMs } = options
  return {
    board: allocateProgressBoard(
      { brokers, partitionsMax, clients: limits.producersMax },
      originMs,
    ),
    rings: Array.from({ length: brokers }, () => allocateBatchRing(ringBytes)),
    acks: allocateAckRings(limits.producersMax, brokers, limits.acksOutstandingMax),
    lags: allocateLagTables(brokers),
  }
}

/** Bytes laid out; the system gives pages to the parts that are touched. */
export function clusterMemoryBytes(memory: ClusterMemory): number {
  let bytes = memory.board.buffer.byteLength + memory.acks.buffer.byteLength
  bytes += memory.lags.words.byteLength + memory.lags.numbers.byteLength
  for (const ring of memory.rings) bytes += ring.data.byteLength + ring.control.byteLength
  return bytes
}
