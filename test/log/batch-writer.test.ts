import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SeededRandom } from '../../src/lab/statistics-random.ts'
import { limits } from '../../src/limits.ts'
import { batchField, batchLengthPrefixBytes } from '../../src/log/batch-layout.ts'
import { type BatchRun, batchMemory } from '../../src/log/batch-memory.ts'
import { writeBatches } from '../../src/log/batch-writer.ts'
import { writevViewsMax } from '../../src/log/file-system.ts'
import { FaultyFileSystem } from '../support/faulty-file-system.ts'
import { MemoryFileSystem } from '../support/memory-file-system.ts'

const path = '/data'

/** Notes how large each call was. */
class WatchedFileSystem extends FaultyFileSystem {
  readonly callBytes: number[] = []
  viewsMost = 0

  override write(
    fd: number,
    source: Uint8Array,
    sourcePosition: number,
    length: number,
    filePosition: number,
  ): number {
    this.callBytes.push(length)
    return super.write(fd, source, sourcePosition, length, filePosition)
  }

  override writev(fd: number, views: readonly Uint8Array[], filePosition: number): number {
    this.viewsMost = Math.max(this.viewsMost, views.length)
    return super.writev(fd, views, filePosition)
  }
}

/** Batches as far as the writer looks at them: a length, and bytes that tell them apart. */
function makeRun(sizes: readonly number[], gapBytes: readonly number[]): BatchRun {
  const total = sizes.reduce((sum, size, at) => sum + size + gapBytes[at % gapBytes.length], 0)
  const memory = batchMemory(new ArrayBuffer(total))
  const positions = new Int32Array(sizes.length)
  let position = 0
  for (const [at, size] of sizes.entries()) {
    positions[at] = position
    memory.bytes.fill(at + 1, position, position + size)
    memory.view.setInt32(position + batchField.length, size - batchLengthPrefixBytes)
    position += size + gapBytes[at % gapBytes.length]
  }
  return { memory, positions, count: sizes.length }
}

function expected({ memory, positions }: BatchRun, sizes: readonly number[]): Buffer {
  return Buffer.concat(
    sizes.map((size, at) => memory.bytes.subarray(positions[at], positions[at] + size)),
  )
}

function written(run: BatchRun, shortWriteOneOf = 0): WatchedFileSystem {
  const fs = new WatchedFileSystem(new MemoryFileSystem(), new SeededRandom(7))
  fs.shortWriteOneOf = shortWriteOneOf
  writeBatches(fs, fs.open(path, 'create'), run, 0, run.count, 0)
  return fs
}

describe('writeBatches', () => {
  it('writes the same bytes in bounded calls, however batches lie and whatever is short', () => {
    const size = fc.oneof(
      fc.integer({ min: 61, max: 5_000 }),
      fc.integer({ min: 100_000, max: limits.writeBytesMax + 70_000 }),
    )
    const gaps = fc.array(fc.constantFrom(0, 0, 64), { minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(
        fc.array(size, { minLength: 1, maxLength: 12 }),
        gaps,
        fc.constantFrom(0, 3),
        (sizes, gapBytes, shortWriteOneOf) => {
          const run = makeRun(sizes, gapBytes)
          const fs = written(run, shortWriteOneOf)
          expect(Buffer.compare(fs.readFile(path)!, expected(run, sizes))).toBe(0)
          expect(Math.max(...fs.callBytes)).toBeLessThanOrEqual(limits.writeBytesMax)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('needs no more calls than the bound asks for', () => {
    const sizes = Array.from({ length: 256 }, () => 16 * 1024)
    expect(written(makeRun(sizes, [64])).callBytes).toEqual([1, 1, 1, 1].map(() => 1024 * 1024))
    expect(written(makeRun(sizes.slice(0, 63), [0])).callBytes).toEqual([63 * 16 * 1024])
  })

  it('gives the system no more pieces than it takes', () => {
    const sizes = Array.from({ length: 2_500 }, () => 100)
    const run = makeRun(sizes, [64])
    const fs = written(run)
    expect(fs.viewsMost).toBe(writevViewsMax)
    expect(fs.callBytes).toHaveLength(3)
    expect(Buffer.compare(fs.readFile(path)!, expected(run, sizes))).toBe(0)
  })
})
