/** The lines of `dump` for people: batches and records as Kafka's own dump tool prints them. */
import type {
  BatchLine,
  DumpedBytes,
  DumpedHeader,
  DumpLine,
  EndLine,
  EntryLine,
  FileLine,
  RecordLine,
} from './dump-line.ts'

/** Those that JSON leaves as they are, and a terminal doesn't. */
const terminalControls = /[\u007f-\u009f]/g

/** Without a line feed at the end. */
export function dumpText(line: DumpLine): string {
  switch (line.type) {
    case 'file':
      return fileText(line)
    case 'batch':
      return batchText(line)
    case 'record':
      return recordText(line)
    case 'entry':
      return entryText(line)
    case 'end':
      return endText(line)
  }
}

function fileText({ file, kind, baseOffset, bytes }: FileLine): string {
  const hasBase = kind === 'segment' || kind.endsWith('index') || kind === 'producer-snapshot'
  const base = hasBase ? `, offset ${baseOffset}` : ''
  return `${file}: ${kind.replace('-', ' ')}${base}, ${bytes} bytes`
}

function batchText(line: BatchLine): string {
  const { timestampType, timestamp, size, magic, compresscodec, crc, isvalid, position } = line
  const tail = `position: ${position} ${timestampType}: ${timestamp} size: ${size} magic: ${magic} compresscodec: ${compresscodec} crc: ${crc} isvalid: ${isvalid}`
  const fault = isvalid ? '' : `  ! expected ${line.expected}, found ${line.found}`
  if (magic < 2) return `offset: ${line.lastOffset} ${tail}${fault}`
  const producer = `baseSequence: ${line.baseSequence} lastSequence: ${line.lastSequence} producerId: ${line.producerId} producerEpoch: ${line.producerEpoch}`
  const flags = `isTransactional: ${line.isTransactional} isControl: ${line.isControl} deleteHorizonMs: ${line.deleteHorizonMs ?? 'none'}`
  return `baseOffset: ${line.baseOffset} lastOffset: ${line.lastOffset} count: ${line.count} ${producer} partitionLeaderEpoch: ${line.partitionLeaderEpoch} ${flags} ${tail}${fault}`
}

function recordText(line: RecordLine): string {
  const { offset, timestamp, sequence, key, value, control, metadata } = line
  const parts = [`| offset: ${offset} timestamp: ${timestamp}`]
  if (sequence >= 0) parts.push(`sequence: ${sequence}`)
  if (line.headers.length > 0) parts.push(`headers: [${line.headers.map(headerText).join(', ')}]`)
  if (control !== undefined) {
    const { type, coordinatorEpoch } = control
    const epoch = coordinatorEpoch === undefined ? '' : ` coordinatorEpoch: ${coordinatorEpoch}`
    parts.push(`${type}${epoch}`)
  } else if (metadata !== undefined) {
    parts.push(`${metadata.type} ${JSON.stringify(metadata.data)}`)
  } else {
    parts.push(`key: ${bytesText(key)} value: ${bytesText(value)}`)
  }
  return parts.join(' ')
}

function headerText({ key, value }: DumpedHeader): string {
  return `${JSON.stringify(key)}: ${bytesText(value)}`
}

/** Quoted, so that no payload can pass for a line of ours. */
function bytesText(bytes: DumpedBytes): string {
  if (bytes === null) return 'null'
  if (typeof bytes !== 'string') return `base64:${bytes.base64}`
  return JSON.stringify(bytes).replace(terminalControls, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

function entryText({ type: _, ...entry }: EntryLine): string {
  if ('key' in entry) return `${entry.key}: ${entry.value}`
  return Object.entries(entry)
    .map(([name, value]) => `${name}: ${value}`)
    .join(' ')
}

function endText({ complete, position, bytes, expected, found }: EndLine): string {
  if (complete) return `whole: ${bytes} bytes`
  const where = position === bytes ? `read to the end, ${bytes} bytes` : `stopped at ${position}`
  return `NOT WHOLE: ${where} of ${bytes}: expected ${expected}, found ${found}`
}
