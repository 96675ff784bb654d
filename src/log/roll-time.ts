/**
 * How old a segment may become before the next record goes to a new one (Kafka:
 * `LogConfig.maxSegmentMs`, `LogConfig.randomSegmentJitter`).
 */
import path from 'node:path'
import type { LogConfig } from './log-config.ts'

type RollTimes = Pick<
  LogConfig,
  'segmentMs' | 'segmentJitterMs' | 'compacts' | 'maxCompactionLagMs'
>

/**
 * Of a compacted log also the compaction waits for no longer than it may. The jitter is not by
 * chance but by partition and place, so that all replicas roll at the same batches.
 */
export function maxSegmentMs(config: RollTimes, directory: string, baseOffset: number): number {
  const { segmentMs, segmentJitterMs, compacts, maxCompactionLagMs } = config
  const wholeMs = compacts ? Math.min(segmentMs, maxCompactionLagMs) : segmentMs
  if (segmentJitterMs === 0) return wholeMs
  const spreadMs = Math.min(segmentJitterMs, wholeMs)
  return wholeMs - (hashOf(`${path.basename(directory)} ${baseOffset}`) % spreadMs)
}

/** FNV-1a of 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c_9dc5
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193)
  }
  return hash >>> 0
}
