/** The index of aborted transactions, and snapshots of producers, against their log. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { lastOffsetDeltaAt, stampBatch } from '../../src/log/batch-header.ts'
import type { BatchMemory } from '../../src/log/batch-memory.ts'
import {
  encodeProducerSnapshot,
  type ProducerSnapshotEntry,
} from '../../src/log/producers/producer-snapshot.ts'
import { verifyDirectories } from '../../src/log-tools/verify-directories.ts'
import { encodeBatch, textRecords } from '../support/batch-builder.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const first = '00000000000000000000'
let directory: string

function data(producerId: number): BatchMemory {
  const options = { compression: 'none', transactional: true, producerEpoch: 0 } as const
  return encodeBatch(textRecords(2, 'x'), { ...options, producerId, baseSequence: 0 })
}

/** `type` 0: abort, 1: commit. */
function marker(producerId: number, type: number): BatchMemory {
  const record = { key: Buffer.of(0, 0, 0, type), value: Buffer.alloc(6), timestampMs: 1_000 }
  const options = { compression: 'none', transactional: true, control: true } as const
  return encodeBatch([record], { ...options, producerId, producerEpoch: 0 })
}

function writeIndex(...entries: readonly (readonly [number, number, number, number, number])[]) {
  const bytes = Buffer.alloc(34 * entries.length)
  for (const [index, [version, ...numbers]] of entries.entries()) {
    bytes.writeInt16BE(version, 34 * index)
    for (const [place, number] of numbers.entries()) {
      bytes.writeBigInt64BE(BigInt(number), 34 * index + 2 + 8 * place)
    }
  }
  writeFileSync(path.join(directory, `${first}.txnindex`), bytes)
}

function faults(): string[] {
  return verifyDirectories([directory]).faults.map(({ check, offset, position, expected }) => {
    return `${check} @${offset}/${position}: expected ${expected}`
  })
}

/** Producer 7 at 0-1, 8 at 2-3, 7 aborts at 4, 8 commits at 5. */
beforeEach(() => {
  directory = temporaryDirectory()
  let offset = 0
  const batches = [data(7), data(8), marker(7, 0), marker(8, 1)].map((memory) => {
    stampBatch(memory, 0, offset, -1)
    offset += lastOffsetDeltaAt(memory, 0) + 1
    return memory.bytes
  })
  writeFileSync(path.join(directory, `${first}.log`), Buffer.concat(batches))
})

describe('an index of aborted transactions', () => {
  it('names producer, first offset and marker of each', () => {
    writeIndex([0, 7, 0, 4, 2])
    expect(faults()).toEqual([])
  })

  it.each([
    [[1, 7, 0, 4, 2], 'version 0'],
    [[0, 8, 0, 4, 2], 'producer 7, as in the marker'],
    [[0, 7, 1, 4, 2], 'offset 0, where the transaction begins'],
    [[0, 7, 0, 4, 6], 'a last stable offset up to 5'],
  ] as const)('is wrong as %j', (entry, expected) => {
    writeIndex([...entry])
    expect(faults()).toEqual([`transaction-index @${entry[3]}/0: expected ${expected}`])
  })
})

describe('an aborted transaction', () => {
  it('has its entry', () => {
    const expected = 'an entry of producer 7, offsets 0 to 4'
    expect(faults()).toEqual([`transaction-index @4/null: expected ${expected}`])
    writeIndex([0, 8, 2, 5, 2])
    expect(faults()).toEqual([
      'transaction-index @5/0: expected the offset of an abort marker',
      `transaction-index @4/null: expected ${expected}`,
    ])
  })
})

describe('a snapshot of producers', () => {
  const seven = {
    producerId: 7,
    producerEpoch: 0,
    lastSequence: 1,
    lastOffset: 1,
    offsetDelta: 1,
    timestampMs: 1_000,
    coordinatorEpoch: 0,
    currentTransactionFirstOffset: -1,
  }
  const eight = { ...seven, producerId: 8, lastOffset: 3 }

  beforeEach(() => writeIndex([0, 7, 0, 4, 2]))

  function writeSnapshot(offset: number, entries: readonly ProducerSnapshotEntry[]): string {
    const file = path.join(directory, `${String(offset).padStart(20, '0')}.snapshot`)
    writeFileSync(file, encodeProducerSnapshot(entries))
    return file
  }

  it('lies within the log, and speaks of what lies before it', () => {
    writeSnapshot(6, [seven, eight])
    expect(faults()).toEqual([])
    writeSnapshot(3, [{ ...seven, lastOffset: 3 }])
    expect(faults()).toEqual([
      "producer-snapshot @3/null: expected producers' last offsets below 3",
    ])
  })

  it('does not go beyond the log, and is of a version that is known', () => {
    const file = writeSnapshot(7, [seven])
    expect(faults()).toEqual([expect.stringContaining('a snapshot at an offset up to 6')])
    writeFileSync(file, Buffer.from(encodeProducerSnapshot([seven])).fill(2, 1, 2))
    expect(faults()).toHaveLength(2)
  })

  it('says what the batches below it say, but for producers that may have expired', () => {
    writeSnapshot(6, [seven])
    expect(faults()).toEqual([])
    const open = { coordinatorEpoch: -1, currentTransactionFirstOffset: 0 }
    writeSnapshot(4, [{ ...seven, ...open }])
    // The transaction of 8 is open there.
    expect(faults()).toEqual([expect.stringMatching(/snapshot @4.*producer 8.*transaction from 2/)])
    writeSnapshot(4, [])
    expect(faults()).toHaveLength(2)
    writeSnapshot(4, [
      { ...seven, ...open },
      { ...eight, ...open, currentTransactionFirstOffset: 2 },
    ])
    expect(faults()).toEqual([])
  })

  it.each([
    [{ lastSequence: 2 }, 'last sequence 1'],
    [{ producerEpoch: 1 }, 'epoch 0'],
    [{ lastOffset: 0 }, 'at offset 1'],
    [{ offsetDelta: 0 }, 'delta 1'],
    [{ timestampMs: 999 }, 'time 1000'],
    [{ coordinatorEpoch: 4 }, 'coordinator epoch 0'],
    [{ currentTransactionFirstOffset: 1 }, 'transaction from -1'],
    [{ producerId: 5 }, 'no producer 5'],
  ])('with %j is not what the batches tell', (change, expected) => {
    writeSnapshot(6, [{ ...seven, ...change }, eight])
    expect(faults()).toEqual([expect.stringContaining(expected)])
  })
})
