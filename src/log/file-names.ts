/** Names of the files in a partition's directory (Kafka: `LogFileUtils`). */
import path from 'node:path'

export const logSuffix = '.log'
export const offsetIndexSuffix = '.index'
export const timeIndexSuffix = '.timeindex'
export const transactionIndexSuffix = '.txnindex'
export const producerSnapshotSuffix = '.snapshot'
export const leaderEpochFileName = 'leader-epoch-checkpoint'
export const partitionMetadataFileName = 'partition.metadata'

/** Of a segment's files beside its data. */
export const companionSuffixes = [
  producerSnapshotSuffix,
  transactionIndexSuffix,
  timeIndexSuffix,
  offsetIndexSuffix,
] as const
/** Of all files of a segment, the data last. */
export const segmentSuffixes = [...companionSuffixes, logSuffix] as const

/** Behind a name of before: no longer part of the log, and removed after a while. */
export const deletedSuffix = '.deleted'
/** What a compaction is writing. */
export const cleanedSuffix = '.cleaned'
/** Complete, and about to replace others. */
export const swapSuffix = '.swap'

const offsetDigits = 20
const baseName = /^\d{20}$/

/** `00000000000000000042.log` for 42. */
export function segmentFileName(baseOffset: number, suffix: string): string {
  return String(baseOffset).padStart(offsetDigits, '0') + suffix
}

export function segmentPath(directory: string, baseOffset: number, suffix: string): string {
  return path.join(directory, segmentFileName(baseOffset, suffix))
}

/** Base offset in a file's name; undefined for other names and numbers beyond 2^53 - 1. */
export function baseOffsetOfName(name: string, suffix: string): number | undefined {
  if (!name.endsWith(suffix)) return undefined
  const digits = name.slice(0, -suffix.length)
  if (!baseName.test(digits)) return undefined
  const offset = Number(digits)
  return Number.isSafeInteger(offset) ? offset : undefined
}

/** Base offsets of the segments among `names`, ascending. */
export function segmentBases(names: readonly string[]): number[] {
  const bases: number[] = []
  for (const name of names) {
    const base = baseOffsetOfName(name, logSuffix)
    if (base !== undefined) bases.push(base)
  }
  return bases.sort((a, b) => a - b)
}
