/**
 * A made-up run with the shape of a real one: 1,000 partitions, follower 3 paused for five seconds.
 */
import type {
  CatchUpResult,
  CatchUpScenario,
  ForegroundWindow,
  Phase,
  SeriesRow,
  TimelineEvent,
} from '../../../src/lab/result.ts'

const faultMs = 6_000
const evictedMs = 7_310
const resumeMs = 11_000
const caughtUpMs = 13_314
const admittedMs = 13_352
const endMs = 16_350
const recordsPerSec = 83_000
const recordBytes = 1024
const copyRecordsPerSec = 262_000

export const sampleScenario: CatchUpScenario = {
  brokers: 3,
  replicationFactor: 3,
  partitions: 1000,
  minInsync: 2,
  leaders: 'one',
  rateBytesPerSec: 'calibrated',
  offeredBytesPerSec: recordsPerSec * recordBytes,
  recordBytes,
  batchBytes: 16_384,
  compression: 'none',
  input: null,
  replay: false,
  timeScale: 1,
  acks: 'all',
  fault: 'pause',
  throttleBytesPerSec: null,
  follower: 3,
  sessionTimeoutMs: 9_000,
  faults: [
    {
      atMs: 3_000,
      forMs: 5_000,
      kind: 'pause',
      broker: 3,
      throttleBytesPerSec: null,
      isolation: null,
      disk: null,
      clockOffsetMs: null,
    },
  ],
  outageMs: 5_000,
  replicaLagTimeMaxMs: 1_000,
  expand: 'log-end-offset',
  policy: 'smallest-lag-first',
  catchUpLimitBytesPerSec: null,
  warmUpMs: 3_000,
  settleMs: 3_000,
  timeoutMs: 120_000,
  repeat: 1,
  flush: { kind: 'os' },
  dir: null,
  keep: false,
  seed: 3_141_592_653,
  report: 'tidemark-report',
  json: false,
  calibration: {
    pipelineBytesPerSec: 612e6,
    diskBytesPerSec: 511e6,
    sustainableBytesPerSec: 170e6,
  },
  machine: {
    cpus: 2,
    cpuModel: 'Intel(R) Xeon(R) CPU @ 2.60GHz',
    node: 'v20.20.2',
    platform: 'linux x64',
    memoryBytes: 25_190_000_000,
    fileSystem: 'ext4',
  },
}

export function sampleResult(changes: Partial<CatchUpResult> = {}): CatchUpResult {
  return {
    schemaVersion: 1,
    scenario: sampleScenario,
    outcome: 'converged',
    interrupted: false,
    evictedAfterMs: { min: 1_052, median: 1_268, max: 1_310 },
    failover: null,
    backlogBytes: 425_000_000,
    backlogRecords: 415_000,
    catchUpMs: caughtUpMs - resumeMs,
    admissionMs: { median: 4.2, p99: 21.4, max: 38.1 },
    copiedBytes: 621_700_000,
    diskReadBytes: 544_300_000,
    ringBytes: 77_400_000,
    predicted: {
      catchUpMs: 2_186,
      naiveMs: 1_702,
      converges: true,
      setupMsPerRead: 0.147,
      copyBytesPerSec: 335e6,
      floorLagBytes: 16_700,
      fittedFrom: { samples: 96, windowMs: 212 },
      trajectory: trajectory(),
    },
    predictionError: (2_314 - 2_186) / 2_186,
    foreground: {
      before: window(83_012, 0.52, 2.31, 4.9, 9.7),
      during: window(82_870, 0.66, 1_204, 1_308, 1_311),
      after: window(83_040, 0.51, 2.44, 5.3, 11.2),
      awaitingEviction: window(82_310, 651, 1_298, 1_309, 1_311),
      outOfSync: window(83_020, 0.58, 5.73, 9.9, 17.8),
    },
    isr: { shrinks: 1000, expands: 1000, rejected: 0, flaps: 0 },
    highWatermark: { advances: 83_421, stalledMs: 1_311, wentBack: 0 },
    invariants: { checked: 1_334_120, violations: 0 },
    records: {
      produced: 1_357_050,
      acknowledged: 1_357_050,
      verified: 1_357_050,
      lost: 0,
      duplicated: 0,
    },
    timeline: sampleTimeline(),
    series: sampleSeries(),
    ...changes,
  }
}

function window(rate: number, p50: number, p99: number, p999: number, max: number) {
  const built: ForegroundWindow = {
    recordsPerSec: rate,
    bytesPerSec: rate * recordBytes,
    ackMs: { p50, p99, p999, max },
  }
  return built
}

export function sampleTimeline(): TimelineEvent[] {
  return [
    event(
      faultMs,
      'harness',
      'Follower paused',
      1000,
      'Broker 3 stops polling and copying; its thread lives.',
      'pause',
    ),
    event(
      faultMs + 1_052,
      'leader',
      'Lag limit passed',
      412,
      'Caught up 1,004 to 1,052 ms ago at the check, limit 1,000 ms; LEO 498, follower at 412 (partition 0).',
      'lapsed',
    ),
    event(
      faultMs + 1_054,
      'leader',
      'Proposed without follower 3',
      412,
      'AlterPartition {1, 2}, leader epoch 0, partition epoch 0, in 1 request through shared memory.',
      'shrink proposed',
    ),
    event(
      faultMs + 1_056,
      'controller',
      'Validated and committed',
      412,
      'Leader, epochs and eligibility hold; 412 PartitionChange records at metadata offset 1,021.',
      'shrink committed',
    ),
    event(
      faultMs + 1_060,
      'leader',
      'High watermark recomputed',
      412,
      'Over {1, 2}: 412 → 498 (partition 0); 1,204 waiting acknowledgements released.',
    ),
    event(
      faultMs + 1_302,
      'leader',
      'Lag limit passed',
      588,
      'Caught up 1,002 to 1,298 ms ago at the check, limit 1,000 ms.',
    ),
    event(
      faultMs + 1_310,
      'controller',
      'Validated and committed',
      588,
      '588 PartitionChange records at metadata offset 1,433. The last shrink.',
      'evicted',
    ),
    event(
      resumeMs,
      'harness',
      'Follower resumed',
      1000,
      'Backlog 425 MB, 415,000 records; ring cursor at the head.',
      'resume',
    ),
    event(
      resumeMs + 3,
      'follower',
      'Reads segment files',
      1000,
      'Smallest lag first, chunks of 1 MiB; leader LEO 913 noted (partition 0).',
    ),
    event(
      caughtUpMs - 1_950,
      'follower',
      'First partition at the log end',
      1,
      'Partition 731: LEO 905 = leader LEO 905; from here on out of the ring.',
    ),
    event(
      caughtUpMs,
      'follower',
      'Last partition at the log end',
      1,
      'Partition 12: LEO 1,096 = leader LEO 1,096.',
      'caught up',
    ),
    event(
      caughtUpMs + 4,
      'leader',
      'Proposed with follower 3',
      64,
      'AlterPartition {1, 2, (3, epoch 1,004)}; at the LEO and past the epoch start 0.',
      'expand proposed',
    ),
    event(
      admittedMs,
      'controller',
      'Validated and committed',
      64,
      'Broker epoch 1,004 is registered, unfenced. Last expansion: all 1,000 partitions full again.',
      'in sync',
    ),
    event(
      endMs,
      'harness',
      'Read back and compared',
      1000,
      '1,357,050 records acknowledged, 1,357,050 found on all three replicas.',
    ),
  ]
}

function event(
  atMs: number,
  actor: TimelineEvent['actor'],
  step: string,
  partitions: number,
  detail: string,
  marker?: string,
): TimelineEvent {
  return { atMs, actor, step, partitions, detail, ...(marker === undefined ? {} : { marker }) }
}

export function sampleSeries(stepMs = 50): SeriesRow[] {
  const noise = seededNoise(7)
  const rows: SeriesRow[] = []
  for (let atMs = 0; atMs <= endMs; atMs += stepMs) rows.push(row(atMs, noise))
  return rows
}

function row(atMs: number, noise: () => number): SeriesRow {
  const produced = Math.round((atMs / 1000) * recordsPerSec)
  const lagRecords = Math.round(lagAt(atMs) * (1 + 0.004 * noise()))
  const away = atMs >= faultMs && atMs < admittedMs
  const awaiting = atMs >= faultMs && atMs < evictedMs
  const evictedShare = share(atMs, faultMs + 1_052, evictedMs)
  const joinedShare = share(atMs, caughtUpMs - 1_950, admittedMs)
  const outside = away ? Math.round(1000 * (evictedShare - joinedShare)) : 0
  const held = awaiting ? 1 - evictedShare : 0
  const held1 = atMs < faultMs + 60
  const latency = awaiting && !held1 ? Math.max(0.6, (atMs - faultMs) * 0.98) : 0.5
  const wide = awaiting ? 0 : 1
  const catching = atMs >= resumeMs && atMs < caughtUpMs
  return {
    atMs,
    phase: phaseAt(atMs),
    logEndOffset: produced,
    highWatermark: produced - Math.round(held * lagRecords) - 40,
    followerLogEndOffset: produced - lagRecords,
    lagRecords,
    lagBytes: lagRecords * recordBytes,
    lagTimeMs: lagTimeAt(atMs) + 2 * Math.abs(noise()),
    laggingPartitions: away && !(atMs < faultMs + 20) ? Math.round(1000 * (1 - joinedShare)) : 0,
    inSyncReplicasMin: outside > 0 ? 2 : 3,
    inSyncReplicasMean: 3 - outside / 1000,
    partitionsBelowFull: outside,
    producedRecordsPerSec: recordsPerSec * (1 + 0.02 * noise()),
    ackedRecordsPerSec: ackedAt(atMs) * (1 + 0.03 * noise()),
    ackP50Ms: awaiting && evictedShare === 0 ? null : latency * (1 + 0.2 * wide * noise()),
    ackP99Ms:
      awaiting && evictedShare === 0
        ? null
        : (latency + (catching ? 5 : 1.8)) * (1 + 0.3 * wide * noise()),
    ackMaxMs:
      awaiting && evictedShare === 0
        ? null
        : (latency + (catching ? 14 : 7)) * (1 + wide * (0.2 + 0.5 * noise())),
    diskReadBytes: Math.round(544_300_000 * share(atMs, resumeMs, caughtUpMs)),
    ringBytes: Math.round(77_400_000 * share(atMs, resumeMs + 300, caughtUpMs)),
  }
}

function lagAt(atMs: number): number {
  if (atMs < faultMs || atMs >= caughtUpMs) return 180
  if (atMs < resumeMs) return 180 + ((atMs - faultMs) / 1000) * recordsPerSec
  const peak = ((resumeMs - faultMs) / 1000) * recordsPerSec
  const drained = ((atMs - resumeMs) / 1000) * (copyRecordsPerSec - recordsPerSec)
  return Math.max(180, peak - drained)
}

function lagTimeAt(atMs: number): number {
  if (atMs < faultMs || atMs >= caughtUpMs) return 2
  if (atMs < resumeMs + 40) return atMs - faultMs
  const peak = resumeMs + 40 - faultMs
  return peak + (atMs - resumeMs - 40) * 0.2 - Math.max(0, atMs - caughtUpMs + 400) * 13
}

function ackedAt(atMs: number): number {
  if (atMs < faultMs || atMs >= evictedMs + 50) return recordsPerSec
  if (atMs < faultMs + 1_052) return 0
  return recordsPerSec * 4.3
}

function phaseAt(atMs: number): Phase {
  if (atMs < 3_000) return 'warm-up'
  if (atMs < faultMs) return 'steady'
  if (atMs < evictedMs) return 'awaiting-eviction'
  if (atMs < resumeMs) return 'out-of-sync'
  return atMs < admittedMs ? 'catching-up' : 'settle'
}

function trajectory() {
  const points = []
  const peak = 425_000_000
  for (let i = 0; i <= 40; i++) {
    points.push({ atMs: resumeMs + (2_186 * i) / 40, lagBytes: peak * (1 - i / 40) + 16_700 })
  }
  return points
}

function share(atMs: number, from: number, to: number): number {
  return Math.min(1, Math.max(0, (atMs - from) / (to - from)))
}

/** Values from -1 to 1, the same at every run. */
function seededNoise(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 31 - 1
  }
}
