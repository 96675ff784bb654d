import { describe, expect, it } from 'vitest'
import { IndexFile } from '../../src/log/index-file.ts'
import { IndexPages, indexPageBytes } from '../../src/log/index-pages.ts'
import { OpenFiles } from '../../src/log/open-files.ts'
import { MemoryFileSystem } from '../support/memory-file-system.ts'

/** Counts the reads: what a lookup costs when its page isn't there. */
class CountingFileSystem extends MemoryFileSystem {
  reads = 0

  override read(...call: Parameters<MemoryFileSystem['read']>): number {
    this.reads += 1
    return super.read(...call)
  }
}

function write(fs: MemoryFileSystem, path: string, numbers: readonly number[]): void {
  const bytes = Buffer.alloc(4 * numbers.length)
  for (const [at, number] of numbers.entries()) bytes.writeInt32BE(number, 4 * at)
  const fd = fs.open(path, 'create')
  fs.write(fd, bytes, 0, bytes.length, 0)
  fs.close(fd)
}

const ascending = (count: number) => Array.from({ length: count }, (_, at) => at + 1)

describe('an index file', () => {
  it('reads each page once, and again when it was written', () => {
    const fs = new CountingFileSystem()
    const files = new OpenFiles(fs)
    write(fs, '/a', ascending(3_000))
    const file = new IndexFile(files, '/a', 8)
    expect(file.count).toBe(1_500)
    const before = fs.reads
    for (let at = 0; at < 1_500; at += 1) expect(file.int32At(at, 4)).toBe(2 * at + 2)
    // 512 entries a page, of which the last was read to see whether it ends in zeros.
    expect(fs.reads - before).toBe(2)
    write(fs, '/a', [7, 7])
    file.close()
    expect(file.count).toBe(1)
    expect(file.int32At(0, 0)).toBe(7)
    expect(file.int32At(1, 0)).toBe(-1)
  })

  it.each([0, 1, 2, 511, 512, 513, 1_400])('counts %i entries before the zeros', (entries) => {
    const fs = new MemoryFileSystem()
    write(fs, '/a', [...ascending(2 * entries), ...new Array<number>(2 * 2_000).fill(0)])
    // The first may be all zeros and yet an entry.
    expect(new IndexFile(new OpenFiles(fs), '/a', 8).count).toBe(Math.max(1, entries))
  })

  it('has no entries without a file, nor where it is cut', () => {
    const fs = new MemoryFileSystem()
    const files = new OpenFiles(fs)
    expect(new IndexFile(files, '/none', 12).count).toBe(0)
    expect(new IndexFile(files, '/none', 12).int32At(0, 0)).toBe(-1)
    write(fs, '/a', [0, 5, 9, 1])
    const file = new IndexFile(files, '/a', 12)
    expect([file.count, file.int64At(0), file.int32At(0, 8)]).toEqual([1, 5, 9])
    expect(file.int64At(1)).toBeNaN()
    write(fs, '/b', [0x7fff_ffff, 5, 9])
    expect(new IndexFile(files, '/b', 12).int64At(0)).toBeNaN()
  })
})

describe('the pages of a thread', () => {
  it('stay within their bytes, and go to whoever needs them', () => {
    const pages = new IndexPages(3 * indexPageBytes)
    const taken: string[] = []
    const owner = (name: string) => ({ forget: (number: number) => taken.push(`${name}${number}`) })
    const [a, b] = [owner('a'), owner('b')]
    for (let number = 0; number < 3; number += 1) pages.take(a, number)
    expect(taken).toEqual([])
    pages.take(b, 0)
    expect(taken).toEqual(['a0'])
    pages.take(b, 1)
    pages.take(b, 2)
    expect(taken).toEqual(['a0', 'a1', 'a2'])
    expect(pages.sizeBytes).toBe(3 * indexPageBytes)
  })

  it('a page in use stays while others are not', () => {
    const fs = new CountingFileSystem()
    const files = new OpenFiles(fs)
    expect(files.indexPages.sizeBytes).toBe(0)
    write(fs, '/a', ascending(1_024))
    const file = new IndexFile(files, '/a', 4)
    file.int32At(0, 0)
    expect(files.indexPages.sizeBytes).toBe(indexPageBytes)
    const other = { forget: () => {} }
    const pagesMax = 2_048
    for (let number = 1; number < pagesMax; number += 1) files.indexPages.take(other, number)
    files.indexPages.take(other, pagesMax)
    file.int32At(0, 0)
    const before = fs.reads
    for (let number = 0; number < 3 * pagesMax; number += 1) {
      files.indexPages.take(other, number)
      file.int32At(0, 0)
    }
    expect(fs.reads).toBe(before)
  })
})
