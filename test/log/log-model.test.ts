/**
 * A log against the plainest thing that behaves like one, an array: random appends through both
 * doors, truncations, reads, flushes, clean stops, and crashes of the process at any moment.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { recoverLog } from '../../src/log/log-recovery.ts'
import type { PartitionLog } from '../../src/log/partition-log.ts'
import { SegmentReader } from '../../src/log/segment-reader.ts'
import {
  encodeBatch,
  labels,
  recordsIn,
  runOf,
  stampedRun,
  textRecords,
} from '../support/batch-builder.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { labelsOf, openLog, smallConfig } from './log-fixture.ts'

interface ModelBatch {
  readonly baseOffset: number
  readonly leaderEpoch: number
  readonly labels: readonly string[]
}

type Step =
  | {
      readonly kind: 'append' | 'replicate'
      readonly sizes: readonly number[]
      readonly newEpoch: boolean
    }
  | { readonly kind: 'truncate' | 'restart'; readonly where: number }
  | { readonly kind: 'read' | 'advance'; readonly where: number }
  | { readonly kind: 'flush' | 'stop' | 'crash' | 'crashAndRecover' }

const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 6 })
const where = fc.nat(1_000)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom('append', 'replicate'),
      sizes,
      newEpoch: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('truncate'), where }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart'), where }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('read', 'advance'), where }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constantFrom('flush', 'stop', 'crash', 'crashAndRecover') }),
  },
) as fc.Arbitrary<Step>

class Model {
  readonly directory = temporaryDirectory()
  log: PartitionLog = openLog({ directory: this.directory })
  batches: ModelBatch[] = []
  start = 0
  end = 0
  epoch = 0

  run(each: Step): void {
    if (each.kind === 'append' || each.kind === 'replicate') this.#append(each)
    else if (each.kind === 'truncate') this.#truncate(each.where)
    else if (each.kind === 'restart') this.#restart(this.end + (each.where % 7))
    else if (each.kind === 'read') this.#read(each.where)
    else if (each.kind === 'advance') this.#advance(each.where)
    else if (each.kind === 'flush') this.log.flush()
    else this.#reopen(each.kind)
    this.#compare()
  }

  #append({
    kind,
    sizes: counts,
    newEpoch,
  }: Step & { sizes: readonly number[]; newEpoch: boolean }) {
    if (newEpoch) this.epoch += 1
    const inputs = counts.map((count, at) => textRecords(count, `e${this.epoch}-${this.end}-${at}`))
    if (kind === 'append')
      this.log.append(
        runOf(
          inputs.map((each) => encodeBatch(each)),
          3,
        ),
        this.epoch,
      )
    else this.log.appendReplicated(stampedRun(inputs, this.end, this.epoch))
    for (const input of inputs) {
      const baseOffset = this.end
      this.batches.push({
        baseOffset,
        leaderEpoch: this.epoch,
        labels: input.map(({ value }, at) => `${baseOffset + at}:${Buffer.from(value!)}`),
      })
      this.end += input.length
    }
  }

  #truncate(at: number): void {
    const batch = this.batches[at % Math.max(1, this.batches.length)]
    const offset = batch?.baseOffset ?? this.end
    expect(this.log.truncateTo(offset)).toBe(offset < this.end)
    this.batches = this.batches.filter(({ baseOffset }) => baseOffset < offset)
    this.end = offset
    this.start = Math.min(this.start, offset)
  }

  #restart(offset: number): void {
    this.log.truncateFullyAndStartAt(offset)
    this.batches = []
    this.start = offset
    this.end = offset
  }

  #advance(at: number): void {
    const offset = this.start + (at % (this.end - this.start + 1))
    this.log.advanceLogStart(offset)
    this.start = Math.max(this.start, offset)
  }

  #read(at: number): void {
    if (this.start === this.end) return
    const offset = this.start + (at % (this.end - this.start))
    const memory = batchMemory(new SharedArrayBuffer(3_000))
    const reader = SegmentReader.open(this.directory)
    for (const source of [this.log, reader]) {
      const bytes = source.read(offset, this.end, 1, memory, 0)
      const expected = this.batches.findLast(({ baseOffset }) => baseOffset <= offset)!
      expect(labels(recordsIn(memory, 0, bytes))).toEqual(expected.labels)
    }
    reader.close()
  }

  /**
   * A crash of the process loses nothing that was written; only what close would have completed.
   */
  #reopen(kind: 'stop' | 'crash' | 'crashAndRecover'): void {
    const { directory, start } = this
    const { recoveryPoint } = this.log
    if (kind === 'stop') this.log.close()
    if (kind === 'crashAndRecover') {
      const options = { recoveryPoint, logStartOffset: start, config: smallConfig }
      expect(recoverLog(directory, options)).toMatchObject({
        logEndOffset: this.end,
        logStartOffset: start,
        truncatedBytes: 0,
      })
    }
    const cleanShutdown = kind !== 'crash'
    const stated = kind === 'stop' ? {} : { recoveryPoint }
    this.log = openLog({ directory, cleanShutdown, logStartOffset: start, ...stated })
    expect(this.log.recoveryPoint).toBe(kind === 'stop' ? this.end : recoveryPoint)
  }

  #compare(): void {
    expect([this.log.logStartOffset, this.log.logEndOffset]).toEqual([this.start, this.end])
    const held = this.batches.filter((batch) => batch.baseOffset + batch.labels.length > this.start)
    expect(labelsOf(this.log)).toEqual(held.flatMap((batch) => batch.labels))
    const epochs = new Map<number, number>()
    for (const { leaderEpoch, baseOffset } of held) {
      if (!epochs.has(leaderEpoch)) epochs.set(leaderEpoch, Math.max(baseOffset, this.start))
    }
    // An epoch at the end, without data, may be known until the next reopen.
    const known = this.log.leaderEpochs.entries.filter(({ startOffset }) => startOffset < this.end)
    expect(known.map((each) => [each.leaderEpoch, each.startOffset])).toEqual([...epochs])
  }
}

describe('a log', () => {
  it('behaves like an array of batches, whatever is done to it', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 25 }), (steps) => {
        const model = new Model()
        for (const each of steps) model.run(each)
        model.log.close({ flush: false })
      }),
      { numRuns: 60 },
    )
  })
})
