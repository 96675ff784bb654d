/** Recovery points of a broker's logs, beside those that were last written down. */
import type { PartitionOffset } from '../log/offset-checkpoint.ts'
import { parsePartitionDirectoryName, partitionDirectoryName } from '../log/topic-name.ts'
import type { RecoveryPointSource } from './recovery-point-checkpoint.ts'

export class RecoveryPoints implements RecoveryPointSource {
  /** By name. */
  readonly #written: Map<string, number>
  readonly #current: () => Iterable<PartitionOffset>
  /** What is written down still has points of partitions that went. */
  #hasForgotten = false

  /** @param current of the logs that are open */
  constructor(stored: ReadonlyMap<string, number>, current: () => Iterable<PartitionOffset>) {
    this.#written = new Map(stored)
    this.#current = current
  }

  /** As last written down; 0: not at all. */
  writtenOf(name: string): number {
    return this.#written.get(name) ?? 0
  }

  forget(name: string): void {
    this.#hasForgotten ||= this.#written.delete(name)
  }

  changed(): PartitionOffset[] | undefined {
    // Of partitions that aren't open yet they stay written down.
    const all = new Map(this.#written)
    let isMoved = this.#hasForgotten
    for (const entry of this.#current()) {
      const name = partitionDirectoryName(entry)
      if (this.writtenOf(name) !== entry.offset) isMoved = true
      all.set(name, entry.offset)
    }
    if (!isMoved) return undefined
    const points: PartitionOffset[] = []
    for (const [name, offset] of all) {
      const partition = parsePartitionDirectoryName(name)
      if (partition !== undefined) points.push({ ...partition, offset })
    }
    return points
  }

  written(points: readonly PartitionOffset[]): void {
    this.#hasForgotten = false
    this.#written.clear()
    for (const point of points) this.#written.set(partitionDirectoryName(point), point.offset)
  }
}
