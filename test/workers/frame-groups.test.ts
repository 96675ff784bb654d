/** One round's frames by partition, and what became of them, as rounds grow. */
import { describe, expect, it } from 'vitest'
import { partitionIndex } from '../../src/ids.ts'
import { allocateBatchRing, BatchRing } from '../../src/workers/batch-ring.ts'
import { FrameGroups } from '../../src/workers/frame-groups.ts'
import { FrameOutcomes } from '../../src/workers/frame-outcomes.ts'

const partitions = 1_500
const ring = new BatchRing(allocateBatchRing(1024 * 1024))

/** Frame `n` is one unit long, at position `n`, of partition `n` modulo their number. */
function roundOf(groups: FrameGroups, frames: number): void {
  groups.begin()
  for (let at = 0; at < frames; at++) groups.add(partitionIndex(at % partitions), at)
}

function positionsOf(groups: FrameGroups, group: number): number[] {
  const positions: number[] = []
  for (let at = groups.first(group); at >= 0; at = groups.next(at)) {
    positions.push(groups.position(at))
  }
  return positions
}

function expectRound(groups: FrameGroups, frames: number): void {
  expect(groups.groupCount).toBe(Math.min(frames, partitions))
  for (let group = 0; group < groups.groupCount; group++) {
    expect(groups.partition(group)).toBe(group)
    const length = Math.ceil((frames - group) / partitions)
    const expected = Array.from({ length }, (_, turn) => group + turn * partitions)
    expect(positionsOf(groups, group)).toEqual(expected)
    const { positions, count } = groups.select(group)
    const places = expected.map((position) => ring.batchPosition(position))
    expect(Array.from(positions.subarray(0, count))).toEqual(places)
  }
}

describe('a round of frames', () => {
  it.each([1, 1_024, 1_025, 2_049, 4_096])('of %i frames has them by partition', (frames) => {
    const groups = new FrameGroups(ring, partitions)
    roundOf(groups, frames)
    expectRound(groups, frames)
    expect(groups.isFull).toBe(frames === 4_096)
  })

  it('grows to the bound, and serves smaller rounds afterwards', () => {
    const groups = new FrameGroups(ring, partitions)
    expect(groups.capacity).toBe(1_024)
    for (const frames of [100, 4_096, 7, 3_000]) {
      roundOf(groups, frames)
      expectRound(groups, frames)
    }
    expect(groups.capacity).toBe(4_096)
  })
})

describe('outcomes of a round', () => {
  it('are kept of every frame and group there is room for', () => {
    const groups = new FrameGroups(ring, partitions)
    roundOf(groups, 3_000)
    const outcomes = new FrameOutcomes(groups.capacity)
    for (let group = 0; group < groups.groupCount; group++) {
      outcomes.ofGroup.areAllPlain = group % 3 === 0
      outcomes.ofGroup.refused(0, 'OUT_OF_ORDER_SEQUENCE_NUMBER')
      outcomes.ofGroup.duplicate(1, group, group + 5)
      outcomes.setRefused(group, group % 2 === 1)
      outcomes.keep(groups, group)
    }
    for (let group = 0; group < groups.groupCount; group++) {
      expect(outcomes.isPlain(group)).toBe(group % 3 === 0)
      expect(outcomes.isRefused(group)).toBe(group % 2 === 1)
      if (group % 3 === 0) continue
      const [first, second] = [groups.first(group), groups.next(groups.first(group))]
      expect(outcomes.error(first)).not.toBe(0)
      expect([outcomes.error(second), outcomes.isDuplicate(second)]).toEqual([0, true])
      expect([outcomes.baseOffset(second), outcomes.endOffset(second)]).toEqual([group, group + 5])
    }
  })

  it('have room for all of one partition', () => {
    const outcomes = new FrameOutcomes(4_096)
    expect(outcomes.ofGroup.errors.length).toBe(4_096)
  })
})
