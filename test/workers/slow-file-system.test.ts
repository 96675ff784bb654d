import { describe, expect, it } from 'vitest'
import { realFileSystem } from '../../src/log/file-system.ts'
import { slowFileSystem } from '../../src/workers/slow-file-system.ts'

function slowed(delayMs: number, bytesPerSec: number) {
  const slept: number[] = []
  const time = { nowMs: 0 }
  const fs = slowFileSystem(
    {
      ...realFileSystem,
      write: (_fd, _source, _position, length) => length,
      writev: (_fd, views) => views.reduce((sum, view) => sum + view.length, 0),
      dataSync: () => undefined,
    },
    {
      delayMs: () => delayMs,
      bytesPerSec: () => bytesPerSec,
      nowMs: () => time.nowMs,
      sleep: (ms) => {
        slept.push(ms)
        time.nowMs += ms
      },
    },
  )
  return { fs, slept, time }
}

const kilobyte = new Uint8Array(1_000)

describe('a slow disk', () => {
  it('that is not slow now sleeps never', () => {
    const { fs, slept } = slowed(0, 0)
    expect(fs.write(1, kilobyte, 0, 1_000, 0)).toBe(1_000)
    fs.dataSync(1)
    expect(slept).toEqual([])
  })

  it('takes longer for each write and sync', () => {
    const { fs, slept } = slowed(5, 0)
    fs.write(1, kilobyte, 0, 1_000, 0)
    fs.writev(1, [kilobyte], 0)
    fs.dataSync(1)
    expect(slept).toEqual([5, 5, 5])
  })

  it('takes so many bytes a second over all, whatever the sizes', () => {
    const { fs, slept, time } = slowed(0, 10_000)
    fs.write(1, kilobyte, 0, 500, 0)
    fs.writev(1, [kilobyte, kilobyte], 0)
    expect(slept).toEqual([50, 200])
    // Time in which nothing was written isn't saved up.
    time.nowMs += 10_000
    fs.writev(1, [kilobyte], 0)
    expect(slept).toEqual([50, 200, 100])
  })
})
