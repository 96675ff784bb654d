/** Metadata logs for the timeline's tests: Kafka's, cut up, and ones written record by record. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { ManualClock } from '../../src/clock.ts'
import { MetadataLog } from '../../src/replication/controller/metadata-log.ts'
import type { MetadataRecord } from '../../src/replication/controller/metadata-records.ts'
import { fixtureDirectory } from '../interop/fixture-files.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

export const kafkaMetadata = path.join(fixtureDirectory, '__cluster_metadata-0')
export const kafkaSegment = path.join(kafkaMetadata, '00000000000000000000.log')

/** A copy of Kafka's metadata log that may be damaged. */
export function copyOfKafkas(): { directory: string; file: string } {
  const directory = path.join(temporaryDirectory(), '__cluster_metadata-0')
  mkdirSync(directory)
  const file = path.join(directory, path.basename(kafkaSegment))
  copyFileSync(kafkaSegment, file)
  return { directory, file }
}

/** Kafka's log whose first batches, up to a batch boundary, are a snapshot or gone. */
export function cutKafkas(position: number, offset: number, withSnapshot: boolean): string {
  const directory = path.join(temporaryDirectory(), '__cluster_metadata-0')
  mkdirSync(directory)
  const bytes = readFileSync(kafkaSegment)
  const digits = String(offset).padStart(20, '0')
  writeFileSync(path.join(directory, `${digits}.log`), bytes.subarray(position))
  if (withSnapshot) {
    const name = `${digits}-0000000001.checkpoint`
    writeFileSync(path.join(directory, name), bytes.subarray(0, position))
  }
  return directory
}

export class WrittenLog {
  readonly directory = temporaryDirectory()
  readonly clock = new ManualClock()
  readonly #log = MetadataLog.open({ directory: this.directory, clock: this.clock })

  /** One batch, `afterMs` after the one before. */
  append(afterMs: number, ...records: readonly MetadataRecord[]): this {
    this.clock.advance(afterMs)
    this.#log.append(records)
    return this
  }

  /** The directory, closed. */
  close(): string {
    this.#log.close()
    return this.directory
  }
}
