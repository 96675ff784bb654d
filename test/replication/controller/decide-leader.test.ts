import { describe, expect, it } from 'vitest'
import type { BrokerId } from '../../../src/ids.ts'
import {
  decideLeader,
  type ElectionType,
} from '../../../src/replication/controller/decide-leader.ts'

function elect(type: ElectionType, leader: number, isr: number[], alive: number[]) {
  return decideLeader({
    type,
    replicas: [2, 1, 3] as BrokerId[],
    inSyncReplicas: isr as BrokerId[],
    eligibleLeaderReplicas: [],
    lastKnownLeader: [],
    leader: leader as BrokerId,
    mayLead: (broker) => alive.includes(broker),
  })
}

function clean(leader: number) {
  return { leader, unclean: false }
}

describe('76. ElectLeader', () => {
  it.each<[string, ElectionType, number, number[], number[], number]>([
    ['keeps a valid leader that is not preferred', 'online', 1, [1, 2, 3], [1, 2, 3], 1],
    ['first in order of the replicas, not of the ISR', 'online', 9, [3, 1], [1, 3], 1],
    ['skips who is not there', 'online', 2, [2, 1, 3], [3], 3],
    ['skips who is not in sync', 'online', 2, [2, 3], [1, 3], 3],
    ['none when no in-sync replica is there', 'online', 2, [2], [1, 3], -1],
    ['stays with none', 'online', -1, [2], [1, 3], -1],
    ['comes back from none', 'online', -1, [3], [3], 3],
    ['preferred: moves to the first replica', 'preferred', 1, [1, 2, 3], [1, 2, 3], 2],
    [
      'preferred: keeps the leader if the first is not in sync',
      'preferred',
      3,
      [3, 1],
      [1, 2, 3],
      3,
    ],
    ['preferred: keeps the leader if the first is not there', 'preferred', 3, [1, 2, 3], [1, 3], 3],
    ['preferred: first valid of the rest', 'preferred', 2, [1, 2, 3], [3], 3],
    ['preferred: never outside the ISR', 'preferred', 2, [2], [1, 3], -1],
    ['unclean: keeps a valid leader', 'unclean', 1, [1], [1, 2, 3], 1],
    ['unclean: in sync first', 'unclean', 2, [3], [1, 3], 3],
  ])('%s', (_, type, leader, isr, alive, expected) => {
    expect(elect(type, leader, isr, alive)).toEqual(clean(expected))
  })

  it('unclean: the first in order that is there', () => {
    expect(elect('unclean', 2, [2], [1, 3])).toEqual({ leader: 1, unclean: true })
    expect(elect('unclean', 2, [2], [])).toEqual(clean(-1))
  })
})
