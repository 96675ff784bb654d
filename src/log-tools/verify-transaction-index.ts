/**
 * The index of aborted transactions against its segment: each entry names a producer's abort marker
 * and where that transaction began (Kafka: `TransactionIndex`).
 */

import {
  type TransactionIndexEntry,
  transactionIndexEntries,
  transactionIndexEntryBytes,
} from '../log/producers/transaction-index.ts'
import { controlTypeOf } from './dump-records.ts'
import { recordsOf, type WalkedBatch } from './segment-walk.ts'
import { checkEntryBytes } from './verify-offset-index.ts'
import type { VerifyReport } from './verify-report.ts'

interface AbortMarker {
  readonly producerId: number
  /** undefined: it began before the first batch that was read. */
  readonly firstOffset: number | undefined
}

const entryVersion = 0

/** Which transactions are open, from batch to batch, over all segments of a log. */
export class TransactionCheck {
  readonly #report: VerifyReport
  readonly #firstOffsets = new Map<number, number>()
  /** Of the segment at hand, by offset. */
  readonly #aborts = new Map<number, AbortMarker>()

  constructor(report: VerifyReport) {
    this.#report = report
  }

  /** A batch without faults. */
  see(batch: WalkedBatch): void {
    if (!batch.isTransactional) return
    const { producerId, baseOffset } = batch
    if (!batch.isControl) {
      if (!this.#firstOffsets.has(producerId)) this.#firstOffsets.set(producerId, baseOffset)
      return
    }
    for (const record of recordsOf(batch)) {
      if (controlTypeOf(record) === 'ABORT') {
        const firstOffset = this.#firstOffsets.get(producerId)
        this.#aborts.set(record.offset, { producerId, firstOffset })
      }
    }
    this.#firstOffsets.delete(producerId)
  }

  /** `bytes`: the segment's index, if it has one. `isWhole`: the segment was read to its end. */
  endSegment(file: string, bytes: Uint8Array | undefined, isWhole: boolean): void {
    if (bytes !== undefined) this.#checkIndex(file, bytes, isWhole)
    if (isWhole) this.#checkMissing(file, bytes ?? new Uint8Array(0))
    this.#aborts.clear()
  }

  #checkIndex(file: string, bytes: Uint8Array, isWhole: boolean): void {
    checkEntryBytes(
      this.#report,
      'transaction-index',
      file,
      bytes.length,
      transactionIndexEntryBytes,
    )
    for (const entry of transactionIndexEntries(bytes)) {
      this.#report.counts.indexEntries += 1
      const expected = this.#expectationOf(entry, isWhole)
      if (expected === undefined) continue
      const { version, producerId, firstOffset, lastOffset, lastStableOffset } = entry
      const found = `version ${version}, producer ${producerId}, offsets ${firstOffset} to ${lastOffset}, last stable offset ${lastStableOffset}`
      const place = { offset: lastOffset, position: entry.filePosition }
      this.#report.add('transaction-index', file, place, { expected, found })
    }
  }

  /** Of a transaction without a record here nobody has to know. */
  #checkMissing(file: string, bytes: Uint8Array): void {
    const known = new Set(transactionIndexEntries(bytes).map(({ lastOffset }) => lastOffset))
    for (const [offset, { producerId, firstOffset }] of this.#aborts) {
      if (firstOffset === undefined || known.has(offset)) continue
      const expected = `an entry of producer ${producerId}, offsets ${firstOffset} to ${offset}`
      this.#report.add('transaction-index', file, { offset }, { expected, found: 'none' })
    }
  }

  /** undefined: it is as it should be. */
  #expectationOf(entry: TransactionIndexEntry, isWhole: boolean): string | undefined {
    const { version, producerId, firstOffset, lastOffset, lastStableOffset } = entry
    if (version !== entryVersion) return `version ${entryVersion}`
    const marker = this.#aborts.get(lastOffset)
    if (marker === undefined) return isWhole ? 'the offset of an abort marker' : undefined
    if (marker.producerId !== producerId) return `producer ${marker.producerId}, as in the marker`
    if (firstOffset !== (marker.firstOffset ?? firstOffset)) {
      return `offset ${marker.firstOffset}, where the transaction begins`
    }
    if (lastStableOffset < 0 || lastStableOffset > lastOffset + 1) {
      return `a last stable offset up to ${lastOffset + 1}`
    }
    return undefined
  }
}
