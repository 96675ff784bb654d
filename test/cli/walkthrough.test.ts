import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { resolveWalkthroughOptions } from '../../src/cli/walkthrough-command.ts'
import { isGood, StepPrinter, stepText, verdictText } from '../../src/cli/walkthrough-text.ts'
import type { WalkthroughResult, WalkthroughStep } from '../../src/lab/walkthrough-result.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { leftovers, start, tidemark } from './tidemark-process.ts'

type Numbers = Record<string, number & string & number[]>

/** The numbers of the step of that name, the one of a chapter if there are several. */
function numbersOf({ steps }: WalkthroughResult, step: string, place = 0): Numbers {
  const found = steps.filter((each) => each.step === step)[place]
  expect(found, step).toBeDefined()
  return found!.numbers as Numbers
}

describe('tidemark walkthrough --json', () => {
  it('tells the whole story with the numbers of what happened', { timeout: 120_000 }, async () => {
    const home = temporaryDirectory()
    const { code, stdout } = await tidemark(['walkthrough', '--json', '--seed', '7'], home)
    const result = JSON.parse(stdout) as WalkthroughResult
    expect(result.invariants).toMatchObject({ violations: 0, faults: [] })
    expect(code).toBe(0)
    expect(leftovers(home)).toEqual([])
    expect(result.steps.map(({ step }) => step)).toEqual([
      ...['produced', 'tracked', 'lapsed', 'checked', 'proposed', 'validated', 'committed'],
      ...['broadcast', 'high watermark recomputed', 'acks=all with fewer replicas'],
      ...['min.insync.replicas refusal', 'backlog', 'reached the LEO', 'proposed', 'committed'],
      'redundancy restored',
      ...['leader cut off', 'stale proposal', 'leader frozen', 'new leader elected'],
      ...['acknowledged by the new leader', 'its proposal refused', 'its appends refused'],
      ...['its acks refused', 'divergent tail cut', 'back as a follower'],
      ...['shrink proposed, not committed', 'leader lost', 'elected from the committed ISR'],
      ...['redundancy restored', 'verdict'],
    ])
    checkLeaving(result)
    checkStaleLeader(result)
    checkLostLeader(result)
    const { acknowledged, verified, lost, duplicated } = result.records
    expect(acknowledged).toBeGreaterThan(50_000)
    expect([verified, lost, duplicated]).toEqual([acknowledged, 0, 0])
    expect(result.invariants.checked).toBeGreaterThan(1_000)
  })

  it('is cut short by Ctrl-C, says so, and leaves nothing', { timeout: 60_000 }, async () => {
    const home = temporaryDirectory()
    const run = start(['walkthrough'], home)
    await new Promise<void>((resolve) => run.child.stdout!.once('data', () => resolve()))
    run.child.kill('SIGINT')
    const { code, stdout } = await run.ended
    expect(code).toBe(1)
    expect(stdout).toMatch(/produced \(producer\)/)
    expect(stdout.trimEnd()).toMatch(/Interrupted before the end of the story\.$/)
    expect(leftovers(home)).toEqual([])
  })
})

function checkLeaving(result: WalkthroughResult): void {
  const checked = numbersOf(result, 'checked')
  expect(checked.lagMs).toBeGreaterThan(checked.replicaLagTimeMaxMs)
  expect(checked.cause).toBe('frozen')
  const committed = numbersOf(result, 'committed')
  expect(committed.inSyncReplicas).toEqual([1, 2])
  expect(committed.partitionEpoch).toBe(numbersOf(result, 'proposed').partitionEpoch + 1)
  const advanced = numbersOf(result, 'high watermark recomputed')
  expect(advanced.highWatermarkBefore).toBe(numbersOf(result, 'lapsed').highWatermark)
  expect(advanced.advancedRecords).toBeGreaterThan(0)
  expect(numbersOf(result, 'acks=all with fewer replicas').error).toBe('NONE')
  const refused = numbersOf(result, 'min.insync.replicas refusal')
  expect(refused.error).toBe('NOT_ENOUGH_REPLICAS')
  expect(refused.highWatermark).toBe(refused.highWatermarkBefore)
  expect(refused.acksOneBaseOffset).toBeGreaterThanOrEqual(refused.highWatermark)
  const backlog = numbersOf(result, 'backlog')
  expect(backlog.backlogRecords).toBe(backlog.logEndOffset - backlog.followerLogEndOffset)
  expect(backlog.backlogRecords).toBeGreaterThan(10_000)
  const reached = numbersOf(result, 'reached the LEO')
  expect(reached.fileReadBytes).toBeGreaterThan(1_000_000)
  expect(reached.logEndOffset).toBeGreaterThanOrEqual(reached.logEndOffsetAtReturn)
  expect(new Set(numbersOf(result, 'redundancy restored').logEndOffsets).size).toBe(1)
}

function checkStaleLeader(result: WalkthroughResult): void {
  const alone = numbersOf(result, 'leader cut off')
  const elected = numbersOf(result, 'new leader elected')
  expect(elected.leaderEpoch).toBe(alone.leaderEpoch + 1)
  expect(elected.leader).not.toBe(alone.leader)
  expect(elected.inSyncReplicas).not.toContain(alone.leader)
  expect(elected.logEndOffset).toBe(alone.followerLogEndOffsets[0])
  const proposal = numbersOf(result, 'its proposal refused')
  expect(proposal.error).toBe('FENCED_LEADER_EPOCH')
  expect(proposal.proposedLeaderEpoch).toBe(alone.leaderEpoch)
  expect(numbersOf(result, 'its appends refused').error).toBe('NOT_LEADER_OR_FOLLOWER')
  expect(numbersOf(result, 'its acks refused').error).toBe('NOT_LEADER_OR_FOLLOWER')
  const tail = numbersOf(result, 'divergent tail cut')
  expect(tail.logEndOffsetBefore).toBe(alone.logEndOffset)
  expect(tail.logEndOffset).toBe(elected.logEndOffset)
  expect(tail.recordsCut).toBe(alone.recordsAlone)
}

function checkLostLeader(result: WalkthroughResult): void {
  const pending = numbersOf(result, 'shrink proposed, not committed')
  expect(pending.proposed).not.toContain(pending.lagging)
  const elected = numbersOf(result, 'elected from the committed ISR')
  expect(elected.committedInSyncReplicas).toContain(elected.leader)
  expect(elected.committedInSyncReplicas).toContain(pending.lagging)
  expect(elected.inSyncReplicas).toContain(pending.lagging)
  expect(elected.leaderEpoch).toBeGreaterThan(pending.leaderEpoch)
  expect(elected.logEndOffset).toBeGreaterThanOrEqual(elected.highWatermarkBefore)
  expect(numbersOf(result, 'leader lost').error).toBe('NETWORK_EXCEPTION')
  expect(numbersOf(result, 'redundancy restored', 1).error).toBe('NONE')
}

const step: WalkthroughStep = {
  chapter: 'leave and rejoin',
  step: 'produced',
  actor: 'producer',
  atMs: 1_234.5,
  text: 'one two three '.repeat(10).trim(),
  numbers: {},
}

const good: WalkthroughResult = {
  schemaVersion: 1,
  scenario: {
    ...{ seed: 1, replicaLagTimeMaxMs: 300, brokerSessionTimeoutMs: 2_500, dir: null },
    ...{ brokers: 3, partitions: 1, replicationFactor: 3, minInsync: 2 },
  },
  steps: [],
  records: { acknowledged: 10, verified: 10, lost: 0, duplicated: 0 },
  invariants: { checked: 5, violations: 0, faults: [] },
  interrupted: false,
}

describe('the text', () => {
  it('has the time, the step, who, and lines of the terminal’s width', () => {
    const lines = stepText(step, 60).trimEnd().split('\n')
    expect(lines[0]).toBe('   1.234 s  produced (producer)')
    expect(lines.length).toBeGreaterThan(2)
    expect(lines.every((line) => line.length <= 60)).toBe(true)
  })

  it('is printed in order, a chapter’s name once, and at once when it is cut short', async () => {
    const stream = new PassThrough()
    const abort = new AbortController()
    const printer = new StepPrinter(stream, 3_600_000, { columns: 80, signal: abort.signal })
    printer.add(step)
    printer.add({ ...step, step: 'tracked' })
    printer.add({ ...step, step: 'cut', chapter: 'a stale leader' })
    abort.abort()
    await printer.end()
    const text = String(stream.read())
    expect(text.match(/^(leave and rejoin|a stale leader)$|(?<=s {2})\w+/gm)).toEqual([
      ...['leave and rejoin', 'produced', 'tracked', 'a stale leader', 'cut'],
    ])
  })

  it.each<[string, Partial<WalkthroughResult>]>([
    ['a violation', { invariants: { checked: 5, violations: 1, faults: ['back'] } }],
    ['a lost record', { records: { ...good.records, lost: 1, verified: 9 } }],
    ['a duplicated record', { records: { ...good.records, duplicated: 1 } }],
    ['nothing verified', { records: { ...good.records, verified: 0 } }],
    ['nothing acknowledged', { records: { ...good.records, acknowledged: 0, verified: 0 } }],
    ['an interruption', { interrupted: true }],
  ])('calls %s no success', (_, change) => {
    expect(isGood(good)).toBe(true)
    expect(verdictText(good)).toMatch(/^No violation in 5 checks/)
    expect(isGood({ ...good, ...change })).toBe(false)
    expect(verdictText({ ...good, ...change })).not.toMatch(/^No violation/)
  })
})

describe('its options', () => {
  it('have defaults', () => {
    expect(resolveWalkthroughOptions({ seed: '5' })).toEqual({
      ...{ seed: 5, replicaLagTimeMaxMs: 300, brokerSessionTimeoutMs: 2_500, dir: null },
    })
  })

  it.each([
    [{ replicaLagTimeMax: '50ms' }, /^--replica-lag-time-max 50ms: must be from 100 ms to 5 s/],
    [{ sessionTimeout: '2s' }, /^--session-timeout 2s: must be from 2.4 s to 60 s/],
    [{ seed: '-1' }, /^--seed -1: must be/],
    [{ dir: '' }, /^--dir '': must be a path/],
  ])('are refused: %o', (raw, message) => {
    expect(() => resolveWalkthroughOptions(raw)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(message),
      }),
    )
  })
})
