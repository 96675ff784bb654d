/**
 * A compacted log against a map: whatever is appended, deleted, compacted, opened again or lost in
 * a crash, the latest value of each key is there, and nothing that was not written.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SeededRandom } from '../../../src/lab/statistics-random.ts'
import { compact, contents, newDisk, openKeyed, put, withoutRolls } from './keyed-log.ts'

type Step =
  | { readonly kind: 'put'; readonly keys: readonly number[]; readonly tombstone: boolean }
  | { readonly kind: 'compact'; readonly mapKeys: number; readonly upTo: number }
  | { readonly kind: 'later' | 'reopen' | 'crash' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('put' as const),
      keys: fc.array(fc.nat(6), { minLength: 1, maxLength: 5 }),
      tombstone: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('compact' as const),
      mapKeys: fc.integer({ min: 3, max: 40 }),
      upTo: fc.integer({ min: 0, max: 4 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('later', 'reopen', 'crash') }),
  },
)

const retentionMs = 500

class Model {
  readonly fs = newDisk()
  readonly config = { deleteRetentionMs: retentionMs, segmentBytes: 260 }
  log = openKeyed(this.fs, { config: this.config })
  /** All that was ever written, by offset: `key=value`. */
  written: string[] = []
  nowMs = 10_000
  count = 0

  run(each: Step, seed: number): void {
    if (each.kind === 'put') this.#put(each.keys, each.tombstone)
    else if (each.kind === 'compact') this.#compact(each.mapKeys, each.upTo)
    else if (each.kind === 'later') this.nowMs += retentionMs
    else this.#reopen(each.kind, seed)
    this.check()
  }

  #put(keys: readonly number[], tombstone: boolean): void {
    const texts = keys.map((key, at) => {
      this.count += 1
      return tombstone && at === 0 ? `k${key}=` : `k${key}=${this.count}`
    })
    put(this.log, [texts.join(' ')])
    this.written.push(...texts)
  }

  #compact(mapKeys: number, upTo: number): void {
    const end = this.log.logEndOffset
    const lastStableOffset = Math.max(0, end - upTo * 3)
    const before = contents(this.log)
    compact(this.fs, this.log, { nowMs: this.nowMs, lastStableOffset, mapBytes: 24 * mapKeys })
    const above = (labels: readonly string[]) =>
      labels.filter((label) => Number.parseInt(label, 10) >= lastStableOffset)
    expect(above(contents(this.log))).toEqual(above(before))
  }

  #reopen(kind: 'reopen' | 'crash', seed: number): void {
    if (kind === 'reopen') this.log.close()
    else {
      this.log.flush()
      this.fs.crash(new SeededRandom(seed))
    }
    this.log = openKeyed(this.fs, { config: this.config, cleanShutdown: kind === 'reopen' })
  }

  check(): void {
    const found = withoutRolls(contents(this.log))
    let before = -1
    const latest = new Map<string, string>()
    for (const label of found) {
      const offset = Number.parseInt(label, 10)
      const record = label.slice(label.indexOf(':') + 1)
      expect(offset).toBeGreaterThan(before)
      expect(record).toBe(this.written[offset])
      before = offset
      const [key, value] = record.split('=') as [string, string]
      latest.set(key, value)
    }
    const expected = new Map<string, string>()
    for (const record of this.written) {
      const [key, value] = record.split('=') as [string, string]
      expected.set(key, value)
    }
    // A key that was deleted may be told as deleted, or not at all.
    for (const [key, value] of expected) {
      expect(latest.get(key) ?? '', key).toBe(value)
    }
    expect(this.log.logEndOffset).toBe(this.written.length)
  }
}

describe('a compacted log, whatever is done to it', () => {
  it('holds the latest value of each key', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 40 }), fc.nat(), (steps, seed) => {
        const model = new Model()
        for (const [at, each] of steps.entries()) model.run(each, seed + at)
      }),
      { numRuns: 40 },
    )
  })
})
