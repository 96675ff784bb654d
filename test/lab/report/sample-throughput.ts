import type { ThroughputResult } from '../../../src/lab/result.ts'
import { sampleScenario } from './sample-result.ts'

/** A made-up throughput run: small records, three replicas. */
export function sampleThroughput(changes: Partial<ThroughputResult> = {}): ThroughputResult {
  const { brokers, replicationFactor, partitions, leaders, acks, machine } = sampleScenario
  return {
    schemaVersion: 1,
    scenario: {
      brokers,
      replicationFactor,
      partitions,
      leaders,
      acks,
      machine,
      recordBytes: 100,
      batchBytes: 16_384,
      compression: 'none',
      input: null,
      flush: { kind: 'os' },
      dir: null,
      seed: 42,
      json: false,
      durationMs: 5_000,
      maxBytes: 2e9,
      producers: 1,
      limit: true,
      rateBytesPerSec: 'max',
    },
    interrupted: false,
    durationMs: 5_004,
    recordsPerSec: 3_912_004,
    bytesPerSec: 391_200_400,
    ackMs: { p50: 6.1, p99: 14.8, p999: 22.3, max: 31.9 },
    endToEndMs: { p50: 6.4, p99: 15.9, p999: 24, max: 33 },
    limit: { bytesPerSec: 560e6, pairs: 6 },
    ratioToLimit: 0.6986,
    rounds: [
      {
        elapsedMs: 5_004,
        recordsPerSec: 3_912_004,
        bytesPerSec: 391_200_400,
        limitBytesPerSec: 560e6,
        ackMs: { p50: 6.1, p99: 14.8, p999: 22.3, max: 31.9 },
        cpu: { userMs: 7_900, systemMs: 1_700 },
      },
    ],
    cpu: { userMs: 7_900, systemMs: 1_700 },
    memory: { rssBytes: 412e6, sharedBytes: 201e6 },
    records: {
      produced: 19_575_668,
      acknowledged: 19_575_668,
      verified: 19_575_668,
      lost: 0,
    },
    ...changes,
  }
}
