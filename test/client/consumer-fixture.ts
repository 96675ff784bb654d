/**
 * A partition on two brokers, its logs written and its board set by the test, and consumers on it.
 */
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { type ConsumeOptions, consume } from '../../src/client/consumer.ts'
import { WakeLoop } from '../../src/client/wake-loop.ts'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import type { PartitionLog } from '../../src/log/partition-log.ts'
import type { LogRecord } from '../../src/log/record.ts'
import { allocateClusterMemory } from '../../src/workers/cluster-memory.ts'
import { Doorbell, ringDoorbell } from '../../src/workers/doorbell.ts'
import { ProgressBoard } from '../../src/workers/progress-board.ts'
import { findOffset } from '../../src/workers/timestamp-task.ts'
import { openLog } from '../log/log-fixture.ts'
import { runOfRecords, textRecord } from '../support/batch-builder.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const index = partitionIndex(0)

export class ConsumerFixture {
  readonly directory = temporaryDirectory()
  readonly memory = allocateClusterMemory({
    brokers: 2,
    partitionsMax: 4,
    ringBytes: 256 * 1024,
    originMs: 0,
  })
  readonly board = new ProgressBoard(this.memory.board)
  readonly closed = new AbortController()
  readonly logs: PartitionLog[]
  readonly #stop = new AbortController()
  #leaderEpoch = 0

  constructor(segmentBytes = 1_000) {
    this.logs = [1, 2].map((broker) =>
      openLog({ directory: path.join(this.#home(broker), 't-0'), config: { segmentBytes } }),
    )
    this.lead(1)
    onTestFinished(() => {
      this.#stop.abort()
      for (const log of this.logs) log.close()
    })
  }

  lead(broker: number): void {
    this.board.setRoute(index, brokerId(broker), ++this.#leaderEpoch)
    this.board.setLedEpoch(brokerId(broker), index, this.#leaderEpoch)
    this.#ring()
  }

  /** One batch to both replicas, not committed yet. */
  append(...values: string[]): void {
    this.appendAt(1_000, ...values)
  }

  appendAt(timestampMs: number, ...values: string[]): void {
    for (const log of this.logs) {
      const records = values.map((value) => textRecord(value, timestampMs))
      log.append(runOfRecords(records), 0)
      this.board.setLogEndOffset(brokerId(this.logs.indexOf(log) + 1), index, log.logEndOffset)
    }
  }

  /** Records below are gone, as by retention; the files stay. */
  startAt(offset: number, broker = 1): void {
    this.board.setLogStartOffset(brokerId(broker), index, offset)
  }

  commit(highWatermark = this.logs[0].logEndOffset, broker = 1): void {
    this.board.setHighWatermark(brokerId(broker), index, highWatermark)
    if (Atomics.load(this.board.words, this.watchWord) !== 0) this.#ring()
  }

  get watchWord(): number {
    return this.board.clientWatchWord(0)
  }

  consume(options: Partial<ConsumeOptions> = {}): AsyncGenerator<LogRecord, void, undefined> {
    return consume({
      index,
      board: this.board,
      wakeLoop: new WakeLoop(new Doorbell(this.board.words, this.board.clientDoorbellBase(0))),
      brokerDirectory: (id) => this.#home(id),
      watchWord: this.watchWord,
      findOffset: async (query) => findOffset(query),
      closed: this.closed.signal,
      options: { topic: 't', partition: 0, signal: this.#stop.signal, ...options },
    })
  }

  #home(broker: number): string {
    return path.join(this.directory, `broker-${broker}`)
  }

  #ring(): void {
    ringDoorbell(this.board.words, this.board.clientDoorbellBase(0))
  }
}

/** All that a consumer gives until it ends: `offset:value`. */
export async function collect(records: AsyncIterable<LogRecord>): Promise<string[]> {
  const labels: string[] = []
  for await (const record of records) labels.push(labelOf(record))
  return labels
}

export function labelOf({ offset, value }: LogRecord): string {
  return `${offset}:${Buffer.from(value ?? []).toString()}`
}
