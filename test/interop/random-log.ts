/** A log written through both doors at random, and what must be in it. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ManualClock } from '../../src/clock.ts'
import { BatchEncoder } from '../../src/log/batch-encoder.ts'
import { compressions, sizeInBytesAt } from '../../src/log/batch-header.ts'
import { type BatchRun, batchMemory } from '../../src/log/batch-memory.ts'
import { logConfigDefaults } from '../../src/log/log-config.ts'
import { PartitionLog } from '../../src/log/partition-log.ts'
import type { ProduceRecord } from '../../src/log/record.ts'

export interface ExpectedRecord {
  readonly offset: number
  readonly leaderEpoch: number
  readonly timestampMs: number
  readonly key: string | null
  readonly value: string | null
  readonly headerKeys: string[]
}

export interface RandomLog {
  readonly seed: number
  readonly directory: string
  readonly records: readonly ExpectedRecord[]
  /** Cut off again by a truncation, all in all. */
  readonly truncatedCount: number
}

export type Random = (below: number) => number

interface Writing {
  readonly random: Random
  readonly clock: ManualClock
  readonly records: ExpectedRecord[]
  readonly batchBases: number[]
  readonly encoder: BatchEncoder
  readonly run: BatchRun
  readonly leader: PartitionLog
  readonly follower: PartitionLog
  leaderEpoch: number
  truncatedCount: number
}

const stepsDefault = 60
const batchesPerRunMax = 4
const batchBytesMax = 2000
const config = { ...logConfigDefaults, segmentBytes: 6000, indexIntervalBytes: 300 }

export interface RandomLogOptions {
  readonly steps?: number
  /** Largest step from one leader epoch to the next; 0: all is written in epoch 0. */
  readonly epochStepMax?: number
}

/**
 * Leader and follower directories below `parent`; both get the same bytes and must pass the same
 * judge. A new leader epoch begins now and then, and before it the tail may be cut off.
 */
export function writeRandomLogs(
  parent: string,
  seed: number,
  { steps = stepsDefault, epochStepMax = 3 }: RandomLogOptions = {},
): RandomLog[] {
  const random = randomNumbers(seed)
  const clock = new ManualClock(1_700_000_000_000)
  const open = (name: string): PartitionLog =>
    PartitionLog.open({
      directory: join(parent, `${name}-${seed}`, 'judged-0'),
      topic: 'judged',
      partition: 0,
      config,
      clock,
      cleanShutdown: true,
    })
  const writing: Writing = {
    random,
    clock,
    records: [],
    batchBases: [],
    encoder: new BatchEncoder(),
    run: {
      memory: batchMemory(new SharedArrayBuffer(batchesPerRunMax * batchBytesMax)),
      positions: new Int32Array(batchesPerRunMax),
      count: 0,
    },
    leader: open('leader'),
    follower: open('follower'),
    leaderEpoch: 0,
    truncatedCount: 0,
  }
  for (let step = 0; step < steps; step += 1) {
    if (random(8) === 0) beginEpoch(writing, epochStepMax)
    appendRun(writing)
  }
  const { leader, follower, records, truncatedCount } = writing
  leader.close()
  follower.close()
  return [leader, follower].map(({ directory }) => ({ seed, directory, records, truncatedCount }))
}

/** A segment's `.log`, `.index` and `.timeindex`, all of them. */
export function segmentFiles(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => /^\d{20}\.(log|index|timeindex)$/.test(name))
    .sort()
    .map((name) => join(directory, name))
}

function beginEpoch(writing: Writing, epochStepMax: number): void {
  const { random, records, batchBases, leader, follower } = writing
  if (epochStepMax > 0) writing.leaderEpoch += 1 + random(epochStepMax)
  if (random(2) === 0 || records.length === 0) return
  // Replicas only ever cut between batches: an epoch begins and ends with one.
  const around = Math.max(0, leader.logEndOffset - random(40))
  const offset = batchBases.findLast((base) => base <= around)!
  leader.truncateTo(offset)
  follower.truncateTo(offset)
  while ((batchBases.at(-1) ?? -1) >= offset) batchBases.pop()
  writing.truncatedCount += records.length - offset
  records.length = offset
}

function appendRun(writing: Writing): void {
  const { random, clock, encoder, run, leader, follower, records, batchBases } = writing
  const added: ProduceRecord[] = []
  const first = leader.logEndOffset
  let position = 0
  run.count = 0
  for (let batch = 0; batch <= random(batchesPerRunMax); batch += 1) {
    if (batch === batchesPerRunMax) break
    // Two of three without.
    const compression = compressions[Math.max(0, random(12) - 7)]!
    batchBases.push(first + added.length)
    encoder.begin(run.memory, position, batchBytesMax, { compression })
    for (let count = 1 + random(12); count > 0; count -= 1) {
      clock.advance(random(500))
      const record = randomRecord(random, clock.nowMs())
      if (!encoder.tryAppend(record)) break
      added.push(record)
    }
    encoder.finish()
    run.positions[run.count] = position
    run.count += 1
    position += sizeInBytesAt(run.memory, position)
  }
  leader.append(run, writing.leaderEpoch)
  follower.appendReplicated(run)
  const text = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes).toString())
  for (const [index, { timestampMs, key, value, headers }] of added.entries()) {
    records.push({
      offset: first + index,
      leaderEpoch: writing.leaderEpoch,
      timestampMs,
      key: text(key),
      value: text(value),
      headerKeys: headers?.map((header) => header.key) ?? [],
    })
  }
}

/** Times go back and forth a little, as those of several producers do. */
function randomRecord(random: Random, nowMs: number): ProduceRecord {
  const header = (index: number) => ({
    key: `header-${index}`,
    value: random(3) === 0 ? null : randomText(random, random(10)),
  })
  return {
    timestampMs: nowMs - random(50),
    key: random(4) === 0 ? null : randomText(random, random(20)),
    value: random(9) === 0 ? null : randomText(random, random(random(5) === 0 ? 700 : 90)),
    headers: Array.from({ length: random(3) }, (_, index) => header(index)),
  }
}

export function randomText(random: Random, length: number): Buffer {
  const letters = 'abcdefghijklmnopqrstuvwxyz0123456789 :,[]'
  return Buffer.from(Array.from({ length }, () => letters[random(letters.length)]).join(''))
}

/** Mulberry32. */
export function randomNumbers(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}
