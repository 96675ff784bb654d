/** Options of `tidemark throughput`, as `--help` shows them and as the laboratory takes them. */
import type { Command } from 'commander'
import type { ThroughputOptions } from '../lab/result.ts'
import { parseBytes, parseCount, parseDuration, parseRate } from '../lab/units.ts'
import { limits } from '../limits.ts'
import * as load from './options-load.ts'
import {
  defineOptions,
  isOff,
  type OptionSpec,
  type RawOptions,
  randomSeed,
  textOf,
} from './options-values.ts'

/** The application's own thread and the controller have a place among the clients too. */
const producersMax = limits.producersMax - 2

const loadSpecs: readonly OptionSpec[] = [
  {
    flags: '--rate <rate>',
    text: 'payload bytes a second, open loop, for latency at a fixed load; max: closed loop',
    fallback: 'max',
  },
  {
    flags: '--producers <n>',
    text: `threads that produce; up to ${producersMax}`,
    fallback: '1',
  },
  load.recordBytes,
  load.batchBytes,
  load.compression,
  load.input,
  load.acks,
  load.seed,
]

const runSpecs: readonly OptionSpec[] = [
  { flags: '--duration <duration>', text: 'of the measurement', fallback: '5s' },
  {
    flags: '--max-bytes <size>',
    text: 'bytes a replica gets at most, so that the page cache holds them',
    fallback: '2GB',
  },
  { flags: '--limit', text: 'measure the physical limit in alternation (the default)' },
  { flags: '--no-limit', text: 'measure the cluster alone' },
  load.flush,
  load.dir,
]

export function defineThroughputOptions(command: Command): Command {
  const cluster = [load.brokers, load.replicationFactor, load.partitions, load.leaders]
  defineOptions(command, 'Cluster:', cluster)
  defineOptions(command, 'Load:', loadSpecs)
  defineOptions(command, 'Run:', runSpecs)
  return defineOptions(command, 'Output:', [load.json])
}

/**
 * Every option with its value, checked by itself and against the others; frozen.
 *
 * @throws {TidemarkError} INVALID_ARGUMENT: one line naming the option, the value and what is
 *   allowed.
 */
export function resolveThroughputOptions(raw: RawOptions, random = randomSeed): ThroughputOptions {
  const text = (option: string, fallback: string) => textOf(raw, option, fallback)!
  return Object.freeze({
    ...load.resolveLoadOptions(raw, 1, random),
    durationMs: parseDuration('--duration', text('--duration', '5s'), { min: 100, max: 3_600_000 }),
    maxBytes: parseBytes('--max-bytes', text('--max-bytes', '2GB'), { min: 1_000_000, max: 1e15 }),
    producers: parseCount('--producers', text('--producers', '1'), {
      min: 1,
      max: producersMax,
    }),
    limit: !isOff(raw, '--limit'),
    rateBytesPerSec: parseRate('--rate', text('--rate', 'max'), { min: 1 }),
  })
}
