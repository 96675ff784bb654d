/** Reads partitions below the high watermark, from the leader's files, as consumers do. */
import { isTidemarkError } from '../../src/errors.ts'
import { partitionIndex } from '../../src/ids.ts'
import type { SeededRandom } from '../../src/lab/statistics-random.ts'
import {
  baseOffsetAt,
  batchPositions,
  checkBatch,
  nextOffsetAt,
} from '../../src/log/batch-header.ts'
import { batchField } from '../../src/log/batch-layout.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { SegmentReader } from '../../src/log/segment-reader.ts'
import type { HistoryChecks } from './history-checks.ts'
import { partitionDirectory } from './log-contents.ts'
import type { SimulatedCluster } from './simulated-cluster.ts'

const readBytes = 64 * 1024

export class SimulatedConsumer {
  readonly #cluster: SimulatedCluster
  readonly #checks: HistoryChecks
  readonly #offsets: number[] = []
  readonly #memory = batchMemory(new ArrayBuffer(readBytes))
  readonly #positions = new Int32Array(readBytes / 61)

  constructor(cluster: SimulatedCluster, checks: HistoryChecks) {
    this.#cluster = cluster
    this.#checks = checks
  }

  /** One read of one partition: on from where it was, or again from before. */
  read(random: SeededRandom): void {
    const { board, partitions, coverage, disk } = this.#cluster
    const partition = partitionIndex(random.nextBelow(partitions))
    const leader = board.leader(partition)
    const registration = this.#cluster.registration(partition)
    if (leader < 1 || registration === undefined) return
    // Before, its files and its words may be of two lives.
    if (board.ledEpoch(leader, partition) < 0) return
    const highWatermark = board.highWatermark(leader, partition)
    const before = Math.min(this.#offsets[partition] ?? 0, highWatermark)
    const from = Math.max(0, before - random.nextBelow(4))
    if (from >= highWatermark) return
    const directory = partitionDirectory(leader, registration.topic, registration.partition)
    const reader = SegmentReader.open(directory, { fs: disk })
    try {
      const bytes = reader.read(from, highWatermark, readBytes, this.#memory, 0)
      this.#take(partition, leader, highWatermark, bytes)
      coverage.count('consumed')
    } catch (error) {
      if (!isTidemarkError(error)) throw error
      this.#checks.tell('consumer', partition, `from ${from} to ${highWatermark}: ${error.message}`)
    }
    reader.close()
  }

  #take(
    partition: ReturnType<typeof partitionIndex>,
    leader: number,
    highWatermark: number,
    bytes: number,
  ): void {
    const memory = this.#memory
    const count = batchPositions(memory, 0, bytes, this.#positions)
    for (let at = 0; at < count; at++) {
      const position = this.#positions[at]
      const fault = checkBatch(memory, position, bytes - position)
      this.#checks.tell('consumer', partition, fault)
      const baseOffset = baseOffsetAt(memory, position)
      const endOffset = nextOffsetAt(memory, position)
      if (baseOffset >= highWatermark) {
        this.#checks.tell('consumer', partition, `shown ${baseOffset}, committed ${highWatermark}`)
      }
      const contents = memory.view.getUint32(position + batchField.crc)
      if (endOffset <= highWatermark) {
        this.#checks.keep(partition, leader, { baseOffset, endOffset, contents })
      }
      this.#offsets[partition] = endOffset
    }
  }
}
