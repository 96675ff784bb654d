/** Checkpoints and files of properties as lines. */
import {
  type CheckpointFault,
  parseEpochCheckpoint,
  parseOffsetCheckpoint,
} from './checkpoint-lines.ts'
import type { EntryLine } from './dump-line.ts'
import type { FileKind } from './file-kind.ts'

export interface TextEnd {
  readonly position: number
  readonly fault: CheckpointFault | undefined
}

export function* dumpTextFile(kind: FileKind, bytes: Uint8Array): Generator<EntryLine, TextEnd> {
  if (kind === 'leader-epochs') {
    const { entries, fault } = parseEpochCheckpoint(bytes)
    for (const { leaderEpoch, startOffset } of entries) {
      yield { type: 'entry', leaderEpoch, startOffset }
    }
    return { position: fault?.position ?? bytes.length, fault }
  }
  if (kind === 'offset-checkpoint') {
    const { entries, fault } = parseOffsetCheckpoint(bytes)
    for (const { topic, partition, offset } of entries) {
      yield { type: 'entry', topic, partition, offset }
    }
    return { position: fault?.position ?? bytes.length, fault }
  }
  yield* properties(Buffer.from(bytes).toString('utf8'), kind === 'meta-properties' ? '=' : ': ')
  return { position: bytes.length, fault: undefined }
}

function* properties(text: string, separator: string): Generator<EntryLine> {
  for (const line of text.split(/\r?\n/)) {
    const at = line.indexOf(separator)
    if (line.startsWith('#') || at <= 0) continue
    yield { type: 'entry', key: line.slice(0, at), value: line.slice(at + separator.length) }
  }
}
