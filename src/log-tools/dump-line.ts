/** What `dump` says about a file, one object a line. Names are those of Kafka's own dump tool. */
import type { FileKind } from './file-kind.ts'

/** Bytes that aren't text are given in base64. */
export type DumpedBytes = string | { readonly base64: string } | null

export interface DumpedHeader {
  readonly key: string
  readonly value: DumpedBytes
}

export interface FileLine {
  readonly type: 'file'
  readonly file: string
  readonly kind: FileKind
  readonly baseOffset: number
  readonly bytes: number
}

export interface BatchLine {
  readonly type: 'batch'
  readonly baseOffset: number
  readonly lastOffset: number
  /** null: a compressed message of magic 0 or 1, whose header doesn't tell. */
  readonly count: number | null
  readonly baseSequence: number
  readonly lastSequence: number
  readonly producerId: number
  readonly producerEpoch: number
  readonly partitionLeaderEpoch: number
  readonly isTransactional: boolean
  readonly isControl: boolean
  readonly deleteHorizonMs: number | null
  readonly position: number
  readonly timestampType: 'CreateTime' | 'LogAppendTime' | 'NoTimestampType'
  /** The largest of the batch. */
  readonly timestamp: number
  readonly size: number
  readonly magic: number
  readonly compresscodec: string
  readonly crc: number
  readonly isvalid: boolean
  /** Only of a batch that is not valid. */
  readonly expected?: string
  readonly found?: string
}

export interface RecordLine {
  readonly type: 'record'
  readonly offset: number
  readonly timestamp: number
  /** -1: none. */
  readonly sequence: number
  readonly headers: readonly DumpedHeader[]
  readonly key: DumpedBytes
  readonly value: DumpedBytes
  /** Of control batches: what the record says to the log. */
  readonly control?: ControlRecord
  /** Of the metadata log: the record's kind and fields. */
  readonly metadata?: { readonly type: string; readonly data: object }
}

export interface ControlRecord {
  readonly type: string
  /** Only of the end of a transaction. */
  readonly coordinatorEpoch?: number
}

/** An entry of an index, a snapshot, a checkpoint or a file of properties. */
export interface EntryLine {
  readonly type: 'entry'
  readonly [name: string]: string | number
}

export interface EndLine {
  readonly type: 'end'
  readonly file: string
  /** Up to here the file is whole, and was printed. */
  readonly position: number
  readonly bytes: number
  readonly complete: boolean
  /** Only where it isn't complete, or has batches that aren't valid. */
  readonly expected?: string
  readonly found?: string
}

export type DumpLine = FileLine | BatchLine | RecordLine | EntryLine | EndLine
