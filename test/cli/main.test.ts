import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import type { CatchUpResult, ThroughputResult } from '../../src/lab/result.ts'
import { repository } from '../support/source-files.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { type Ended, leftovers, smallStudy, start, tidemark } from './tidemark-process.ts'

const kafkaSegment = path.join(
  repository,
  'test/fixtures/kafka-4.4/codec-none-0/00000000000000000000.log',
)

/** Each is a process or two, and the machine may be busy with others. */
vi.setConfig({ testTimeout: 90_000 })

/** One line of the product's, whatever progress was shown before it. */
function errorLines({ stderr }: Ended): string[] {
  return stderr.split('\n').filter((line) => line.startsWith('tidemark: '))
}

/** Standard output is one JSON document, and the run kept its promises. */
function expectConverged(ended: Ended): CatchUpResult {
  expect(ended).toMatchObject({ code: 0 })
  const result = JSON.parse(ended.stdout) as CatchUpResult
  expect(result).toMatchObject({ outcome: 'converged', interrupted: false })
  const { acknowledged, verified } = result.records
  expect(acknowledged).toBeGreaterThan(0)
  expect(verified).toBe(acknowledged)
  expect(result.records).toMatchObject({ lost: 0, duplicated: 0 })
  expect(result.invariants.violations).toBe(0)
  expect(result.invariants.checked).toBeGreaterThan(0)
  expect(result.highWatermark.wentBack).toBe(0)
  return result
}

describe('tidemark catch-up --json', () => {
  it.each([
    ['a frozen follower', ['--fault', 'pause']],
    ['a killed follower', ['--fault', 'kill']],
    ['a follower that lost its disk', ['--fault', 'wipe']],
    ['a follower cut off from its leader', ['--fault', 'isolate', '--isolate-from', 'leader']],
    ['a throttled follower', ['--fault', 'throttle', '--throttle', '50KB/s']],
    ['spread leaders', ['--leaders', 'spread']],
    ['records of a Kafka segment', ['--input', kafkaSegment]],
  ])('%s', async (_, args) => {
    const home = temporaryDirectory()
    const ended = await tidemark([...smallStudy, '--json', '--no-report', ...args], home)
    const result = expectConverged(ended)
    if (!args.includes('throttle')) {
      const { min, max } = result.evictedAfterMs!
      expect(min).toBeGreaterThan(0.75 * 300)
      // A busy machine's slack on top of 1.5 times the limit.
      expect(max).toBeLessThan(1.5 * 300 + 500)
    }
    expect(result.backlogRecords).toBeGreaterThan(0)
    expect(fs.readdirSync(home)).toEqual([])
  })

  it('a controller that dies: nobody leaves, nothing waits for its successor', async () => {
    const args = ['--fault', 'controller', '--json', '--no-report']
    const ended = await tidemark([...smallStudy, ...args], temporaryDirectory())
    const result = expectConverged(ended)
    expect(result.evictedAfterMs).toBeNull()
    expect(result.failover).toBeNull()
    const steps = result.timeline.filter(({ actor }) => actor !== 'leader').map(({ step }) => step)
    const killed = steps.indexOf('controller killed without warning')
    const started = steps.indexOf('started', killed)
    expect(killed).toBeGreaterThanOrEqual(0)
    expect(started).toBeGreaterThan(killed)
    expect(steps.indexOf('redundancy restored')).toBeGreaterThan(started)
  })

  it('a leader that dies: others lead, and producers go on by themselves', async () => {
    const args = ['--fault', 'kill', '--follower', 'leader', '--session-timeout', '300ms']
    const study = [...smallStudy, '--json', '--no-report', ...args, '--outage', '1500ms']
    const result = expectConverged(await tidemark(study, temporaryDirectory()))
    const { partitions, electedAfterMs, acknowledgedAfterMs } = result.failover!
    expect(partitions).toBe(result.scenario.partitions)
    // Within a second of the session's end, with a busy machine's slack.
    expect(electedAfterMs.max).toBeLessThan(300 + 1_000 + 500)
    expect(acknowledgedAfterMs!.min).toBeGreaterThanOrEqual(electedAfterMs.min)
    expect(result.scenario.follower).toBe(1)
  })

  it('several faults, one after another', async () => {
    const args = ['--fault-at', '500ms:kill:2:400ms,1s:pause:3:400ms', '--follower', '3']
    const result = expectConverged(
      await tidemark([...smallStudy, '--json', '--no-report', ...args], temporaryDirectory()),
    )
    const steps = result.timeline.filter(({ actor }) => actor === 'harness').map(({ step }) => step)
    expect(steps).toEqual(
      expect.arrayContaining([
        'broker killed without warning',
        'end of kill',
        'broker paused',
        'end of pause',
      ]),
    )
  })

  it('lines of a text, and a report beside them', async () => {
    const home = temporaryDirectory()
    const lines = Array.from({ length: 5_000 }, (_, at) => `line ${at} of somebody's text`)
    fs.writeFileSync(path.join(home, 'text'), lines.join('\n'))
    const args = ['--input', 'text', '--report', 'report/deep', '--json']
    const result = expectConverged(await tidemark([...smallStudy, ...args], home))
    const report = path.join(home, 'report/deep')
    expect(fs.readdirSync(report).sort()).toEqual(['report.html', 'result.json', 'series.csv'])
    const stored = JSON.parse(fs.readFileSync(path.join(report, 'result.json'), 'utf8'))
    expect(stored).toEqual(result)
    expect(fs.readdirSync(home).sort()).toEqual(['report', 'text'])
  })
})

describe('tidemark throughput --json', () => {
  it.each(['all', '1', '0'])('with acks %s', async (acks) => {
    const home = temporaryDirectory()
    const small = ['--partitions', '4', '--duration', '300ms', '--max-bytes', '4MB', '--no-limit']
    const ended = await tidemark(['throughput', ...small, '--acks', acks, '--json'], home)
    expect(ended).toMatchObject({ code: 0 })
    const { records, endToEndMs } = JSON.parse(ended.stdout) as ThroughputResult
    expect(records.produced).toBeGreaterThan(0)
    expect(records).toMatchObject({ lost: 0, verified: records.acknowledged })
    expect(records.acknowledged > 0).toBe(acks !== '0')
    if (acks === '0') expect(endToEndMs).toBeNull()
    else expect(endToEndMs!.p50).toBeGreaterThan(0)
    expect(fs.readdirSync(home)).toEqual([])
  })
})

describe('bad input is one line and exit code 2', () => {
  const files = (home: string) => {
    fs.writeFileSync(path.join(home, 'empty'), '')
    fs.writeFileSync(path.join(home, 'binary'), Buffer.from([0, 1, 2, 3, 0, 200]))
    fs.writeFileSync(path.join(home, 'text'), 'a\nb\n')
  }

  it.each([
    ['catch-up --bogus', /--bogus: unknown option/],
    ['catchup', /catchup: unknown command/],
    ['catch-up --partitions 0', /--partitions 0: .*1 to 10000/],
    ['catch-up --partitions many', /--partitions many/],
    ['catch-up --replication-factor 4', /--replication-factor 4: .*--brokers 3/],
    ['catch-up --min-insync 4', /--min-insync 4: .*--replication-factor 3/],
    ['catch-up --fault melt', /--fault melt: must be pause, kill, throttle/],
    [
      'catch-up --fault-at 1s:kill:1,1s:kill:2,1s:kill:3',
      /--fault-at 1s:kill:1,1s:kill:2,1s:kill:3: .*one must stay/,
    ],
    ['catch-up --rate', /--rate: needs a value/],
    ['catch-up --no-report --input nothing', /--input nothing: there is no such file/],
    ['catch-up --no-report --input empty', /--input empty: is empty/],
    ['catch-up --no-report --input binary', /--input binary: is binary/],
    ['catch-up --no-report --input .', /--input \.: is a directory/],
    ['catch-up --no-report --input text --replay', /--input text: is text.*--replay/],
    ['catch-up --report text', /--report text: is a file/],
    ['throughput --producers 63', /--producers 63: .*1 to 62/],
  ])('tidemark %s', async (command, message) => {
    const home = temporaryDirectory()
    files(home)
    const ended = await tidemark(command.split(' '), home)
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(errorLines(ended)).toEqual([expect.stringMatching(message)])
    expect(ended.stderr.trim().split('\n')).toHaveLength(1)
    expect(leftovers(home)).toEqual([])
  })

  it('a directory in use by another process', async () => {
    const home = temporaryDirectory()
    const study = [...smallStudy, '--outage', '20s', '--no-report', '--dir', 'data']
    const first = start(study, home)
    await seen(first.stderr, /outage of broker/)
    const second = await tidemark(study, home)
    expect(second.code).toBe(2)
    expect(errorLines(second)).toEqual([
      expect.stringMatching(/data.* is in use by another process/),
    ])
    first.child.kill('SIGINT')
    expect((await first.ended).code).toBe(1)
    expect(fs.existsSync(path.join(home, 'data'))).toBe(true)
  })
})

describe('interrupted', () => {
  it.each([
    ['while it warms up', /warm-up/],
    ['while the follower is away', /outage of broker/],
  ])('%s, it prints what was measured and leaves nothing', async (_, moment) => {
    const home = temporaryDirectory()
    const study = [...smallStudy, '--warm-up', '5s', '--outage', '30s', '--json', '--no-report']
    if (moment.source.startsWith('outage')) study.push('--warm-up', '100ms')
    const running = start(study, home)
    await seen(running.stderr, moment)
    const atMs = performance.now()
    running.child.kill('SIGINT')
    const ended = await running.ended
    expect(performance.now() - atMs).toBeLessThan(10_000)
    expect(ended.code).toBe(1)
    const result = JSON.parse(ended.stdout) as CatchUpResult
    expect(result.interrupted).toBe(true)
    expect(result.records.verified).toBe(result.records.acknowledged)
    expect(fs.readdirSync(home)).toEqual([])
  })
})

async function seen(text: () => string, what: RegExp): Promise<void> {
  const endMs = performance.now() + 20_000
  while (!what.test(text())) {
    if (performance.now() > endMs) throw new Error(`${what} was not seen in: ${text()}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
