/**
 * WalkthroughProducer: batches to a partition's leader, one by one, with the leader's very answer:
 * nothing is sent again, so that a refusal is seen as one. All of it is in a ledger, to be compared
 * with what is on disk at the end.
 */
import { WakeLoop } from '../client/wake-loop.ts'
import { systemClock } from '../clock.ts'
import { type ErrorCode, errorCodeOf, TidemarkError } from '../errors.ts'
import type { PartitionIndex } from '../ids.ts'
import { BatchEncoder } from '../log/batch-encoder.ts'
import { recordCountAt } from '../log/batch-header.ts'
import { batchField } from '../log/batch-layout.ts'
import type { ClusterMemory } from '../workers/cluster-memory.ts'
import { RingProducer } from '../workers/ring-producer.ts'
import { SyntheticSource } from './batch-source.ts'
import {
  allocateLoadLedger,
  LoadLedger,
  type LoadLedgerBuffers,
  ledgerStatus,
} from './load-ledger.ts'

export interface Answer {
  readonly error: ErrorCode | 'NONE'
  readonly baseOffset: number
  readonly records: number
  /** From handing the batch over to its answer. */
  readonly tookMs: number
  readonly answeredAtMs: number
}

const ledgerRows = 65_536
/** The application's own producers have slot 0. */
const slot = 1
const batchBytes = 16 * 1024
const recordBytes = 256
const requestTimeoutMs = 60_000
/** The background load waits while so many of its batches are unanswered. */
const backgroundOutstandingMax = 64
const backgroundEveryMs = 4

export class WalkthroughProducer {
  readonly ledgers: readonly LoadLedgerBuffers[]
  readonly #ledger: LoadLedger
  readonly #ring: RingProducer
  readonly #wakeLoop: WakeLoop
  readonly #encoder = new BatchEncoder()
  readonly #source: SyntheticSource
  readonly #partition: PartitionIndex
  readonly #signal: AbortSignal
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  readonly #onWake = () => void this.#poll()
  #timer: NodeJS.Timeout | undefined
  #background = 0
  backgroundRefused = 0

  /** @param signal once aborted, nobody waits for an answer any more */
  constructor(memory: ClusterMemory, partition: PartitionIndex, seed: number, signal: AbortSignal) {
    this.#partition = partition
    this.#signal = signal
    this.#ring = new RingProducer(memory, slot)
    this.#wakeLoop = new WakeLoop(this.#ring.doorbell)
    this.#source = new SyntheticSource(recordBytes, batchBytes, seed, 0)
    const buffers = allocateLoadLedger(ledgerRows)
    this.ledgers = [buffers]
    this.#ledger = new LoadLedger(buffers)
    signal.addEventListener('abort', () => this.#giveUp(), { once: true })
  }

  /** Batches without an answer. */
  get outstanding(): number {
    return this.#waiting.size
  }

  /** All batches sent so far. */
  get batches(): number {
    return this.#ledger.count
  }

  /** Records in batches that have been acknowledged with acks=all. */
  get acknowledgedRecords(): number {
    const { status, recordCount, count } = this.#ledger
    let records = 0
    for (let row = 0; row < count; row += 1) {
      if (status[row] === ledgerStatus.acknowledged) records += recordCount[row]
    }
    return records
  }

  /**
   * One batch to whoever leads now.
   *
   * @returns the answer to come; undefined: the ring has no room or nobody leads
   */
  trySend(acks: 1 | 'all'): Promise<Answer> | undefined {
    const ring = this.#ring
    if (this.#ledger.count >= ledgerRows) {
      throw new TidemarkError('RECORD_LIST_TOO_LARGE', `at most ${ledgerRows} batches`)
    }
    if (ring.tryClaim(this.#partition, batchBytes) !== 'claimed') return undefined
    const row = this.#encode()
    const answer = new Promise<Answer>((resolve) => {
      this.#waiting.set(row, (given) => {
        // Acknowledged by the leader alone, it may be lost with it: nothing is promised of it.
        const isPromised = acks === 'all' || given.error !== 'NONE'
        if (!isPromised) this.#ledger.status[row] = ledgerStatus.unknown
        resolve(given)
      })
    })
    ring.commit(
      this.#partition,
      this.#ledger.batchBytes[row],
      acks === 'all' ? -1 : 1,
      requestTimeoutMs,
    )
    this.#wakeLoop.add(this.#onWake)
    return answer
  }

  /** The same, as soon as there is room. */
  async send(acks: 1 | 'all'): Promise<Answer> {
    for (;;) {
      const answer = this.trySend(acks)
      if (answer !== undefined) return await answer
      this.#signal.throwIfAborted()
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }

  /** A batch every few milliseconds with acks=all, so that the log end keeps moving. */
  startBackground(): void {
    this.#timer ??= setInterval(() => {
      if (this.#background >= backgroundOutstandingMax) return
      const answer = this.trySend('all')
      if (answer === undefined) return
      this.#background += 1
      void answer.then(({ error }) => {
        this.#background -= 1
        if (error !== 'NONE') this.backgroundRefused += 1
      })
    }, backgroundEveryMs)
  }

  stopBackground(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  close(): void {
    this.stopBackground()
    this.#wakeLoop.remove(this.#onWake)
  }

  /** Into the claim. @returns its row in the ledger, which is the ticket it will have */
  #encode(): number {
    const { claimMemory: memory, claimPosition: position } = this.#ring
    const nowMs = systemClock.nowMs()
    this.#encoder.begin(memory, position, batchBytes, { compression: 'none' })
    const payloadBytes = this.#source.fill(this.#encoder, nowMs)
    const bytes = this.#encoder.finish()
    const ledger = this.#ledger
    const row = ledger.count
    ledger.partition[row] = this.#partition
    ledger.recordCount[row] = recordCountAt(memory, position)
    ledger.batchBytes[row] = bytes
    ledger.payloadBytes[row] = payloadBytes
    ledger.crc[row] = memory.view.getInt32(position + batchField.crc)
    ledger.intendedMs[row] = nowMs
    ledger.sentMs[row] = nowMs
    ledger.baseOffset[row] = -1
    ledger.status[row] = ledgerStatus.pending
    ledger.count = row + 1
    return row
  }

  #poll(): void {
    this.#ring.poll((row, errorNumber, baseOffset) => {
      const ledger = this.#ledger
      const error = errorNumber === 0 ? 'NONE' : errorCodeOf(errorNumber)
      // NOT_LEADER_OR_FOLLOWER may be of a batch that waited in the log of who leads no more.
      const isRefused = error === 'NOT_ENOUGH_REPLICAS'
      const { acknowledged, refused, unknown } = ledgerStatus
      ledger.answeredMs[row] = systemClock.nowMs()
      ledger.baseOffset[row] = baseOffset
      ledger.status[row] = error === 'NONE' ? acknowledged : isRefused ? refused : unknown
      this.#answer(row, error)
    })
    if (this.#waiting.size === 0) this.#wakeLoop.remove(this.#onWake)
  }

  #answer(row: number, error: Answer['error']): void {
    const { sentMs, recordCount, baseOffset } = this.#ledger
    const answeredAtMs = systemClock.nowMs()
    const resolve = this.#waiting.get(row)
    this.#waiting.delete(row)
    const tookMs = answeredAtMs - sentMs[row]
    const records = recordCount[row]
    resolve?.({ error, baseOffset: baseOffset[row], records, tookMs, answeredAtMs })
  }

  #giveUp(): void {
    this.stopBackground()
    for (const row of [...this.#waiting.keys()]) this.#answer(row, 'BROKER_CLOSED')
  }
}
