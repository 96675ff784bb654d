/**
 * Layout of the ProgressBoard: which word of the shared memory says what, and who writes it. One
 * writer a word.
 *
 *   a broker            writer          meaning
 *     doorbell, parked  anyone, owner   see doorbell.ts
 *     control           supervisor      run, pause, stop
 *     state             owner; the supervisor when its thread has ended
 *     brokerEpoch       owner           incarnation, -1 before it is registered
 *     logStartChanges   owner           counts how often a log start offset has moved
 *     pollSequence      owner           odd while a poll's words change, else even
 *     pollTimeUs        owner           end of the last poll, µs since the board's origin
 *     throttleBytesPerSec, catchUpBytesPerSec   supervisor   0: no limit
 *     commands          supervisor      counts commands that it has posted to the thread
 *     controllerCut     supervisor      `cut`: what doesn't pass between broker and controller
 *     clockOffsetMs     supervisor      how far the broker's wall clock is off
 *     diskDelayUs, diskBytesPerSec      supervisor   what a write costs besides; 0: nothing
 *     counters          owner           see `brokerCounters`
 *   a follower at a leader (rows leader × follower)
 *     reader state      both (CAS)      detached, idle, reading, attach requested
 *     cursor            follower; the leader while it attaches it
 *     cut               supervisor      `cut`: which way nothing passes between the two
 *     reports           follower        ring of (partition, logEndOffset): what came from disk
 *   a partition at a broker
 *     logEndOffset, highWatermark, logStartOffset   that broker
 *     ledEpoch          that broker     leader epoch in which it leads, -1: does not
 *     followedEpoch     that broker     leader epoch its log is reconciled with, -1: not yet
 *   a partition
 *     leader, leaderEpoch               controller: where clients send to
 */
import { cacheLineWords, roundToCacheLine, sharedNumberWords } from './shared-words.ts'

/** Counters of one broker, 64-bit, written by it alone and read by whoever reports. */
export const brokerCounters = [
  'appendedBytes',
  'appendedBatches',
  'appendedRecords',
  'ringBytes',
  'diskReadBytes',
  'diskReads',
  'copiedBytes',
  'detaches',
  'attaches',
  'isrShrinks',
  'isrExpands',
  'failedIsrUpdates',
  'highWatermarkAdvances',
  'rejectedBatches',
  'steps',
  'payloadCopyBytes',
  'alterPartitionRequests',
  'writes',
  'writeUs',
  'acksExpired',
  // As of now, not since the start:
  'acksWaiting',
  'leaderCount',
  'underReplicated',
  'underMinInSync',
  'atMinInSync',
] as const

export type BrokerCounter = (typeof brokerCounters)[number]

export const counterIndex = Object.fromEntries(
  brokerCounters.map((name, index) => [name, index]),
) as Record<BrokerCounter, number>

export const brokerWord = {
  doorbell: 0,
  control: cacheLineWords,
  throttle: cacheLineWords + 1,
  catchUpLimit: cacheLineWords + 1 + sharedNumberWords,
  state: 2 * cacheLineWords,
  brokerEpoch: 2 * cacheLineWords + 1,
  logStartChanges: 2 * cacheLineWords + 2,
  pollSequence: 3 * cacheLineWords,
  pollTime: 3 * cacheLineWords + 1,
  commands: 4 * cacheLineWords,
  controllerCut: 4 * cacheLineWords + 1,
  clockOffsetMs: 4 * cacheLineWords + 2,
  diskDelayUs: 4 * cacheLineWords + 3,
  diskBytesPerSec: 4 * cacheLineWords + 4,
  counters: 5 * cacheLineWords,
} as const

export const brokerWords = roundToCacheLine(
  brokerWord.counters + brokerCounters.length * sharedNumberWords,
)

export const reportsCapacity = 4_096
export const reportWords = 1 + sharedNumberWords
export const readerWord = {
  state: 0,
  cursor: 1,
  cut: 2,
  reportsHead: cacheLineWords,
  reportsTail: 2 * cacheLineWords,
  reports: 3 * cacheLineWords,
} as const
export const readerWords = roundToCacheLine(readerWord.reports + reportsCapacity * reportWords)

export const partitionWord = {
  logEndOffset: 0,
  highWatermark: 3,
  ledEpoch: 6,
  followedEpoch: 7,
  logStartOffset: 8,
} as const
export const partitionWords = 11
export const routeWords = 2

export interface ProgressBoardShape {
  readonly brokers: number
  readonly partitionsMax: number
  readonly clients: number
}

export interface ProgressBoardBuffers {
  readonly shape: ProgressBoardShape
  readonly buffer: SharedArrayBuffer
  /** What `pollTimeUs` counts from, ms since 1970. */
  readonly originMs: number
}

/** Indexes of the first word of each part. */
export interface Sections {
  readonly brokers: number
  readonly readers: number
  readonly partitions: number
  readonly routes: number
  readonly clients: number
  readonly totalWords: number
}

export function sectionsOf(shape: ProgressBoardShape): Sections {
  const brokers = 0
  const readers = brokers + shape.brokers * brokerWords
  const partitions = readers + shape.brokers * shape.brokers * readerWords
  const routes = partitions + roundToCacheLine(shape.brokers * shape.partitionsMax * partitionWords)
  const clients = routes + roundToCacheLine(shape.partitionsMax * routeWords)
  const totalWords = clients + shape.clients * cacheLineWords
  return { brokers, readers, partitions, routes, clients, totalWords }
}

export function allocateProgressBoard(
  shape: ProgressBoardShape,
  originMs: number,
): ProgressBoardBuffers {
  const { totalWords, partitions, routes, clients } = sectionsOf(shape)
  const buffer = new SharedArrayBuffer(totalWords * 4)
  const words = new Int32Array(buffer)
  for (let row = 0; row < shape.brokers * shape.partitionsMax; row++) {
    const first = partitions + row * partitionWords
    words[first + partitionWord.ledEpoch] = -1
    words[first + partitionWord.followedEpoch] = -1
  }
  words.fill(-1, routes, clients)
  for (let broker = 0; broker < shape.brokers; broker++)
    words[broker * brokerWords + brokerWord.brokerEpoch] = -1
  return { shape, buffer, originMs }
}
