/**
 * After a producing thread has ended: what it had claimed and not committed must not hold up the
 * rings.
 */
import { brokerId } from '../ids.ts'
import { BatchRing } from './batch-ring.ts'
import type { ClusterMemory } from './cluster-memory.ts'
import { ProgressBoard } from './progress-board.ts'

const retryMs = 1

/**
 * Turns the claims of client `slot` into padding, in every ring, and wakes the leaders. Where a
 * living producer names the same place it is known only when that one has committed: then it is
 * tried again.
 */
export async function repairRings(memory: ClusterMemory, slot: number): Promise<void> {
  const board = new ProgressBoard(memory.board)
  for (const [row, buffers] of memory.rings.entries()) {
    const ring = new BatchRing(buffers)
    while (ring.needsRepair(slot)) {
      ring.repairAfterDeath(slot)
      if (ring.needsRepair(slot)) await new Promise((resolve) => setTimeout(resolve, retryMs))
    }
    board.wakeBroker(brokerId(row + 1))
  }
}
