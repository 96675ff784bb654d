import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import type { TidemarkError } from '../../src/errors.ts'
import type { PartitionIndex } from '../../src/ids.ts'
import { Cleaner } from '../../src/log/compaction/cleaner.ts'
import type { CleanerJob } from '../../src/log/compaction/cleaner-job.ts'
import type { PartitionLog } from '../../src/log/partition-log.ts'
import type { CleaningOutcome } from '../../src/workers/cleaning-task.ts'
import { LogCleaning } from '../../src/workers/log-cleaning.ts'
import type { PartitionStore } from '../../src/workers/partition-store.ts'
import { contents, newDisk, openKeyed, put, roll } from '../log/compaction/keyed-log.ts'

const config = { 'log.cleaner.backoff.ms': 100, 'log.cleaner.dedupe.buffer.size': 100_000 }

/** Logs with so many rounds of the same two keys, and a port whose work the test does. */
function setup(...rounds: readonly number[]) {
  const disks = rounds.map(() => newDisk())
  const logs = rounds.map((count, at) => {
    const log = openKeyed(disks[at]!)
    for (let round = 0; round < count; round += 1) put(log, [`a=${round}`, `b=${round}`])
    roll(log)
    return log
  })
  const failures: TidemarkError[] = []
  const stored = (log: PartitionLog, partition: number) => ({ topic: 't', partition, log })
  const store = {
    has: (index: PartitionIndex) => logs[index] !== undefined,
    log: (index: PartitionIndex) => logs[index]!,
    stored: (index: PartitionIndex) => stored(logs[index]!, index),
    highWatermark: (index: PartitionIndex) => logs[index]!.logEndOffset,
    noteFailure: (_: PartitionIndex, error: TidemarkError) => failures.push(error),
    all: () => logs.map((log, index) => [index, stored(log, index)]),
  } as unknown as PartitionStore
  const jobs: CleanerJob[] = []
  const outcomes: CleaningOutcome[] = []
  const port = { begin: (job: CleanerJob) => jobs.push(job), take: () => outcomes.shift() }
  const cleaning = new LogCleaning({ store, cleaningPort: port, clock: new ManualClock(), config })
  const work = (at: number) => {
    const cleaner = new Cleaner(disks[at]!, jobs.at(-1)!)
    while (cleaner.step() > 0);
    outcomes.push({ result: cleaner.result })
  }
  return { logs, failures, jobs, outcomes, cleaning, work }
}

describe('a broker that compacts', () => {
  it('takes one log at a time, and the next at once', () => {
    const { logs, jobs, cleaning, work } = setup(40, 30)
    cleaning.step(0)
    cleaning.step(50)
    expect(jobs).toHaveLength(1)
    expect(cleaning.dueAtMs).toBe(Number.POSITIVE_INFINITY)
    const before = contents(logs[0]!).length
    work(0)
    cleaning.step(60)
    expect(contents(logs[0]!).length).toBeLessThan(before / 2)
    expect(jobs).toHaveLength(2)
    work(1)
    cleaning.step(70)
    expect(jobs).toHaveLength(2)
    expect(cleaning.dueAtMs).toBe(170)
    const offsets = cleaning.takeCleanedOffsets()!
    expect(offsets.map(({ offset }) => offset)).toEqual(
      logs.map(({ compaction }) => compaction.cleanedOffset),
    )
    expect(cleaning.takeCleanedOffsets()).toBeUndefined()
  })

  it('leaves a log alone whose data is at fault, says so, and goes on with others', () => {
    const { logs, failures, jobs, outcomes, cleaning } = setup(40, 30)
    cleaning.step(0)
    outcomes.push({ failure: { code: 'CORRUPT_MESSAGE', message: 'at 17: crc' } })
    cleaning.step(10)
    expect(failures.map(({ code }) => code)).toEqual(['CORRUPT_MESSAGE'])
    expect(logs[0]!.compaction.uncleanable?.message).toContain('at 17: crc')
    expect(logs[0]!.failure).toBeUndefined()
    cleaning.step(100)
    cleaning.step(200)
    expect(jobs).toHaveLength(2)
  })

  it.each([
    ['ENOENT', []],
    ['ENOSPC', []],
    ['EIO', ['KAFKA_STORAGE_ERROR']],
  ])('tries again later after %s', (code, told) => {
    const { failures, jobs, outcomes, cleaning } = setup(40)
    cleaning.step(0)
    outcomes.push({ failure: { code, message: code } })
    cleaning.step(10)
    expect(failures.map((error) => error.code)).toEqual(told)
    expect(jobs).toHaveLength(1)
    cleaning.step(99)
    expect(jobs).toHaveLength(1)
    cleaning.step(100)
    expect(jobs).toHaveLength(2)
  })
})
