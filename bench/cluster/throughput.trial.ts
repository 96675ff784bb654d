/**
 * What three replicas take with acks=all, against the physical limit, in alternation: as many
 * threads as replicas writing the same batches without knowing of each other. With the processor's
 * time per payload.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type {
  Compression,
  ThroughputOptions,
  ThroughputResult,
  ThroughputRound,
} from '../../src/lab/result.ts'
import { SeededRandom } from '../../src/lab/statistics-random.ts'
import { studyThroughput } from '../../src/lab/throughput-study.ts'
import { type Finding, findingOf, ratioOf, type Trial } from '../trial.ts'

interface ThroughputCase {
  readonly what: string
  readonly partitions: number
  readonly recordBytes: number
  readonly batchBytes: number
  readonly unit: 'MB/s' | 'M records/s' | 'k batches/s'
  readonly compression?: Compression
  readonly isLong?: boolean
}

export const throughputCases: Record<string, ThroughputCase> = {
  '16k-100': kibibytes(16, 100),
  '16k-1000': { ...kibibytes(16, 1_000), isLong: true },
  '64k-100': { ...kibibytes(64, 100), isLong: true },
  '64k-1000': { ...kibibytes(64, 1_000), isLong: true },
  'small-records': {
    what: '100 B records, 16 KiB batches, 1,000 partitions',
    partitions: 1_000,
    recordBytes: 100,
    batchBytes: 16 * 1024,
    unit: 'M records/s',
  },
  'single-records': {
    what: 'one record of 1 KiB a batch, 1,000 partitions',
    partitions: 1_000,
    recordBytes: 1024,
    batchBytes: 1_280,
    unit: 'k batches/s',
    isLong: true,
  },
  lz4: {
    what: 'JSON lines, LZ4, 64 KiB batches, 100 partitions',
    partitions: 100,
    recordBytes: 1024,
    batchBytes: 64 * 1024,
    unit: 'MB/s',
    compression: 'lz4',
    isLong: true,
  },
}

function kibibytes(batchKiB: number, partitions: number): ThroughputCase {
  return {
    what: `1 KiB records, ${batchKiB} KiB batches, ${partitions.toLocaleString('en')} partitions`,
    partitions,
    recordBytes: 1024,
    batchBytes: batchKiB * 1024,
    unit: 'MB/s',
  }
}

export function throughputTrial(sizes: ThroughputCase): Trial {
  return async ({ full, progress }) => {
    const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
    try {
      const input = sizes.compression === undefined ? null : jsonLines(directory)
      const pairs = full ? 7 : 3
      const options = {
        ...throughputOptions(sizes, input),
        durationMs: pairs * (full ? 1_500 : 500),
        maxBytes: (pairs + 1) * (full ? 600e6 : 150e6),
      }
      const plan = { pairs, warmUpMs: full ? 1_500 : 500, endToEnd: false }
      const { signal } = new AbortController()
      const result = await studyThroughput(options, progress, signal, plan)
      if (result.records.verified !== result.records.acknowledged) {
        throw new Error(`${sizes.what}: ${JSON.stringify(result.records)}`)
      }
      return findings(sizes, result)
    } finally {
      rmSync(directory, { recursive: true })
    }
  }
}

/** Of one leader with acks=all, closed loop, the limit beside it. */
export function throughputOptions(
  sizes: Pick<ThroughputCase, 'partitions' | 'recordBytes' | 'batchBytes' | 'compression'>,
  input: string | null,
): ThroughputOptions {
  return {
    brokers: 3,
    replicationFactor: 3,
    partitions: sizes.partitions,
    leaders: 'one',
    acks: 'all',
    recordBytes: sizes.recordBytes,
    batchBytes: sizes.batchBytes,
    compression: sizes.compression ?? 'none',
    input,
    flush: { kind: 'os' },
    dir: null,
    seed: 1,
    json: false,
    durationMs: 1_000,
    maxBytes: 1e9,
    producers: 1,
    limit: true,
    rateBytesPerSec: 'max',
  }
}

function findings({ what, unit }: ThroughputCase, result: ThroughputResult): Finding[] {
  const { rounds, bytesPerSec } = result
  const limit = `${what}, limit`
  const rate = (round: (typeof rounds)[number], bytes: number): number => {
    if (unit === 'MB/s') return bytes / 1e6
    const records = (round.recordsPerSec * bytes) / round.bytesPerSec
    return unit === 'M records/s' ? records / 1e6 : records / 1e3
  }
  const ours = rounds.map((round) => rate(round, round.bytesPerSec))
  const limits = rounds.map((round) => rate(round, round.limitBytesPerSec!))
  const rateNote = unit === 'MB/s' ? undefined : `${(bytesPerSec / 1e6).toFixed(0)} MB/s`
  return [
    findingOf(limit, unit, limits),
    { ...findingOf(what, unit, ours, rateNote), ratio: ratioOf(limit, ours, limits) },
    findingOf(`${what}, CPU`, 's/GB', rounds.map(cpuSecPerGigabyte)),
  ]
}

/** Processor time of all threads, for a gigabyte of payload. */
export function cpuSecPerGigabyte({ cpu, bytesPerSec, elapsedMs }: ThroughputRound): number {
  const gigabytes = (bytesPerSec * elapsedMs) / 1e12
  return (cpu.userMs + cpu.systemMs) / 1000 / gigabytes
}

const words = 'info warn order user cart item login query cache miss hit region west east'.split(
  ' ',
)

/** As applications log them: the same fields again and again, other values. */
function jsonLines(directory: string): string {
  const random = new SeededRandom(1)
  const word = (): string => words[random.nextBelow(words.length)]!
  const lines = Array.from({ length: 20_000 }, (_, at) => {
    return JSON.stringify({
      timestamp: new Date(1.7e12 + at * 37).toISOString(),
      level: word(),
      service: `${word()}-${word()}`,
      requestId: random.nextUint32().toString(16).padStart(8, '0'),
      userId: random.nextBelow(1_000_000),
      message: `${word()} ${word()} took ${random.nextBelow(5_000)} ms`,
      tags: [word(), word()],
    })
  })
  const file = join(directory, 'lines.json')
  writeFileSync(file, `${lines.join('\n')}\n`)
  return file
}
