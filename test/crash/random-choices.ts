/** What a seed decides of a log's life beside its steps, and how steps are picked. */

import type { SeededRandom } from '../../src/lab/statistics-random.ts'
import { type LogConfig, logConfigDefaults } from '../../src/log/log-config.ts'
import type { FaultyFileSystem } from '../support/faulty-file-system.ts'

const flushes = [
  { kind: 'os' },
  { kind: 'batch' },
  { kind: 'interval', ms: 100 },
] as const satisfies readonly LogConfig['flush'][]

/** Small in every measure, so that rolls and index entries happen. */
export function randomLogConfig(random: SeededRandom): LogConfig {
  return {
    ...logConfigDefaults,
    segmentBytes: 500 + random.nextBelow(2_000),
    segmentMs: random.nextBelow(3) === 0 ? 300 : logConfigDefaults.segmentMs,
    indexIntervalBytes: random.nextBelow(300),
    segmentIndexBytes: random.nextBelow(3) === 0 ? 48 : logConfigDefaults.segmentIndexBytes,
    retentionBytes: random.nextBelow(3) === 0 ? random.nextBelow(4_000) : -1,
    retentionMs: random.nextBelow(3) === 0 ? 200 : logConfigDefaults.retentionMs,
    fileDeleteDelayMs: 100,
    flush: flushes[random.nextBelow(flushes.length)]!,
  }
}

export type Weighted<T> = readonly [weight: number, choice: T]

export function pickWeighted<T>(choices: readonly Weighted<T>[], random: SeededRandom): T {
  let at = random.nextBelow(choices.reduce((sum, [weight]) => sum + weight, 0))
  for (const [weight, choice] of choices) {
    at -= weight
    if (at < 0) return choice
  }
  return choices[0]![1]
}

/** What will go wrong next; returns what it is about. */
export function armFault(fs: FaultyFileSystem, random: SeededRandom): string {
  const kind = random.nextBelow(4)
  if (kind <= 1) fs.callsToPowerCut = random.nextBelow(25)
  else if (kind === 2) fs.roomBytes = random.nextBelow(1_500)
  else fs.goodSyncs = random.nextBelow(4)
  return ['power', 'power', 'room', 'sync'][kind]!
}
