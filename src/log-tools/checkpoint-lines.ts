/**
 * Kafka's text checkpoints with the place of each line, so that a fault has a position (Kafka:
 * `CheckpointFile`).
 */
import { nonNegativeInteger } from '../log/checkpoint-file.ts'
import { topicNameFault } from '../log/topic-name.ts'
import type { Expectation } from './fault-text.ts'

export interface CheckpointLine {
  /** Byte of the file at which the line begins. */
  readonly position: number
  readonly text: string
}

export interface CheckpointFault extends Expectation {
  readonly position: number
}

/** Entries before the first fault; a checkpoint has one fault at most, as nothing follows it. */
export interface Checkpoint<T> {
  readonly entries: readonly T[]
  readonly fault: CheckpointFault | undefined
}

export interface EpochEntry {
  readonly position: number
  readonly leaderEpoch: number
  readonly startOffset: number
}

export interface OffsetEntry {
  readonly position: number
  readonly topic: string
  readonly partition: number
  readonly offset: number
}

const version = '0'

export function parseEpochCheckpoint(bytes: Uint8Array): Checkpoint<EpochEntry> {
  return parseCheckpoint(bytes, "'EPOCH OFFSET'", ({ text, position }) => {
    const [epoch, start, ...more] = text.split(' ')
    const leaderEpoch = canonicalInteger(epoch)
    const startOffset = canonicalInteger(start)
    if (leaderEpoch === undefined || startOffset === undefined || more.length > 0) return undefined
    return { position, leaderEpoch, startOffset }
  })
}

export function parseOffsetCheckpoint(bytes: Uint8Array): Checkpoint<OffsetEntry> {
  return parseCheckpoint(bytes, "'TOPIC PARTITION OFFSET'", ({ text, position }) => {
    const [topic, partitionText, offsetText, ...more] = text.split(' ')
    const partition = canonicalInteger(partitionText)
    const offset = canonicalInteger(offsetText)
    if (topicNameFault(topic) !== undefined || more.length > 0) return undefined
    if (partition === undefined || offset === undefined) return undefined
    return { position, topic, partition, offset }
  })
}

/** An empty file has no entries, and no fault: the power went before its bytes were on disk. */
function parseCheckpoint<T>(
  bytes: Uint8Array,
  form: string,
  parse: (line: CheckpointLine) => T | undefined,
): Checkpoint<T> {
  const entries: T[] = []
  if (bytes.length === 0) return { entries, fault: undefined }
  const lines = linesOf(bytes)
  const faulty = (index: number, expected: string): Checkpoint<T> => {
    const { position, text } = lines[index] ?? { position: bytes.length, text: '' }
    return { entries, fault: { position, expected, found: quoted(text, index < lines.length) } }
  }
  if (lines[0]?.text !== version) return faulty(0, `version '${version}'`)
  const count = canonicalInteger(lines[1]?.text)
  if (count === undefined) return faulty(1, 'the number of entries')
  for (let index = 2; index < lines.length; index += 1) {
    if (entries.length === count) return faulty(index, `${count} entries as stated`)
    const entry = parse(lines[index])
    if (entry === undefined) return faulty(index, form)
    entries.push(entry)
  }
  if (entries.length < count) return faulty(lines.length, `${count} entries as stated`)
  if (bytes.at(-1) !== 0x0a) return faulty(lines.length, 'a line feed at the end')
  return { entries, fault: undefined }
}

/** Bytes beyond ASCII come out as characters that no entry has. */
function linesOf(bytes: Uint8Array): CheckpointLine[] {
  const lines: CheckpointLine[] = []
  let position = 0
  const text = Buffer.from(bytes).toString('latin1')
  for (const line of text.split('\n')) {
    lines.push({ position, text: line })
    position += line.length + 1
  }
  if (lines.at(-1)?.text === '') lines.pop()
  return lines
}

/** As its writer has it: without leading zeros, so that no two texts mean the same. */
function canonicalInteger(text: string | undefined): number | undefined {
  const value = text === undefined ? undefined : nonNegativeInteger(text)
  return value !== undefined && String(value) === text ? value : undefined
}

function quoted(text: string, present: boolean): string {
  return present ? JSON.stringify(text.slice(0, 80)) : 'the end'
}
