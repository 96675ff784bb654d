/** Options of `tidemark catch-up`, as `--help` shows them and as the laboratory takes them. */
import type { Command } from 'commander'
import type { CatchUpOptions, LoadOptions, ProduceRate } from '../lab/result.ts'
import { badValue, parseCount, parseDuration, parseRate, parseThrottle } from '../lab/units.ts'
import { faultOptions, faultSpecs } from './options-fault.ts'
import * as load from './options-load.ts'
import {
  choice,
  defineOptions,
  factor,
  isGiven,
  isOff,
  isOn,
  type OptionSpec,
  pathValue,
  type RawOptions,
  randomSeed,
  textOf,
} from './options-values.ts'

const hourMs = 3_600_000
const minInsync: OptionSpec = {
  flags: '--min-insync <n>',
  text: 'min.insync.replicas',
  fallbackText: '2; with two replicas 1',
}

const loadSpecs: readonly OptionSpec[] = [
  {
    flags: '--rate <rate>',
    text: 'payload bytes a second, open loop, for example 100MB/s; max: closed loop',
    fallbackText: 'half of what a calibration finds sustainable',
  },
  load.recordBytes,
  load.batchBytes,
  load.compression,
  load.input,
  { flags: '--replay', text: 'keep the arrival times of a .log input' },
  { flags: '--time-scale <x>', text: 'how much faster a replay runs', fallback: '1' },
  load.acks,
  load.seed,
]

const returnSpecs: readonly OptionSpec[] = [
  {
    flags: '--replica-lag-time-max <duration>',
    text: 'replica.lag.time.max.ms: how long a follower may lag and stay in the ISR',
    fallback: '1s',
  },
  {
    flags: '--expand <criterion>',
    text: 'when it may come back: at the log-end-offset or the high-watermark',
    fallback: 'log-end-offset',
  },
  {
    flags: '--policy <policy>',
    text: 'order of catching up: smallest-lag-first or round-robin',
    fallback: 'smallest-lag-first',
  },
  { flags: '--catch-up-limit <rate>', text: 'throttles catching up', fallbackText: 'none' },
]

const runSpecs: readonly OptionSpec[] = [
  { flags: '--warm-up <duration>', text: 'load before anything is measured', fallback: '3s' },
  { flags: '--settle <duration>', text: 'load after the follower is back', fallback: '3s' },
  { flags: '--timeout <duration>', text: 'longest time to catch up', fallback: '120s' },
  { flags: '--repeat <n>', text: 'repetitions; medians with 95 % intervals', fallback: '1' },
  load.flush,
  load.dir,
  { flags: '--keep', text: 'keep the temporary directory' },
]

const outputSpecs: readonly OptionSpec[] = [
  {
    flags: '--report <dir>',
    text: 'where report.html, result.json and series.csv go',
    fallback: 'tidemark-report/',
  },
  { flags: '--no-report', text: 'write none' },
  load.json,
]

export function defineCatchUpOptions(command: Command): Command {
  const cluster = [load.brokers, load.replicationFactor, load.partitions, minInsync, load.leaders]
  defineOptions(command, 'Cluster:', cluster)
  defineOptions(command, 'Load:', loadSpecs)
  defineOptions(command, 'Fault and return:', [...faultSpecs, ...returnSpecs])
  defineOptions(command, 'Run:', runSpecs)
  return defineOptions(command, 'Output:', outputSpecs)
}

/**
 * Every option with its value, checked by itself and against the others; frozen.
 *
 * @throws {TidemarkError} INVALID_ARGUMENT: one line naming the option, the value and what is
 *   allowed.
 */
export function resolveCatchUpOptions(raw: RawOptions, random = randomSeed): CatchUpOptions {
  const shared = load.resolveLoadOptions(raw, 2, random)
  const duration = (option: string, fallback: string, min: number) =>
    parseDuration(option, textOf(raw, option, fallback)!, { min, max: hourMs })
  const warmUpMs = duration('--warm-up', '3s', 0)
  const limit = textOf(raw, '--catch-up-limit')
  const repeat = textOf(raw, '--repeat', '1')!
  return Object.freeze({
    ...shared,
    minInsync: minInsyncValue(raw, shared),
    ...arrivals(raw),
    ...faultOptions(raw, shared, warmUpMs),
    replicaLagTimeMaxMs: duration('--replica-lag-time-max', '1s', 10),
    expand: choice('--expand', textOf(raw, '--expand', 'log-end-offset')!, [
      'log-end-offset',
      'high-watermark',
    ]),
    policy: choice('--policy', textOf(raw, '--policy', 'smallest-lag-first')!, [
      'smallest-lag-first',
      'round-robin',
    ]),
    catchUpLimitBytesPerSec: limit === undefined ? null : parseThrottle('--catch-up-limit', limit),
    warmUpMs,
    settleMs: duration('--settle', '3s', 0),
    timeoutMs: duration('--timeout', '120s', 100),
    repeat: parseCount('--repeat', repeat, { min: 1, max: 100 }),
    keep: isOn(raw, '--keep'),
    report: isOff(raw, '--report')
      ? null
      : pathValue('--report', textOf(raw, '--report', 'tidemark-report/')!),
  })
}

/** With as many required as there are replicas, acks=all would stop with the first that leaves. */
function minInsyncValue(raw: RawOptions, { replicationFactor }: LoadOptions): number {
  const text = textOf(raw, '--min-insync')
  if (text === undefined) return Math.min(2, replicationFactor - 1)
  const max = replicationFactor
  const count = parseCount('--min-insync', text, { min: 1 })
  if (count <= max) return count
  throw badValue('--min-insync', text, `must be from 1 to --replication-factor ${max}`)
}

function arrivals(raw: RawOptions) {
  const rate = textOf(raw, '--rate')
  const replay = isOn(raw, '--replay')
  const scale = textOf(raw, '--time-scale')
  if (replay && !isGiven(raw, '--input')) {
    throw badValue('--replay', 'without --input', 'needs a Kafka .log segment as --input')
  }
  if (replay && rate !== undefined) {
    throw badValue('--rate', rate, 'a replay has its own rate; use --time-scale')
  }
  if (scale !== undefined && !replay) {
    throw badValue('--time-scale', scale, 'only with --replay')
  }
  const rateBytesPerSec: ProduceRate =
    rate === undefined ? 'calibrated' : parseRate('--rate', rate, { min: 1 })
  return { rateBytesPerSec, replay, timeScale: factor('--time-scale', scale ?? '1', 0.001, 1e6) }
}
