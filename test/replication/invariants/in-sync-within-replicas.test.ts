import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { brokerId } from '../../../src/ids.ts'
import { inSyncFault } from '../../../src/replication/invariants/in-sync-within-replicas.ts'
import { leaderNone, type PartitionRegistration } from '../../../src/replication/registration.ts'

const ids = fc.array(fc.integer({ min: 1, max: 4 }).map(brokerId), { maxLength: 4 })

function registrationOf(parts: Partial<PartitionRegistration>): PartitionRegistration {
  const empty = { replicas: [], inSyncReplicas: [], eligibleLeaderReplicas: [] }
  return {
    ...empty,
    leader: leaderNone,
    lastKnownLeader: [],
    ...parts,
  } as unknown as PartitionRegistration
}

/** By sets, in the order in which faults are told. */
function naiveFault(registration: PartitionRegistration): string | undefined {
  const { replicas, inSyncReplicas, eligibleLeaderReplicas, leader } = registration
  const holders = [...inSyncReplicas, ...eligibleLeaderReplicas]
  if (holders.some((holder) => !replicas.includes(holder))) return 'is no replica'
  if (new Set(holders).size < holders.length) return 'named twice'
  if (leader !== leaderNone && !inSyncReplicas.includes(leader)) return 'is not in sync'
  if (holders.length > 0 || registration.lastKnownLeader.length > 0) return undefined
  return 'nobody has the committed records'
}

describe('inSyncFault', () => {
  it('finds what sets find', () => {
    const parts = {
      replicas: fc.uniqueArray(fc.integer({ min: 1, max: 4 }).map(brokerId), { minLength: 2 }),
      inSyncReplicas: ids,
      eligibleLeaderReplicas: fc.oneof(fc.constant([]), ids),
      leader: fc.oneof(fc.constant(leaderNone), fc.integer({ min: 1, max: 4 }).map(brokerId)),
      lastKnownLeader: fc.oneof(fc.constant([]), fc.constant([brokerId(1)])),
    }
    const told = new Map<string | undefined, number>()
    const property = fc.property(fc.record(parts), (each) => {
      const registration = registrationOf(each)
      const expected = naiveFault(registration)
      told.set(expected, (told.get(expected) ?? 0) + 1)
      const fault = inSyncFault(registration)
      if (expected === undefined) expect(fault).toBeUndefined()
      else expect(fault).toContain(expected)
    })
    fc.assert(property, { numRuns: 3_000 })
    expect(told.size).toBe(5)
    expect(Math.min(...told.values())).toBeGreaterThan(20)
  })
})
