import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { type FileSystem, realFileSystem } from '../../src/log/file-system.ts'
import { OpenFile, OpenFiles } from '../../src/log/open-files.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

function emptyFiles(count: number): OpenFile[] {
  const directory = temporaryDirectory()
  return Array.from({ length: count }, (_, at) => {
    const file = path.join(directory, String(at))
    fs.writeFileSync(file, '')
    return new OpenFile(file, 'read')
  })
}

function openOnes(files: readonly OpenFile[]): number[] {
  return files.flatMap(({ fd }, at) => (fd >= 0 ? [at] : []))
}

describe('OpenFiles', () => {
  it('keeps the most recently used ones open, up to the budget', () => {
    const files = emptyFiles(4)
    const open = new OpenFiles(realFileSystem, 2)
    for (const at of [0, 1, 0, 2]) open.descriptor(files[at])
    expect(openOnes(files)).toEqual([0, 2])
    open.descriptor(files[3])
    expect(openOnes(files)).toEqual([2, 3])
    open.close(files[2])
    open.close(files[2])
    expect([open.openCount, ...openOnes(files)]).toEqual([1, 3])
    open.closeAll()
    expect([open.openCount, ...openOnes(files)]).toEqual([0])
  })

  it('closes who was not used since it was last passed over, be it newer', () => {
    const files = emptyFiles(5)
    const open = new OpenFiles(realFileSystem, 3)
    for (const at of [0, 1, 2, 0, 3]) open.descriptor(files[at])
    expect(openOnes(files)).toEqual([0, 2, 3])
    // File 0 was passed over once, and must be used again to be passed over again.
    for (const at of [2, 3, 4]) open.descriptor(files[at])
    expect(openOnes(files)).toEqual([2, 3, 4])
    open.closeAll()
  })

  it('gives the same descriptor for as long as it stays open', () => {
    const files = emptyFiles(2)
    const open = new OpenFiles(realFileSystem, 2)
    const fd = open.descriptor(files[0])
    open.descriptor(files[1])
    expect(open.descriptor(files[0])).toBe(fd)
    open.closeAll()
  })

  it('lives with fewer descriptors than the budget when the system has no more', () => {
    const files = emptyFiles(6)
    let opened = 0
    const limited: FileSystem = {
      ...realFileSystem,
      open(file, mode) {
        if (opened === 4) throw Object.assign(new Error('too many'), { code: 'EMFILE' })
        opened += 1
        return realFileSystem.open(file, mode)
      },
      close(fd) {
        opened -= 1
        realFileSystem.close(fd)
      },
    }
    const open = new OpenFiles(limited, 100)
    for (const file of files) expect(open.descriptor(file)).toBeGreaterThan(0)
    expect(openOnes(files)).toContain(5)
    expect(opened).toBe(open.openCount)
    open.closeAll()
    expect(opened).toBe(0)
  })

  it('passes on that a file isn’t there, and counts nothing', () => {
    const open = new OpenFiles()
    const file = new OpenFile(path.join(temporaryDirectory(), 'none'), 'read')
    expect(() => open.descriptor(file)).toThrow(expect.objectContaining({ code: 'ENOENT' }))
    expect(open.openCount).toBe(0)
  })
})
