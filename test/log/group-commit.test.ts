/** Flushing without making anybody else wait: who shares a sync, and what a failed one means. */
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import { SeededRandom } from '../../src/lab/statistics-random.ts'
import { Log } from '../../src/log/log.ts'
import { MemoryFileSystem } from '../support/memory-file-system.ts'

const codeOf = (code: string) => expect.objectContaining({ name: 'TidemarkError', code })
const turn = () => new Promise((resolve) => setImmediate(resolve))

function append(log: Log, ...values: readonly string[]): void {
  log.append(values.map((value) => ({ value })))
}

/** A disk whose syncs end when the test says so. */
class HeldDisk {
  readonly disk = new MemoryFileSystem()
  readonly clock = new ManualClock()
  /** Data files whose sync was begun, by turns with those let go. */
  readonly begun: string[] = []
  #held: { go: () => void; fail: (cause: Error) => void }[] = []
  #isHolding = false

  hold(): void {
    this.#isHolding = true
  }

  async open(config = {}): Promise<Log> {
    return Log.open('/log', config, {
      fs: this.disk,
      clock: this.clock,
      syncFile: (path, isDirectory) => this.#sync(path, isDirectory),
    })
  }

  /** Lets the syncs go that wait now. */
  async release(cause?: Error): Promise<void> {
    for (const { go, fail } of this.#held.splice(0)) {
      if (cause === undefined) go()
      else fail(cause)
    }
    for (let turns = 0; turns < 10; turns += 1) await turn()
  }

  async releaseAll(): Promise<void> {
    this.#isHolding = false
    await this.release()
  }

  async #sync(path: string, isDirectory: boolean): Promise<void> {
    if (path.endsWith('.log')) {
      this.begun.push(path)
      if (this.#isHolding) {
        await new Promise<void>((go, fail) => {
          this.#held.push({ go, fail })
        })
      }
    }
    if (isDirectory) return this.disk.syncDirectory(path)
    const fd = this.disk.open(path, 'read')
    this.disk.dataSync(fd)
    this.disk.close(fd)
  }
}

describe('a flush', () => {
  it('is shared by callers of the same turn; those that come later share the next', async () => {
    const disk = new HeldDisk()
    const log = await disk.open()
    disk.hold()
    const done: string[] = []
    const flush = (name: string) => log.flush().then(() => done.push(name))
    append(log, 'a')
    const first = flush('a')
    append(log, 'b')
    const second = flush('b')
    await turn()
    await turn()
    expect(disk.begun).toHaveLength(1)
    append(log, 'c')
    const third = [flush('c'), flush('also c')]
    await turn()
    expect(disk.begun).toHaveLength(1)
    await disk.release()
    expect(done).toEqual(['a', 'b'])
    expect(log.recoveryPoint).toBe(2)
    expect(disk.begun).toHaveLength(2)
    await disk.release()
    expect(done).toEqual(['a', 'b', 'c', 'also c'])
    expect(log.recoveryPoint).toBe(3)
    await Promise.all([first, second, ...third])
    await log.flush()
    expect(disk.begun).toHaveLength(2)
  })

  it('lets appends, rolls and reads go on meanwhile, and claims none of them', async () => {
    const disk = new HeldDisk()
    const log = await disk.open({ 'segment.bytes': 16_384 })
    append(log, 'a')
    disk.hold()
    const flushed = log.flush()
    await turn()
    for (let at = 0; at < 12; at += 1) append(log, 'x'.repeat(4_000))
    expect(log.segmentCount).toBeGreaterThan(2)
    expect([...log.records()]).toHaveLength(13)
    await disk.releaseAll()
    await flushed
    expect(log.recoveryPoint).toBe(1)
    await log.flush()
    expect(log.recoveryPoint).toBe(13)
    disk.disk.crash(new SeededRandom(1), 'none')
    expect([...(await disk.open()).records()]).toHaveLength(13)
  })

  it('covers what is there after a truncation under way', async () => {
    const disk = new HeldDisk()
    const log = await disk.open()
    append(log, 'a')
    append(log, 'b')
    disk.hold()
    const flushed = log.flush()
    await turn()
    log.truncateTo(1)
    append(log, 'new')
    await disk.releaseAll()
    await flushed
    expect(log.recoveryPoint).toBe(2)
    disk.disk.crash(new SeededRandom(1), 'none')
    const again = await disk.open()
    expect([...again.records()].map(({ value }) => `${Buffer.from(value!)}`)).toEqual(['a', 'new'])
  })

  it('that fails ends the writing life for all who wait, and is not tried again', async () => {
    const disk = new HeldDisk()
    const log = await disk.open()
    append(log, 'a')
    disk.hold()
    const first = log.flush()
    await turn()
    append(log, 'b')
    const second = log.flush()
    const outcomes = Promise.allSettled([first, second])
    await disk.release(Object.assign(new Error('EIO: injected'), { code: 'EIO' }))
    const failed = { status: 'rejected', reason: codeOf('KAFKA_STORAGE_ERROR') }
    expect(await outcomes).toEqual([failed, failed])
    expect(disk.begun).toHaveLength(1)
    expect(() => append(log, 'c')).toThrow(codeOf('KAFKA_STORAGE_ERROR'))
    await expect(log.flush()).rejects.toEqual(codeOf('KAFKA_STORAGE_ERROR'))
    expect([...log.records()]).toHaveLength(2)
    await log.close()
  })

  it('under way is waited for by close', async () => {
    const disk = new HeldDisk()
    const log = await disk.open()
    append(log, 'a')
    disk.hold()
    const flushed = log.flush()
    await turn()
    const closed = log.close()
    let isClosed = false
    void closed.then(() => {
      isClosed = true
    })
    await turn()
    expect(isClosed).toBe(false)
    await expect(disk.open()).rejects.toEqual(codeOf('DIRECTORY_IN_USE'))
    await disk.releaseAll()
    await flushed
    await closed
    const again = await disk.open()
    expect(again.describe()).toMatchObject({ logEndOffset: 1, recoveryPoint: 1 })
  })

  it('writes the recovery point down once a minute', async () => {
    const disk = new HeldDisk()
    const log = await disk.open()
    const stated = () =>
      Buffer.from(disk.disk.readFile('/log/standalone-checkpoint') ?? []).toString()
    append(log, 'a')
    await log.flush()
    expect(stated()).not.toContain('recovery-point 1')
    disk.clock.advance(60_000)
    await log.flush()
    expect(stated()).toContain('recovery-point 1')
  })
})
