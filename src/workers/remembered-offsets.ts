/**
 * What checkpoints told of partitions when the broker started, by name. Those of a partition that
 * went are forgotten: a topic of the same name begins at 0, with nothing on disk for certain.
 */
/** What the broker's directory knew of a partition when it was opened. */
export interface StoredOffsets {
  /** The last life ended cleanly; false: its logs have been through recovery. */
  readonly isClean: boolean
  readonly recoveryPoint: ReadonlyMap<string, number>
  readonly highWatermark: ReadonlyMap<string, number>
  readonly logStartOffset: ReadonlyMap<string, number>
  /** Up to where logs were compacted; absent: nobody knows of any. */
  readonly cleanedOffset?: ReadonlyMap<string, number>
}

type Kind = 'recoveryPoint' | 'highWatermark' | 'logStartOffset' | 'cleanedOffset'

export class RememberedOffsets {
  readonly #offsets: Readonly<Record<Kind, Map<string, number>>>

  constructor({ recoveryPoint, highWatermark, logStartOffset, cleanedOffset }: StoredOffsets) {
    this.#offsets = {
      recoveryPoint: new Map(recoveryPoint),
      highWatermark: new Map(highWatermark),
      logStartOffset: new Map(logStartOffset),
      cleanedOffset: new Map(cleanedOffset),
    }
  }

  get(kind: Kind, name: string): number | undefined {
    return this.#offsets[kind].get(name)
  }

  forget(name: string): void {
    for (const offsets of Object.values(this.#offsets)) offsets.delete(name)
  }
}
