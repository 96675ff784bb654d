/**
 * Verification: everything acknowledged is read back from the leader's files and compared with what
 * was sent, and every replica with the leader. Compared is the batch: its base offset, size, record
 * count and CRC-32C, worked out anew from the bytes on disk; the CRC covers all records with their
 * timestamps.
 *
 * What is in a log and was not acknowledged must be a batch whose outcome was unknown; everything
 * else found there would be a duplicate or an invention.
 */
import path from 'node:path'
import { isTidemarkError } from '../errors.ts'
import type { PartitionIndex } from '../ids.ts'
import {
  baseOffsetAt,
  batchPositions,
  checkBatch,
  leaderEpochAt,
  nextOffsetAt,
  recordCountAt,
  sizeInBytesAt,
} from '../log/batch-header.ts'
import { batchField } from '../log/batch-layout.ts'
import { batchMemory } from '../log/batch-memory.ts'
import { SegmentReader } from '../log/segment-reader.ts'
import { LoadLedger, type LoadLedgerBuffers, ledgerStatus } from './load-ledger.ts'

export interface PartitionToVerify {
  readonly index: PartitionIndex
  readonly topic: string
  readonly partition: number
  /** The leader's first. */
  readonly replicas: readonly ReplicaToVerify[]
  /** Committed end; acknowledged batches lie below it. */
  readonly highWatermark: number
}

export interface ReplicaToVerify {
  /** Of its broker. */
  readonly directory: string
  /** Where retention has left off; must not move while files are read. */
  readonly logStartOffset: number
  readonly logEndOffset: number
}

export interface VerifyTask {
  readonly partitions: readonly PartitionToVerify[]
  readonly ledgers: readonly LoadLedgerBuffers[]
  /**
   * Whether the run acknowledged with acks=all: then acknowledged records must lie below the high
   * watermark.
   */
  readonly acksAll: boolean
}

export interface Verification {
  readonly acknowledgedRecords: number
  readonly verifiedRecords: number
  /** Acknowledged, and dropped by retention since. */
  readonly expiredRecords: number
  readonly lostRecords: number
  readonly duplicatedRecords: number
  /** Batches that differ between a replica and the leader, below the smaller end. */
  readonly replicaMismatches: number
  readonly bytesRead: number
  /** The first few faults in words. */
  readonly faults: readonly string[]
}

const readBytes = 4 * 1024 * 1024
const faultsMax = 10

/** Rows of the ledgers by partition. */
interface Expected {
  readonly ledger: LoadLedger
  readonly row: number
}

export function verify(task: VerifyTask): Verification {
  const ledgers = task.ledgers.map((buffers) => new LoadLedger(buffers))
  const verifier = new Verifier(task.acksAll)
  const rows = rowsByPartition(ledgers, new Set(task.partitions.map(({ index }) => index)))
  for (const partition of task.partitions) {
    verifier.verifyPartition(partition, rows.get(partition.index) ?? [])
  }
  return verifier.result()
}

function rowsByPartition(
  ledgers: readonly LoadLedger[],
  wanted: ReadonlySet<PartitionIndex>,
): Map<PartitionIndex, Expected[]> {
  const rows = new Map<PartitionIndex, Expected[]>()
  for (const ledger of ledgers) {
    for (let row = 0; row < ledger.count; row++) {
      const partition = ledger.partition[row] as PartitionIndex
      if (!wanted.has(partition)) continue
      const list = rows.get(partition)
      if (list === undefined) rows.set(partition, [{ ledger, row }])
      else list.push({ ledger, row })
    }
  }
  return rows
}

class Verifier {
  readonly #acksAll: boolean
  readonly #memory = batchMemory(new ArrayBuffer(readBytes))
  readonly #positions = new Int32Array(readBytes / 64)
  #acknowledged = 0
  #verified = 0
  #expired = 0
  #lost = 0
  #duplicated = 0
  #mismatches = 0
  #bytesRead = 0
  readonly #faults: string[] = []

  constructor(acksAll: boolean) {
    this.#acksAll = acksAll
  }

  result(): Verification {
    return {
      acknowledgedRecords: this.#acknowledged,
      verifiedRecords: this.#verified,
      expiredRecords: this.#expired,
      lostRecords: this.#lost,
      duplicatedRecords: this.#duplicated,
      replicaMismatches: this.#mismatches,
      bytesRead: this.#bytesRead,
      faults: this.#faults,
    }
  }

  verifyPartition(partition: PartitionToVerify, expected: readonly Expected[]): void {
    const [leader, ...followers] = partition.replicas
    const found = this.#readAll(partition, leader)
    this.#compareWithLedger(partition, expected, found)
    for (const follower of followers) {
      const copy = this.#readAll(partition, follower)
      this.#compareReplicas(partition, found, copy, {
        start: Math.max(leader.logStartOffset, follower.logStartOffset),
        end: Math.min(leader.logEndOffset, follower.logEndOffset),
      })
    }
  }

  #compareWithLedger(
    partition: PartitionToVerify,
    expected: readonly Expected[],
    found: ReadonlyMap<number, FoundBatch>,
  ): void {
    const explained = new Set<number>()
    const unknown = new Map<string, number>()
    for (const { ledger, row } of expected) {
      const status = ledger.status[row]
      const identity = identityOf(ledger.crc[row], ledger.batchBytes[row])
      if (status !== ledgerStatus.acknowledged) {
        if (status !== ledgerStatus.refused) unknown.set(identity, (unknown.get(identity) ?? 0) + 1)
        continue
      }
      const records = ledger.recordCount[row]
      const offset = ledger.baseOffset[row]
      const batch = found.get(offset)
      this.#acknowledged += records
      if (offset + records <= partition.replicas[0].logStartOffset) {
        this.#expired += records
        continue
      }
      const isBelow = !this.#acksAll || offset + records <= partition.highWatermark
      if (batch?.identity === identity && batch.records === records && isBelow) {
        this.#verified += records
        explained.add(offset)
      } else {
        this.#lost += records
        this.#fault(
          partition,
          `acknowledged batch at offset ${offset} of ${records} records: not there`,
        )
      }
    }
    for (const [offset, batch] of found) {
      if (explained.has(offset)) continue
      const left = unknown.get(batch.identity) ?? 0
      if (left > 0) {
        unknown.set(batch.identity, left - 1)
        continue
      }
      this.#duplicated += batch.records
      this.#fault(
        partition,
        `batch at offset ${offset} of ${batch.records} records: nobody sent it there`,
      )
    }
  }

  #compareReplicas(
    partition: PartitionToVerify,
    leader: ReadonlyMap<number, FoundBatch>,
    follower: ReadonlyMap<number, FoundBatch>,
    { start, end }: { readonly start: number; readonly end: number },
  ): void {
    for (const [offset, batch] of leader) {
      const other = follower.get(offset)
      const isSame = other?.identity === batch.identity && other.leaderEpoch === batch.leaderEpoch
      if (offset < start || offset >= end || isSame) continue
      this.#mismatches++
      this.#fault(partition, `batch at offset ${offset}: a replica has another`)
    }
  }

  #readAll(
    { topic, partition }: PartitionToVerify,
    { directory, logStartOffset, logEndOffset }: ReplicaToVerify,
  ): Map<number, FoundBatch> {
    const found = new Map<number, FoundBatch>()
    const reader = SegmentReader.open(path.join(directory, `${topic}-${partition}`))
    let offset = logStartOffset
    try {
      while (offset < logEndOffset) {
        const bytes = reader.read(offset, logEndOffset, readBytes, this.#memory, 0)
        const count = batchPositions(this.#memory, 0, bytes, this.#positions)
        const from = offset
        this.#bytesRead += bytes
        for (let at = 0; at < count; at++)
          offset = this.#note(found, this.#positions[at], bytes, offset)
        // Nothing whole, or offsets that go back: what was to come is as good as not there.
        if (offset <= from) break
      }
    } catch (error) {
      if (!isTidemarkError(error) || error.code === 'KAFKA_STORAGE_ERROR') throw error
      this.#fault({ topic, partition }, `nothing to be read at offset ${offset}: ${error.message}`)
    } finally {
      reader.close()
    }
    return found
  }

  /** @param end of the bytes that were read @returns the offset that must come next */
  #note(found: Map<number, FoundBatch>, position: number, end: number, offset: number): number {
    const memory = this.#memory
    const next = Math.max(offset, nextOffsetAt(memory, position))
    const baseOffset = baseOffsetAt(memory, position)
    // A batch that fails its CRC, or lies where others do, is as good as not there.
    const isThere = checkBatch(memory, position, end - position) === undefined
    if (!isThere || baseOffset < offset) return next
    const crc = memory.view.getInt32(position + batchField.crc)
    found.set(baseOffset, {
      identity: identityOf(crc, sizeInBytesAt(memory, position)),
      leaderEpoch: leaderEpochAt(memory, position),
      records: recordCountAt(memory, position),
    })
    return next
  }

  #fault({ topic, partition }: Pick<PartitionToVerify, 'topic' | 'partition'>, what: string): void {
    if (this.#faults.length < faultsMax) this.#faults.push(`${topic}-${partition}: ${what}`)
  }
}

interface FoundBatch {
  readonly identity: string
  readonly leaderEpoch: number
  readonly records: number
}

function identityOf(crc: number, bytes: number): string {
  return `${crc}:${bytes}`
}

export function mergeVerifications(parts: readonly Verification[]): Verification {
  const sum = (pick: (part: Verification) => number) =>
    parts.reduce((total, part) => total + pick(part), 0)
  return {
    acknowledgedRecords: sum((part) => part.acknowledgedRecords),
    verifiedRecords: sum((part) => part.verifiedRecords),
    expiredRecords: sum((part) => part.expiredRecords),
    lostRecords: sum((part) => part.lostRecords),
    duplicatedRecords: sum((part) => part.duplicatedRecords),
    replicaMismatches: sum((part) => part.replicaMismatches),
    bytesRead: sum((part) => part.bytesRead),
    faults: parts.flatMap((part) => part.faults).slice(0, faultsMax),
  }
}
