import { describe, expect, it } from 'vitest'
import { BatchRing } from '../../src/workers/batch-ring.ts'
import { allocateClusterMemory } from '../../src/workers/cluster-memory.ts'
import { repairRings } from '../../src/workers/ring-repair.ts'

describe('a producing thread that ended with a claim', () => {
  it('holds up neither the ring nor its taking into use again', async () => {
    const memory = allocateClusterMemory({
      brokers: 2,
      partitionsMax: 8,
      ringBytes: 256 * 1024,
      originMs: 0,
    })
    const ring = new BatchRing(memory.rings[1])
    const claim = { position: 0, units: 0 }
    expect(ring.tryClaim(5, 1_000, claim)).toBe(true)
    expect(ring.isClaimed()).toBe(true)
    expect(ring.stateAt(claim.position)).toBe(0)
    await repairRings(memory, 5)
    expect(ring.isClaimed()).toBe(false)
    expect(ring.stateAt(claim.position)).toBe(-claim.units)
  })
})
