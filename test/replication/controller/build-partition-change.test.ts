import { describe, expect, it } from 'vitest'
import type { BrokerId } from '../../../src/ids.ts'
import { partitionIndex } from '../../../src/ids.ts'
import {
  buildPartitionChange,
  type PartitionChangeTarget,
} from '../../../src/replication/controller/build-partition-change.ts'
import { mergePartitionChange } from '../../../src/replication/controller/merge-partition-change.ts'
import type { PartitionRegistration } from '../../../src/replication/registration.ts'

function ids(...values: number[]): readonly BrokerId[] {
  return values as BrokerId[]
}

const registration: PartitionRegistration = {
  index: partitionIndex(0),
  topicId: 'AAECAwQFBgcICQoLDA0ODw',
  topic: 't',
  partition: 0,
  replicas: ids(2, 1, 3),
  inSyncReplicas: ids(2, 1, 3),
  addingReplicas: [],
  removingReplicas: [],
  leader: 1 as BrokerId,
  leaderRecoveryState: 'recovered',
  leaderEpoch: 100,
  partitionEpoch: 200,
  eligibleLeaderReplicas: [],
  lastKnownLeader: [],
}

function build(
  target: Partial<PartitionChangeTarget>,
  alive: readonly number[] = [1, 2, 3, 4],
  present: Partial<PartitionRegistration> = {},
) {
  const from = { ...registration, ...present }
  const change = buildPartitionChange({
    registration: from,
    election: 'online',
    minInSyncReplicas: 1,
    keepsEligible: false,
    mayLead: (broker: number) => alive.includes(broker),
    ...target,
  } as PartitionChangeTarget)
  const merged = change === undefined ? from : mergePartitionChange(from, change)
  return {
    change,
    merged,
    leaderEpochs: merged.leaderEpoch - from.leaderEpoch,
    partitionEpochs: merged.partitionEpoch - from.partitionEpoch,
  }
}

describe('building a partition change', () => {
  it('no difference: no record', () => {
    expect(build({}).change).toBeUndefined()
    expect(build({ inSyncReplicas: ids(2, 1, 3) }).change).toBeUndefined()
    expect(build({ leaderRecoveryState: 'recovered' }).change).toBeUndefined()
  })

  it('a mere reorder of the ISR is a change', () => {
    const { change, partitionEpochs, leaderEpochs } = build({ inSyncReplicas: ids(1, 2, 3) })
    expect(change).toEqual({
      type: 'partitionChange',
      partitionId: 0,
      topicId: registration.topicId,
      isr: [1, 2, 3],
    })
    expect([partitionEpochs, leaderEpochs]).toEqual([1, 0])
  })

  it('77. NoLeaderEpochBumpOnIsrShrink', () => {
    const { merged, partitionEpochs, leaderEpochs } = build({ inSyncReplicas: ids(2, 1) })
    expect(merged).toMatchObject({ inSyncReplicas: [2, 1], leader: 1 })
    expect([partitionEpochs, leaderEpochs]).toEqual([1, 0])
  })

  it('no leader epoch bump on an expand', () => {
    const { partitionEpochs, leaderEpochs } = build({}, [1, 2, 3], { inSyncReplicas: ids(1) })
    expect([partitionEpochs, leaderEpochs]).toEqual([0, 0])
    const expand = build({ inSyncReplicas: ids(1, 2) }, [1, 2], { inSyncReplicas: ids(1) })
    expect([expand.partitionEpochs, expand.leaderEpochs]).toEqual([1, 0])
  })

  it('77. bump if a replica is removed, none if replicas are only added', () => {
    const removed = build({ replicas: ids(2, 1), inSyncReplicas: ids(2, 1) })
    expect(removed.merged).toMatchObject({ replicas: [2, 1], leader: 1 })
    expect([removed.partitionEpochs, removed.leaderEpochs]).toEqual([1, 1])
    const added = build({ replicas: ids(2, 1, 3, 4), addingReplicas: ids(4) })
    expect(added.merged).toMatchObject({ replicas: [2, 1, 3, 4], addingReplicas: [4] })
    expect([added.partitionEpochs, added.leaderEpochs]).toEqual([1, 0])
  })

  it.each([
    ['to another broker', [2, 3], 2],
    ['to none', [], -1],
  ])('leader change %s: both epochs grow', (_, alive, leader) => {
    const { merged, partitionEpochs, leaderEpochs } = build({}, alive)
    expect(merged).toMatchObject({ leader, inSyncReplicas: [2, 1, 3] })
    expect([partitionEpochs, leaderEpochs]).toEqual([1, 1])
  })

  it('from none back to the same broker: both epochs grow', () => {
    const offline = { leader: -1 as BrokerId, inSyncReplicas: ids(1) }
    const { merged, partitionEpochs, leaderEpochs } = build({}, [1], offline)
    expect(merged).toMatchObject({ leader: 1, inSyncReplicas: [1] })
    expect([partitionEpochs, leaderEpochs]).toEqual([1, 1])
  })

  it('the last in-sync replica stays when its target is empty', () => {
    const { merged } = build({ inSyncReplicas: [] }, [2, 3], { inSyncReplicas: ids(1) })
    expect(merged).toMatchObject({ leader: -1, inSyncReplicas: [1] })
  })

  it('78. UncleanLeaderElection: recovering, until a proposal says recovered', () => {
    const target = { election: 'unclean', inSyncReplicas: [] } as const
    const unclean = build(target, [3], { inSyncReplicas: ids(1) })
    expect(unclean.merged).toMatchObject({
      leader: 3,
      inSyncReplicas: [3],
      leaderRecoveryState: 'recovering',
    })
    const cleared = build({ leaderRecoveryState: 'recovered' }, [3], unclean.merged)
    expect(cleared.merged).toMatchObject({ leader: 3, leaderRecoveryState: 'recovered' })
    expect([cleared.partitionEpochs, cleared.leaderEpochs]).toEqual([1, 0])
  })

  it('an unclean election of a partition that is still recovering does not say so again', () => {
    const recovering = { inSyncReplicas: ids(1), leaderRecoveryState: 'recovering' } as const
    const { change } = build({ election: 'unclean', inSyncReplicas: [] }, [3], recovering)
    expect(change).toMatchObject({ leader: 3, isr: [3] })
    expect(change).not.toHaveProperty('leaderRecoveryState')
  })
})

describe('63. completing a reassignment', () => {
  const moving = {
    replicas: ids(2, 3, 4, 1),
    inSyncReplicas: ids(1, 2, 3),
    addingReplicas: ids(4),
    removingReplicas: ids(1),
  }

  it('waits for all replicas that stay, not merely the added ones', () => {
    const { merged } = build({ inSyncReplicas: ids(1, 2, 4) }, [1, 2, 3, 4], moving)
    expect(merged).toMatchObject({
      replicas: [2, 3, 4, 1],
      inSyncReplicas: [1, 2, 4],
      addingReplicas: [4],
      removingReplicas: [1],
      leader: 1,
    })
  })

  it('drops the removed ones, elects anew if the leader is among them', () => {
    const { merged, partitionEpochs, leaderEpochs } = build(
      { inSyncReplicas: ids(1, 2, 3, 4) },
      [1, 2, 3, 4],
      moving,
    )
    expect(merged).toMatchObject({
      replicas: [2, 3, 4],
      inSyncReplicas: [2, 3, 4],
      addingReplicas: [],
      removingReplicas: [],
      leader: 2,
    })
    expect([partitionEpochs, leaderEpochs]).toEqual([1, 1])
  })
})
