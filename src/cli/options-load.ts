/** The options that both measuring commands share: the cluster, and what is produced into it. */
import type { LoadOptions } from '../lab/result.ts'
import { badValue, formatBytesExactly, parseBytes, parseCount } from '../lab/units.ts'
import { limits } from '../limits.ts'
import {
  choice,
  flushPolicy,
  isGiven,
  isOn,
  type OptionSpec,
  pathValue,
  type RawOptions,
  seedValue,
  textOf,
} from './options-values.ts'

export const partitionsMax = 10_000
const batchBytesMin = 128

export const brokers: OptionSpec = {
  flags: '--brokers <n>',
  text: `brokers, each a thread; up to ${limits.brokersMax}`,
  fallback: '3',
}
export const replicationFactor: OptionSpec = {
  flags: '--replication-factor <n>',
  text: 'copies of each partition, at most one a broker',
  fallback: '3',
}
export const partitions: OptionSpec = {
  flags: '--partitions <n>',
  text: `partitions, up to ${partitionsMax}`,
  fallback: '1000',
}
export const leaders: OptionSpec = {
  flags: '--leaders <placement>',
  text: 'one: broker 1 leads all partitions; spread: over all brokers',
  fallback: 'one',
}
export const recordBytes: OptionSpec = {
  flags: '--record-bytes <size>',
  text: 'payload of a synthetic record',
  fallback: '1KiB',
}
export const batchBytes: OptionSpec = {
  flags: '--batch-bytes <size>',
  text: 'size at which a batch is sent',
  fallback: '16KiB',
}
export const compression: OptionSpec = {
  flags: '--compression <codec>',
  text: 'none or lz4',
  fallback: 'none',
}
export const input: OptionSpec = {
  flags: '--input <file>',
  text: 'real records instead, cycled: lines of a text file, or a Kafka .log segment',
}
export const acks: OptionSpec = {
  flags: '--acks <acks>',
  text: '0, 1 or all: who must have a record before it counts as written',
  fallback: 'all',
}
export const flush: OptionSpec = {
  flags: '--flush <policy>',
  text: 'fsync: os (never by itself), interval:MS or batch',
  fallback: 'os',
}
export const dir: OptionSpec = {
  flags: '--dir <path>',
  text: 'where the data goes; kept when given',
  fallbackText: 'a fresh temporary directory, removed at the end',
}
export const seed: OptionSpec = {
  flags: '--seed <n>',
  text: 'of payloads and arrivals; the same seed makes the same load',
  fallbackText: 'random, printed',
}
export const json: OptionSpec = {
  flags: '--json',
  text: 'one JSON document on standard output, all else on standard error',
}

/**
 * @throws {TidemarkError} INVALID_ARGUMENT naming the option, its value and what is allowed.
 */
export function resolveLoadOptions(
  raw: RawOptions,
  replicationFactorMin: number,
  random: () => number,
): LoadOptions {
  const text = (spec: OptionSpec) => textOf(raw, nameOf(spec), spec.fallback)!
  const brokerRange = { min: replicationFactorMin, max: limits.brokersMax }
  const brokerCount = parseCount('--brokers', text(brokers), brokerRange)
  const inputPath = textOf(raw, '--input')
  const directory = textOf(raw, '--dir')
  return {
    brokers: brokerCount,
    replicationFactor: replicas(text(replicationFactor), replicationFactorMin, brokerCount),
    partitions: parseCount('--partitions', text(partitions), { min: 1, max: partitionsMax }),
    leaders: choice('--leaders', text(leaders), ['one', 'spread']),
    acks: acksValue(text(acks)),
    ...sizes(raw, text(recordBytes), text(batchBytes)),
    compression: choice('--compression', text(compression), ['none', 'lz4']),
    input: inputPath === undefined ? null : pathValue('--input', inputPath),
    flush: flushPolicy('--flush', text(flush)),
    dir: directory === undefined ? null : pathValue('--dir', directory),
    seed: seedValue(raw, random),
    json: isOn(raw, '--json'),
  }
}

function replicas(text: string, min: number, brokerCount: number): number {
  const factor = parseCount('--replication-factor', text, {
    min,
    max: limits.replicationFactorMax,
  })
  if (factor <= brokerCount) return factor
  throw badValue('--replication-factor', text, `must be at most --brokers ${brokerCount}`)
}

function acksValue(text: string): LoadOptions['acks'] {
  const acks = choice('--acks', text, ['0', '1', 'all'])
  return acks === 'all' ? acks : acks === '0' ? 0 : 1
}

/** A synthetic record must fit its batch; `--input` brings its own sizes. */
function sizes(raw: RawOptions, record: string, batch: string) {
  const bytesMax = limits.batchBytesDefaultMax
  const ofBatch = parseBytes('--batch-bytes', batch, { min: batchBytesMin, max: bytesMax })
  const ofRecord = parseBytes('--record-bytes', record, { min: 1, max: bytesMax })
  if (ofRecord > ofBatch && !isGiven(raw, '--input')) {
    const most = formatBytesExactly(ofBatch)
    throw badValue('--record-bytes', record, `must be at most --batch-bytes ${most}`)
  }
  return { recordBytes: ofRecord, batchBytes: ofBatch }
}

function nameOf(spec: OptionSpec): string {
  return spec.flags.split(' ', 1)[0]!
}
