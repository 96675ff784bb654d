/** One round of a load: a bounded time or amount, and what came of it, from the ledgers. */
import { type LoadLedger, ledgerStatus } from './load-ledger.ts'
import type { LoadRun } from './load-run.ts'
import type { Acks } from './result.ts'

export interface LoadRound {
  /** From the first send to the last answer. */
  readonly elapsedMs: number
  readonly records: number
  /** Keys and values. */
  readonly payloadBytes: number
  readonly batchBytes: number
  /** Of each batch, from the time it was meant to be sent to its answer. */
  readonly latenciesMs: readonly number[]
  /** Processor time of the whole process meanwhile. */
  readonly cpu: { readonly userMs: number; readonly systemMs: number }
}

export interface LoadRoundOptions {
  readonly acks: Acks
  readonly ms: number
  /** Bytes of batches. */
  readonly bytesMax?: number
  readonly signal?: AbortSignal
  /** Looked at now and then: why the cluster cannot go on. */
  readonly failure: () => Error | undefined
}

const watchMs = 10

/**
 * Until `ms` are over, `bytesMax` were sent, or `signal` aborts; then until all is answered.
 *
 * @returns undefined when nothing was answered
 * @throws what `failure` tells, and what ended a generator
 */
export async function runLoadRound(
  load: LoadRun,
  options: LoadRoundOptions,
): Promise<LoadRound | undefined> {
  const { ms, bytesMax = Number.POSITIVE_INFINITY, signal, failure } = options
  const firstRows = load.ledgers.map(({ count }) => count)
  const over = new AbortController()
  const onOver = () => over.abort()
  const timer = setTimeout(onOver, ms)
  signal?.addEventListener('abort', onOver)
  const watch = setInterval(() => {
    const sent = load.ledgers.reduce((sum, ledger, at) => sum + bytesOf(ledger, firstRows[at]), 0)
    if (sent >= bytesMax || failure() !== undefined) over.abort()
  }, watchMs)
  const cpuBefore = process.cpuUsage()
  try {
    load.begin()
    await load.roundOver(over.signal)
    const failed = failure()
    if (failed !== undefined) throw failed
    await load.hold()
  } finally {
    clearTimeout(timer)
    clearInterval(watch)
    signal?.removeEventListener('abort', onOver)
  }
  const { user, system } = process.cpuUsage(cpuBefore)
  const round = roundOf(load.ledgers, firstRows, options.acks)
  return round && { ...round, cpu: { userMs: user / 1000, systemMs: system / 1000 } }
}

function bytesOf({ count, batchBytes }: LoadLedger, firstRow: number): number {
  // Rows are alike enough: the mean of the last one stands for all of the round.
  return count > firstRow ? (count - firstRow) * batchBytes[count - 1] : 0
}

function roundOf(
  ledgers: readonly LoadLedger[],
  firstRows: readonly number[],
  acks: Acks,
): Omit<LoadRound, 'cpu'> | undefined {
  const latenciesMs: number[] = []
  let firstMs = Number.POSITIVE_INFINITY
  let lastMs = 0
  let records = 0
  let batchBytes = 0
  let payloadBytes = 0
  for (const [at, ledger] of ledgers.entries()) {
    for (let row = firstRows[at]; row < ledger.count; row++) {
      const isAnswered = ledger.status[row] === ledgerStatus.acknowledged
      if (!isAnswered && acks !== 0) continue
      const answeredMs = acks === 0 ? ledger.sentMs[row] : ledger.answeredMs[row]
      firstMs = Math.min(firstMs, ledger.sentMs[row])
      lastMs = Math.max(lastMs, answeredMs)
      records += ledger.recordCount[row]
      batchBytes += ledger.batchBytes[row]
      payloadBytes += ledger.payloadBytes[row]
      latenciesMs.push(answeredMs - ledger.intendedMs[row])
    }
  }
  if (records === 0) return undefined
  const elapsedMs = Math.max(1, lastMs - firstMs)
  return { elapsedMs, records, payloadBytes, batchBytes, latenciesMs }
}
