/** What a file is by its name, as Apache Kafka names them. */
import path from 'node:path'
import {
  baseOffsetOfName,
  leaderEpochFileName,
  logSuffix,
  offsetIndexSuffix,
  partitionMetadataFileName,
  producerSnapshotSuffix,
  timeIndexSuffix,
  transactionIndexSuffix,
} from '../log/file-names.ts'

export type FileKind =
  | 'segment'
  | 'offset-index'
  | 'time-index'
  | 'transaction-index'
  | 'producer-snapshot'
  | 'leader-epochs'
  | 'offset-checkpoint'
  | 'partition-metadata'
  | 'meta-properties'

export interface KnownFile {
  readonly kind: FileKind
  /** Offset in the file's name; 0 for those without. */
  readonly baseOffset: number
}

export const metaPropertiesFileName = 'meta.properties'
export const offsetCheckpointFileNames = {
  recoveryPoint: 'recovery-point-offset-checkpoint',
  logStartOffset: 'log-start-offset-checkpoint',
  highWatermark: 'replication-offset-checkpoint',
  cleaned: 'cleaner-offset-checkpoint',
} as const

const kindBySuffix: readonly (readonly [string, FileKind])[] = [
  [logSuffix, 'segment'],
  [offsetIndexSuffix, 'offset-index'],
  [timeIndexSuffix, 'time-index'],
  [transactionIndexSuffix, 'transaction-index'],
  [producerSnapshotSuffix, 'producer-snapshot'],
]

const kindByName = new Map<string, FileKind>([
  [leaderEpochFileName, 'leader-epochs'],
  [partitionMetadataFileName, 'partition-metadata'],
  [metaPropertiesFileName, 'meta-properties'],
  ...Object.values(offsetCheckpointFileNames).map((name) => [name, 'offset-checkpoint'] as const),
])

/** A snapshot of KRaft's metadata: end offset and epoch; its bytes are those of a segment. */
const metadataSnapshot = /^(?<offset>\d{20})-\d{10}\.checkpoint$/
/** Of files about to replace others, or to be removed. */
const passingSuffix = /\.(deleted|cleaned|swap)$/

/** undefined: none of Kafka's. */
export function fileKindOf(file: string): KnownFile | undefined {
  const name = path.basename(file).replace(passingSuffix, '')
  const kind = kindByName.get(name)
  if (kind !== undefined) return { kind, baseOffset: 0 }
  const snapshot = metadataSnapshot.exec(name)
  if (snapshot !== null) return { kind: 'segment', baseOffset: Number(snapshot.groups!.offset) }
  for (const [suffix, suffixKind] of kindBySuffix) {
    const baseOffset = baseOffsetOfName(name, suffix)
    if (baseOffset !== undefined) return { kind: suffixKind, baseOffset }
  }
  return undefined
}

/** Whether the segment's records are those of KRaft's metadata. */
export function holdsMetadata(file: string): boolean {
  const folder = path.basename(path.dirname(path.resolve(file)))
  return folder === '__cluster_metadata-0' || metadataSnapshot.test(path.basename(file))
}
