/**
 * A log's producers against a list of what was written: random batches of producers, transactions,
 * duplicates, rolls, truncations, ends and crashes, with snapshots missing or damaged. Whatever
 * happens, what is known is what the batches from the first on tell.
 */
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PartitionLog } from '../../../src/log/partition-log.ts'
import { appendJudged, endTransaction } from '../../support/producer-batches.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { openLog } from '../log-fixture.ts'

interface Written {
  readonly id: number
  readonly epoch: number
  readonly base: number
  readonly count: number
  readonly kind: 'plain' | 'transactional' | 'commit' | 'abort'
  /** -1: of a marker. */
  readonly sequence: number
}

interface Known {
  epoch: number
  lastSequence: number
  lastOffset: number
  delta: number
  open: number
  coordinator: number
}

/** By the rules alone, from the first batch on. */
function replay(batches: readonly Written[]) {
  const known = new Map<number, Known>()
  const aborted: [number, number, number][] = []
  for (const { id, epoch, base, count, kind, sequence } of batches) {
    let each = known.get(id)
    if (each === undefined || each.epoch !== epoch) {
      const { open = -1, coordinator = -1 } = each ?? {}
      each = { epoch, lastSequence: -1, lastOffset: -1, delta: 0, open, coordinator }
      known.set(id, each)
    }
    if (kind === 'commit' || kind === 'abort') {
      if (kind === 'abort' && each.open >= 0) aborted.push([id, each.open, base])
      each.open = -1
      each.coordinator = 0
      continue
    }
    each.lastSequence = sequence + count - 1
    each.lastOffset = base + count - 1
    each.delta = count - 1
    if (kind === 'transactional' && each.open < 0) each.open = base
  }
  const open = [...known.values()].map((each) => each.open).filter((offset) => offset >= 0)
  return { known, aborted, firstOpen: open.length === 0 ? -1 : Math.min(...open) }
}

const config = { segmentBytes: 420, indexIntervalBytes: 100 }
const step = fc.record({
  kind: fc.constantFrom(
    ...(['append', 'append', 'append', 'append', 'run', 'duplicate', 'gap'] as const),
    ...(['bump', 'end', 'end', 'truncate', 'stop', 'crash', 'crash'] as const),
  ),
  id: fc.integer({ min: 1, max: 3 }),
  count: fc.integer({ min: 1, max: 3 }),
  flag: fc.boolean(),
  where: fc.nat(1_000),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

class World {
  readonly directory = temporaryDirectory()
  log: PartitionLog = openLog({ directory: this.directory, config })
  written: Written[] = []

  run(each: Step): void {
    const state = replay(this.written).known.get(each.id)
    if (each.kind === 'truncate') this.#truncate(each.where)
    else if (each.kind === 'stop' || each.kind === 'crash') this.#reopen(each)
    else if (each.kind === 'end') this.#end(each, state)
    else if (each.kind === 'duplicate') this.#duplicate(each, state)
    else if (each.kind === 'gap') this.#gap(each, state)
    else this.#append(each, state)
    this.#compare()
  }

  #append({ kind, id, count, flag }: Step, state: Known | undefined): void {
    const epoch = kind === 'bump' ? (state?.epoch ?? 0) + 1 : (state?.epoch ?? 0)
    const sequence = kind === 'bump' || state === undefined ? 0 : state.lastSequence + 1
    const transactional = flag || (state?.open ?? -1) >= 0
    const base = this.log.logEndOffset
    const batches = Array.from({ length: kind === 'run' ? 3 : 1 }, (_, at) => {
      return { id, epoch, count, transactional, sequence: sequence + at * count }
    })
    const expected = batches.map((_, at) => base + at * count)
    expect(appendJudged(this.log, batches)).toEqual(expected)
    const name = transactional ? 'transactional' : 'plain'
    for (const [at, batch] of batches.entries()) {
      this.written.push({ ...batch, base: expected[at]!, kind: name })
    }
  }

  /** The newest batch is always remembered. */
  #duplicate({ id }: Step, state: Known | undefined): void {
    if (state === undefined || state.lastSequence < 0) return
    const sequence = state.lastSequence - state.delta
    const again = { id, epoch: state.epoch, sequence, count: state.delta + 1 }
    expect(appendJudged(this.log, [again])).toEqual([`dup ${state.lastOffset - state.delta}`])
  }

  #gap({ id, count }: Step, state: Known | undefined): void {
    if (state === undefined) return
    const sequence = state.lastSequence + 1 + count
    const far = { id, epoch: state.epoch, sequence, count: 4, transactional: true }
    expect(appendJudged(this.log, [far])).toEqual(['OUT_OF_ORDER_SEQUENCE_NUMBER'])
  }

  #end({ id, flag }: Step, state: Known | undefined): void {
    const epoch = state?.epoch ?? 0
    const base = endTransaction(this.log, { id, commit: flag, epoch })
    const kind = flag ? 'commit' : 'abort'
    this.written.push({ id, epoch, base, count: 1, kind, sequence: -1 })
  }

  #truncate(where: number): void {
    const cut = this.written[where % Math.max(1, this.written.length)]
    if (cut === undefined) return
    this.log.truncateTo(cut.base)
    this.written = this.written.filter(({ base }) => base < cut.base)
  }

  #reopen({ kind, flag, where }: Step): void {
    if (where % 3 === 0) this.log.flush()
    const { recoveryPoint } = this.log
    if (kind === 'stop') this.log.close()
    const names = readdirSync(this.directory).filter((name) => name.endsWith('.snapshot'))
    for (const [at, name] of names.entries()) {
      const file = path.join(this.directory, name)
      if (((where >> at) & 1) === 1) continue
      if (flag) rmSync(file)
      else writeFileSync(file, Buffer.alloc(56, where))
    }
    const cleanShutdown = kind === 'stop'
    const stated = cleanShutdown ? {} : { recoveryPoint }
    this.log = openLog({ directory: this.directory, config, cleanShutdown, ...stated })
  }

  #compare(): void {
    const { known, aborted, firstOpen } = replay(this.written)
    const expected = [...known].map(([producerId, each]) => ({
      producerId,
      producerEpoch: each.epoch,
      lastSequence: each.lastSequence,
      lastOffset: each.lastOffset,
      offsetDelta: each.delta,
      timestampMs: 1_000,
      coordinatorEpoch: each.coordinator,
      currentTransactionFirstOffset: each.open,
    }))
    expected.sort((one, other) => one.producerId - other.producerId)
    expect(this.log.producers.snapshot()).toEqual(expected)
    const end = this.log.logEndOffset
    const found = this.log.producers.abortedTransactions(0, end + 1)
    expect(found.map((each) => [each.producerId, each.firstOffset, each.lastOffset])).toEqual(
      aborted,
    )
    expect(this.log.lastStableOffset(end)).toBe(firstOpen < 0 ? end : firstOpen)
  }
}

describe('the producers of a log', () => {
  it('are as its batches tell them, whatever is done to it', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), (steps) => {
        const world = new World()
        for (const each of steps) world.run(each)
        world.log.close({ flush: false })
      }),
      { numRuns: 60 },
    )
  })
})
