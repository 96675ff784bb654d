/**
 * Snapshots of producers against a replay of the batches below them. Possible only where the log
 * has all its batches, from offset 0 on: producers whose records are gone are in snapshots still.
 */
import { producerSnapshotSuffix, segmentPath } from '../log/file-names.ts'
import type { FileSystem } from '../log/file-system.ts'
import type { ProducerSnapshotEntry } from '../log/producers/producer-snapshot.ts'
import { ProducerStates } from '../log/producers/producer-states.ts'
import { readSnapshot, snapshotOffsets } from '../log/producers/snapshot-files.ts'
import type { WalkedBatch } from './segment-walk.ts'
import type { VerifyReport } from './verify-report.ts'

export class ProducerCheck {
  readonly #report: VerifyReport
  readonly #fs: FileSystem
  readonly #directory: string
  readonly #states = new ProducerStates()
  /** Of the snapshots that are still to come, ascending. */
  readonly #offsets: number[]
  #isWhole = true

  constructor(report: VerifyReport, fs: FileSystem, directory: string, hasAllBatches: boolean) {
    this.#report = report
    this.#fs = fs
    this.#directory = directory
    this.#offsets = hasAllBatches ? snapshotOffsets(fs.list(directory) ?? []) : []
  }

  /** A batch without faults. */
  see(batch: WalkedBatch): void {
    if (!this.#isWhole || this.#offsets.length === 0) return
    this.#checkUpTo(batch.baseOffset)
    if (batch.producerId >= 0) this.#states.see(batch.memory, batch.position)
  }

  /** A batch could not be read: nothing is known from here on. */
  lose(): void {
    this.#isWhole = false
  }

  end(logEndOffset: number): void {
    if (this.#isWhole) this.#checkUpTo(logEndOffset)
  }

  #checkUpTo(offset: number): void {
    while (this.#offsets.length > 0 && this.#offsets[0]! <= offset)
      this.#check(this.#offsets.shift()!)
  }

  /** A producer may have expired when the snapshot was made, if it had no transaction open. */
  #check(offset: number): void {
    const file = segmentPath(this.#directory, offset, producerSnapshotSuffix)
    const found = readSnapshot(this.#fs, file, offset)
    if (found === undefined) return
    const byId = new Map(found.map((entry) => [entry.producerId, entry]))
    for (const expected of this.#states.snapshot()) {
      const entry = byId.get(expected.producerId)
      byId.delete(expected.producerId)
      if (entry === undefined && expected.currentTransactionFirstOffset < 0) continue
      const said = entry === undefined ? `no producer ${expected.producerId}` : textOf(entry)
      if (said !== textOf(expected)) this.#add(file, offset, textOf(expected), said)
    }
    for (const entry of byId.values()) {
      this.#add(file, offset, `no producer ${entry.producerId}, as the batches tell`, textOf(entry))
    }
  }

  #add(file: string, offset: number, expected: string, found: string): void {
    this.#report.add('producer-snapshot', file, { offset }, { expected, found })
  }
}

function textOf(entry: ProducerSnapshotEntry): string {
  const { producerId, producerEpoch, lastSequence, lastOffset, offsetDelta } = entry
  const { timestampMs, coordinatorEpoch, currentTransactionFirstOffset } = entry
  const last = `last sequence ${lastSequence} at offset ${lastOffset}, delta ${offsetDelta}`
  const transaction = `transaction from ${currentTransactionFirstOffset}`
  return `producer ${producerId} of epoch ${producerEpoch}: ${last}, time ${timestampMs}, coordinator epoch ${coordinatorEpoch}, ${transaction}`
}
