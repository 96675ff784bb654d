import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LeaderEpochs, readLeaderEpochs } from '../../src/log/leader-epochs.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

type Pair = readonly [leaderEpoch: number, startOffset: number]

function epochsWith(...pairs: readonly Pair[]): LeaderEpochs {
  const epochs = LeaderEpochs.open(temporaryDirectory())
  for (const [leaderEpoch, startOffset] of pairs) epochs.assign(leaderEpoch, startOffset)
  return epochs
}

function pairs(epochs: LeaderEpochs): Pair[] {
  return epochs.entries.map(({ leaderEpoch, startOffset }) => [leaderEpoch, startOffset])
}

const kafkas: readonly Pair[] = [
  [2, 6],
  [3, 8],
  [4, 11],
]

describe('conformance 82: truncation', () => {
  it.each([
    [8, [[2, 6]]],
    [9, kafkas.slice(0, 2)],
    [11, kafkas.slice(0, 2)],
    [12, kafkas],
    [6, []],
    [-1, kafkas],
  ])('from the end at %d', (offset, expected) => {
    const epochs = epochsWith(...kafkas)
    epochs.truncateFromEnd(offset)
    expect(pairs(epochs)).toEqual(expected)
  })

  it.each([
    [9, [[3, 9], kafkas[2]]],
    [8, kafkas.slice(1)],
    [15, [[4, 15]]],
    [1, kafkas],
    [6, kafkas],
    [7, [[2, 7], ...kafkas.slice(1)]],
  ])('from the start at %d', (offset, expected) => {
    const epochs = epochsWith(...kafkas)
    epochs.truncateFromStart(offset)
    expect(pairs(epochs)).toEqual(expected)
  })
})

describe('conformance 83: end offsets', () => {
  const known = epochPairs([0, 10], [2, 13], [4, 17])

  function epochPairs(...given: readonly Pair[]): readonly Pair[] {
    return given
  }

  it.each([
    [1, 0, 13],
    [3, 2, 17],
    [0, 0, 13],
    [4, 4, 25],
    [5, -1, -1],
    [-1, -1, -1],
  ])('of epoch %d is that of %d: %d', (asked, leaderEpoch, endOffset) => {
    expect(epochsWith(...known).endOffsetFor(asked, 25)).toEqual({ leaderEpoch, endOffset })
  })

  it('below all known is where the first known begins', () => {
    const epochs = epochsWith([5, 11], [6, 12])
    expect(epochs.endOffsetFor(4, 20)).toEqual({ leaderEpoch: 4, endOffset: 11 })
  })

  it('without any entry is unknown', () => {
    expect(epochsWith().endOffsetFor(0, 20)).toEqual({ leaderEpoch: -1, endOffset: -1 })
  })
})

describe('conformance 84: assignment', () => {
  it.each([
    [
      [
        [1, 5],
        [2, 6],
        [1, 7],
      ],
      [[1, 7]],
    ],
    [
      [
        [2, 9],
        [3, 9],
      ],
      [[3, 9]],
    ],
    [
      [
        [2, 6],
        [2, 9],
      ],
      [[2, 6]],
    ],
    [
      [
        [2, 6],
        [2, 4],
      ],
      [[2, 4]],
    ],
    [
      [
        [1, 2],
        [2, 6],
        [3, 4],
      ],
      [
        [1, 2],
        [3, 4],
      ],
    ],
  ] satisfies [Pair[], Pair[]][])('of %j leaves %j', (given, expected) => {
    expect(pairs(epochsWith(...given))).toEqual(expected)
  })

  it.each([
    [-1, 5],
    [2, -1],
    [Number.NaN, 0],
  ])('of epoch %d at %d is refused', (epoch, offset) => {
    const epochs = epochsWith([1, 5])
    expect(() => epochs.assign(epoch, offset)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
    expect(pairs(epochs)).toEqual([[1, 5]])
  })

  it('keeps epochs and offsets ascending whatever comes', () => {
    const assignments = fc.array(fc.tuple(fc.nat(6), fc.nat(20)), { maxLength: 12 })
    fc.assert(
      fc.property(assignments, (given) => {
        const entries = pairs(epochsWith(...given))
        for (let at = 1; at < entries.length; at += 1) {
          expect(entries[at][0]).toBeGreaterThan(entries[at - 1][0])
          expect(entries[at][1]).toBeGreaterThan(entries[at - 1][1])
        }
        const last = given.at(-1)
        if (last !== undefined) expect(entries.at(-1)?.[0]).toBe(last[0])
      }),
      { numRuns: 40 },
    )
  })
})

describe('epochForOffset', () => {
  it('names the epoch that wrote an offset', () => {
    const epochs = epochsWith(...kafkas)
    expect([5, 6, 7, 8, 10, 11, 99].map((offset) => epochs.epochForOffset(offset))).toEqual([
      undefined,
      2,
      2,
      3,
      3,
      4,
      4,
    ])
  })
})

describe('the file', () => {
  it('conformance 85: holds the entries at every moment, in Kafka’s text', () => {
    const directory = temporaryDirectory()
    const epochs = LeaderEpochs.open(directory)
    expect(fs.existsSync(path.join(directory, 'leader-epoch-checkpoint'))).toBe(false)
    for (const [leaderEpoch, startOffset] of kafkas) {
      epochs.assign(leaderEpoch, startOffset)
      expect(readLeaderEpochs(directory)).toEqual(epochs.entries)
    }
    const text = fs.readFileSync(path.join(directory, 'leader-epoch-checkpoint'), 'utf8')
    expect(text).toBe('0\n3\n2 6\n3 8\n4 11\n')
    expect(pairs(LeaderEpochs.open(directory))).toEqual(kafkas)
    epochs.truncateFromEnd(8)
    expect(readLeaderEpochs(directory)).toEqual(epochs.entries)
    epochs.clear()
    expect(readLeaderEpochs(directory)).toEqual([])
    expect(fs.readdirSync(directory)).toEqual(['leader-epoch-checkpoint'])
  })

  it('waits with an epoch until it has a record', () => {
    const directory = temporaryDirectory()
    const epochs = LeaderEpochs.open(directory)
    epochs.assign(2, 6)
    const onFile = () => readLeaderEpochs(directory).map((each) => each.leaderEpoch)
    expect(epochs.begin(4, 9)).toBe(true)
    expect([epochs.latest, epochs.isAhead, onFile()]).toEqual([4, true, [2]])
    expect(epochs.endOffsetFor(3, 9)).toEqual({ leaderEpoch: 2, endOffset: 9 })
    // Another tenure took its place, at the same offset.
    epochs.begin(5, 9)
    expect([epochs.isAhead, onFile()]).toEqual([true, [2]])
    expect(pairs(epochs)).toEqual([
      [2, 6],
      [5, 9],
    ])
    epochs.assign(5, 9)
    expect([epochs.isAhead, onFile()]).toEqual([false, [2, 5]])
  })

  it('is not touched for an epoch that ends without a record', () => {
    const directory = temporaryDirectory()
    const epochs = LeaderEpochs.open(directory)
    epochs.assign(2, 6)
    const file = path.join(directory, 'leader-epoch-checkpoint')
    fs.utimesSync(file, 1, 1)
    epochs.begin(4, 9)
    epochs.truncateFromEnd(9)
    epochs.begin(5, 9)
    expect(fs.statSync(file).mtimeMs).toBe(1_000)
    expect(pairs(epochs)).toEqual([
      [2, 6],
      [5, 9],
    ])
    epochs.truncateFromEnd(7)
    expect([pairs(epochs), epochs.isAhead]).toEqual([[[2, 6]], false])
    expect(fs.statSync(file).mtimeMs).toBe(1_000)
  })

  it('loses what a new epoch overrules, though that has no record', () => {
    const directory = temporaryDirectory()
    const epochs = LeaderEpochs.open(directory)
    for (const [leaderEpoch, startOffset] of kafkas) epochs.assign(leaderEpoch, startOffset)
    epochs.begin(5, 8)
    expect(readLeaderEpochs(directory)).toEqual(epochs.entries)
    expect(pairs(epochs)).toEqual([
      [2, 6],
      [5, 8],
    ])
  })

  it.each([
    ['another version', '1\n0\n'],
    ['fewer entries than stated', '0\n2\n1 5\n'],
    ['more entries than stated', '0\n1\n1 5\n2 6\n'],
    ['a line cut off', '0\n1\n1 5'],
    ['words', '0\n1\none five\n'],
    ['a third number', '0\n1\n1 5 6\n'],
    ['a negative number', '0\n1\n-1 5\n'],
    ['epochs that go back', '0\n2\n3 5\n2 6\n'],
    ['offsets that go back', '0\n2\n2 6\n3 5\n'],
  ])('with %s is refused by name', (_, text) => {
    const directory = temporaryDirectory()
    fs.writeFileSync(path.join(directory, 'leader-epoch-checkpoint'), text)
    expect(() => readLeaderEpochs(directory)).toThrow(
      expect.objectContaining({
        code: 'CORRUPT_FILE',
        message: expect.stringMatching(/leader-epoch-checkpoint line \d: /),
      }),
    )
  })

  it('that is empty holds nothing', () => {
    const directory = temporaryDirectory()
    fs.writeFileSync(path.join(directory, 'leader-epoch-checkpoint'), '')
    expect(readLeaderEpochs(directory)).toEqual([])
  })
})
