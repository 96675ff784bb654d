import { describe, expect, it } from 'vitest'
import { type PlacementOptions, replicasOf } from '../../src/cluster-placement.ts'
import { brokerId } from '../../src/ids.ts'

const brokers = [1, 2, 3].map(brokerId)

function errorOf(options: PlacementOptions): string {
  try {
    replicasOf(options, brokers)
    return 'none'
  } catch (error) {
    return String((error as Error).message)
  }
}

describe('replicas of a topic', () => {
  it('are placed around the brokers, or with one leader', () => {
    expect(replicasOf({ partitions: 4, replicationFactor: 2 }, brokers)).toEqual([
      [1, 2],
      [2, 3],
      [3, 1],
      [1, 2],
    ])
    expect(replicasOf({ partitions: 2, leaders: 'one' }, brokers)).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ])
    expect(replicasOf({}, brokers.slice(0, 2))).toEqual([[1, 2]])
  })

  it('are those that are given', () => {
    const assignments = [
      [3, 1],
      [2, 3],
    ]
    expect(replicasOf({ assignments }, brokers)).toEqual(assignments)
  })

  it.each<[PlacementOptions, RegExp]>([
    [{ assignments: [[1, 4]] }, /replicas \[1,4\]: allowed are different ones of \[1,2,3\]/],
    [{ assignments: [[1, 1]] }, /replicas \[1,1\]/],
    [{ assignments: [[]] }, /replicas \[\]/],
    [{ assignments: [[1, 2], [3]] }, /replicas \[3\]/],
    [{ assignments: [] }, /assignments = \[\]: allowed are 1 and more/],
    [{ assignments: [[1]], partitions: 1 }, /partitions = 1: not together with assignments/],
    [{ partitions: 0 }, /partitions = 0/],
    [{ replicationFactor: 4 }, /replication factor 4: allowed are 1 to 3/],
  ])('%j is refused', (options, message) => {
    expect(errorOf(options)).toMatch(message)
  })
})
