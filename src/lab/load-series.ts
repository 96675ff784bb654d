/** Rates and latencies of the load between the samples of a run, worked out from the ledgers. */
import { type LoadLedger, ledgerStatus } from './load-ledger.ts'
import { quantilesOf } from './statistics.ts'

export interface LoadSeriesRow {
  readonly producedRecordsPerSec: number
  readonly ackedRecordsPerSec: number
  readonly ackP50Ms: number | null
  readonly ackP99Ms: number | null
  readonly ackMaxMs: number | null
}

export class LoadSeries {
  /** Bytes in the log of a mean record. */
  readonly batchBytesPerRecord: number
  readonly #timesMs: readonly number[]
  readonly #produced: Float64Array
  readonly #acked: Float64Array
  readonly #latencies: number[][]

  /** @param timesMs of the samples, ascending; a row covers what came since the sample before */
  constructor(ledgers: readonly LoadLedger[], timesMs: readonly number[]) {
    this.#timesMs = timesMs
    this.#produced = new Float64Array(timesMs.length)
    this.#acked = new Float64Array(timesMs.length)
    this.#latencies = timesMs.map(() => [])
    let bytes = 0
    let records = 0
    for (const ledger of ledgers) {
      for (let row = 0; row < ledger.count; row++) {
        bytes += ledger.batchBytes[row]
        records += ledger.recordCount[row]
        this.#add(ledger, row)
      }
    }
    this.batchBytesPerRecord = records === 0 ? 0 : bytes / records
  }

  row(place: number): LoadSeriesRow {
    const beforeMs = this.#timesMs[place - 1] ?? this.#timesMs[place] - 1_000
    const seconds = Math.max(1e-3, (this.#timesMs[place] - beforeMs) / 1000)
    const latencies = this.#latencies[place]
    const [p50, p99, max] = latencies.length === 0 ? [] : quantilesOf(latencies, [0.5, 0.99, 1])
    return {
      producedRecordsPerSec: this.#produced[place] / seconds,
      ackedRecordsPerSec: this.#acked[place] / seconds,
      ackP50Ms: p50 ?? null,
      ackP99Ms: p99 ?? null,
      ackMaxMs: max ?? null,
    }
  }

  #add(ledger: LoadLedger, row: number): void {
    const sentPlace = this.#placeOf(ledger.sentMs[row])
    if (sentPlace < this.#timesMs.length) this.#produced[sentPlace] += ledger.recordCount[row]
    if (ledger.status[row] !== ledgerStatus.acknowledged) return
    const place = this.#placeOf(ledger.answeredMs[row])
    if (place >= this.#timesMs.length) return
    this.#acked[place] += ledger.recordCount[row]
    this.#latencies[place].push(ledger.answeredMs[row] - ledger.intendedMs[row])
  }

  /** First sample at or after a time. */
  #placeOf(atMs: number): number {
    let low = 0
    let high = this.#timesMs.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#timesMs[middle] < atMs) low = middle + 1
      else high = middle
    }
    return low
  }
}
