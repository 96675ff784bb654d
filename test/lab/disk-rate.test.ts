import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import { isTidemarkError } from '../../src/errors.ts'
import { type DiskRateOptions, fileSystemType, measureDiskRate } from '../../src/lab/disk-rate.ts'
import { type FileSystem, realFileSystem } from '../../src/log/file-system.ts'

const MiB = 1024 * 1024
let directory = ''

beforeAll(() => {
  // Beside the sources: the system's temporary directory may lie in memory.
  directory = fs.mkdtempSync(path.join(import.meta.dirname, 'disk-rate-'))
})

afterAll(() => {
  fs.rmSync(directory, { recursive: true })
})

/** A disk whose every sync takes as long as `msPerMiB` says for the bytes written before it. */
class PacedDisk {
  readonly clock = new ManualClock()
  readonly fileSystem: FileSystem
  written = 0
  syncs = 0
  /** Bytes of one write that are taken; the rest is left to the next. */
  writeBytesMax = Number.POSITIVE_INFINITY
  error: Error | undefined = undefined
  #unsynced = 0

  constructor(msPerMiB: (sync: number) => number) {
    this.fileSystem = {
      ...realFileSystem,
      open: () => 7,
      close: () => {},
      remove: () => {},
      write: (_fd, _source, _position, length, filePosition) => {
        if (this.error !== undefined) throw this.error
        expect(filePosition).toBe(this.written)
        const bytes = Math.min(length, this.writeBytesMax)
        this.written += bytes
        this.#unsynced += bytes
        return bytes
      },
      dataSync: () => {
        this.clock.advance((this.#unsynced / MiB) * msPerMiB(this.syncs++))
        this.#unsynced = 0
      },
    }
  }

  measure(options: DiskRateOptions = {}) {
    return measureDiskRate(directory, {
      clock: this.clock,
      fileSystem: this.fileSystem,
      ...options,
    })
  }
}

describe('on a disk', () => {
  test('ends when the rate is steady, though not before half of the budget is over', () => {
    const disk = new PacedDisk(() => 2)
    const rate = disk.measure()
    expect(rate).toMatchObject({ steady: true, bytesWritten: 16 * 32 * MiB, elapsedMs: 1024 })
    expect(rate.bytesPerSec).toBeCloseTo(500 * MiB, 3)
    expect(disk.written).toBe(rate.bytesWritten)
  })

  test('a burst at the beginning does not count', () => {
    const disk = new PacedDisk((sync) => (sync < 20 ? 0.8 : 4))
    const rate = disk.measure()
    expect(rate.steady).toBe(true)
    expect(rate.bytesPerSec).toBeCloseTo(250 * MiB, 3)
  })

  test('the figure is bytes over time, not a mean of rates', () => {
    const disk = new PacedDisk((sync) => (sync % 2 === 0 ? 1 : 7))
    const rate = disk.measure({ budgetMs: 4000 })
    expect(Math.abs(rate.bytesPerSec! / (250 * MiB) - 1)).toBeLessThan(0.15)
  })

  test('a rate that never settles ends with the budget, and says so', () => {
    const disk = new PacedDisk((sync) => 1 + sync ** 2 / 10)
    const rate = disk.measure({ budgetMs: 1000 })
    expect(rate.steady).toBe(false)
    expect(rate.elapsedMs).toBeGreaterThanOrEqual(1000)
    expect(rate.elapsedMs).toBeLessThan(1500)
  })

  test('never more bytes than allowed, one stretch at least', () => {
    const disk = new PacedDisk(() => 2)
    expect(disk.measure({ bytesMax: 40 * MiB + 5 }).bytesWritten).toBe(40 * MiB)
    expect(new PacedDisk(() => 2).measure({ bytesMax: 1 }).bytesWritten).toBe(MiB)
  })

  test('a write that takes only a part goes on behind it', () => {
    const disk = new PacedDisk(() => 2)
    disk.writeBytesMax = 700_000
    expect(disk.measure({ bytesMax: 64 * MiB }).bytesWritten).toBe(64 * MiB)
    expect(disk.written).toBe(64 * MiB)
  })

  test('a full disk is an error that names the directory', () => {
    const disk = new PacedDisk(() => 2)
    disk.error = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
    let caught: unknown
    try {
      disk.measure()
    } catch (error) {
      caught = error
    }
    expect(isTidemarkError(caught, 'KAFKA_STORAGE_ERROR')).toBe(true)
    expect((caught as Error).message).toContain(directory)
    expect((caught as Error).message).toContain('ENOSPC')
  })

  test('the real one below this directory: some rate, a name, nothing left', () => {
    const rate = measureDiskRate(directory, { bytesMax: 8 * MiB, budgetMs: 500 })
    expect(rate.fileSystem).toBe(fileSystemType(directory))
    expect(rate.fileSystem).toMatch(/^[a-z0-9]+$/)
    if (rate.bytesPerSec !== null) {
      expect(rate.bytesPerSec).toBeGreaterThan(1e6)
      expect(rate.bytesWritten).toBe(8 * MiB)
    }
    expect(fs.readdirSync(directory)).toEqual([])
  })
})

test('in memory there is no limit to find', (context) => {
  if (!fs.existsSync('/dev/shm') || fileSystemType('/dev/shm') !== 'tmpfs') context.skip()
  expect(measureDiskRate('/dev/shm')).toEqual({
    bytesPerSec: null,
    fileSystem: 'tmpfs',
    bytesWritten: 0,
    elapsedMs: 0,
    steady: true,
  })
})

test('no such directory', () => {
  const absent = path.join(os.tmpdir(), 'tidemark-absent')
  expect(() => measureDiskRate(absent)).toThrow(`${absent}: there is no such directory`)
})
