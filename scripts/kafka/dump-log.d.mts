export interface DumpedRecord {
  offset: number
  CreateTime: number
  headerKeys: string[]
  key: string | null
  payload: string | null
}

export interface DumpedBatch {
  baseOffset: number
  lastOffset: number
  count: number
  partitionLeaderEpoch: number
  producerId: number
  producerEpoch: number
  baseSequence: number
  lastSequence: number
  isTransactional: boolean
  isControl: boolean
  position: number
  CreateTime: number
  size: number
  magic: number
  compresscodec: string
  crc: number
  isvalid: boolean
  records: DumpedRecord[]
}

export interface Dump {
  dumps: { file: string; batches: DumpedBatch[] }[]
  complaints: string[]
}

export function dumpLogs(files: string[], show?: 'batches' | 'records' | 'metadata'): Dump
export function parseDump(text: string): Dump
