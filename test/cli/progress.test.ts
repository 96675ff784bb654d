import { Writable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createProgress } from '../../src/cli/progress.ts'
import { ManualClock } from '../../src/clock.ts'

class Recording extends Writable {
  text = ''
  readonly isTTY: boolean
  readonly columns = 100

  constructor(isTTY: boolean) {
    super()
    this.isTTY = isTTY
  }

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.text += chunk.toString()
    done()
  }

  cursorTo(): void {}
  clearLine(): void {}
  moveCursor(): void {}
}

describe('progress where nobody watches', () => {
  it('is one line a phase and a note, with the time', () => {
    const clock = new ManualClock()
    const stream = new Recording(false)
    const progress = createProgress({ stream, clock })
    progress.phase('warm-up', 3000)
    progress.status('85 MB/s')
    clock.advance(3200)
    progress.phase('catching up', null)
    progress.note('follower 3 resumed, 425 MB behind')
    progress.stop()
    expect(stream.text.split('\n')).toEqual([
      '   0.0 s  warm-up (3 s)',
      '   3.2 s  catching up',
      '   3.2 s  follower 3 resumed, 425 MB behind',
      '',
    ])
  })
})

describe('progress on a terminal', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('draws a bar, the status and the notes, and leaves no timer behind', () => {
    const clock = new ManualClock()
    const stream = new Recording(true)
    const progress = createProgress({ stream, clock })
    progress.phase('warm-up', 1000)
    clock.advance(500)
    vi.advanceTimersByTime(200)
    progress.status('85 MB/s')
    progress.note('seed 42')
    progress.phase('catching up', null)
    progress.stop()
    progress.stop()
    expect(stream.text).toContain('warm-up')
    expect(stream.text).toContain('85 MB/s')
    expect(stream.text).toContain('  seed 42\n')
    expect(stream.text).toContain('catching up')
    expect(vi.getTimerCount()).toBe(0)
  })
})
