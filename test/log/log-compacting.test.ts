/** An embedded log that keeps the latest record of each key. */
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import { Log } from '../../src/log/log.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const codeOf = (code: string) => expect.objectContaining({ name: 'TidemarkError', code })
const config = {
  'cleanup.policy': 'compact',
  'segment.bytes': 16_384,
  'min.cleanable.dirty.ratio': 0,
} as const

function append(log: Log, key: string, value: string | null): void {
  log.append([{ key, value }])
}

/** The latest value of each key, and how many records there are. */
function contents(log: Log): { latest: Map<string, string>; count: number } {
  const latest = new Map<string, string>()
  let count = 0
  for (const { key, value } of log.records()) {
    count += 1
    if (value === null) latest.delete(`${Buffer.from(key!)}`)
    else latest.set(`${Buffer.from(key!)}`, `${Buffer.from(value)}`.trim())
  }
  return { latest, count }
}

async function filled(directory: string): Promise<Log> {
  const log = await Log.open(directory, config, { clock: new ManualClock() })
  for (let at = 0; at < 100; at += 1) append(log, `k${at % 7}`, `${at}`.padEnd(700))
  return log
}

describe('compaction of a log alone', () => {
  it('drops what is out of date, while others append and follow, and survives', async () => {
    const directory = temporaryDirectory()
    const log = await filled(directory)
    const before = contents(log)
    let progress = 0
    const summary = await log.compact({
      onProgress: ({ doneBytes, totalBytes }) => {
        expect(totalBytes).toBeGreaterThan(0)
        progress = doneBytes
        append(log, 'meanwhile', 'yes')
      },
    })
    expect(progress).toBeGreaterThan(0)
    expect(summary.segments).toBeGreaterThan(0)
    expect(summary.recordsKept).toBeLessThan(summary.recordsRead)
    const after = contents(log)
    expect(after.latest).toEqual(new Map([...before.latest, ['meanwhile', 'yes']]))
    expect(after.count).toBeLessThan(before.count)
    expect(log.logStartOffset).toBe(0)
    await log.close()
    const again = await Log.open(directory, config, { clock: new ManualClock() })
    expect(contents(again)).toEqual(after)
    expect((await again.compact()).segments).toBe(0)
  })

  it('gives up by the signal, and leaves the log as it was', async () => {
    const log = await filled(temporaryDirectory())
    const before = contents(log)
    const reason = new Error('enough')
    const giveUp = new AbortController()
    const compacting = log.compact({
      signal: giveUp.signal,
      onProgress: () => giveUp.abort(reason),
    })
    await expect(compacting).rejects.toBe(reason)
    expect(contents(log)).toEqual(before)
    expect((await log.compact()).segments).toBeGreaterThan(0)
  })

  it('is refused for another policy, without a key, and on a closed log', async () => {
    const plain = await Log.open(temporaryDirectory())
    await expect(plain.compact()).rejects.toEqual(codeOf('INVALID_CONFIG'))
    const log = await filled(temporaryDirectory())
    const end = log.logEndOffset
    expect(() => log.append([{ key: 'k', value: 'v' }, { value: 'no key' }])).toThrow(
      codeOf('INVALID_RECORD'),
    )
    expect(log.logEndOffset).toBe(end)
    const compacting = log.compact({ onProgress: () => void log.close() })
    await expect(compacting).rejects.toEqual(codeOf('BROKER_CLOSED'))
    await expect(log.compact()).rejects.toEqual(codeOf('BROKER_CLOSED'))
  })
})
