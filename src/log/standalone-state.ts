/**
 * What a log without a broker keeps in its own directory beside Kafka's files: a lock, and a
 * checkpoint with what a broker's directory would hold for it. Apache Kafka passes over both.
 */
import path from 'node:path'
import {
  corruptEntry,
  nonNegativeInteger,
  readCheckpointFile,
  writeCheckpointFile,
} from './checkpoint-file.ts'
import { lockDirectory } from './directory-lock.ts'
import type { FileSystem } from './file-system.ts'

const stateFileName = 'standalone-checkpoint'

export interface StandaloneOffsets {
  readonly recoveryPoint: number
  readonly logStartOffset: number
  /**
   * Where the log ended when its owner ended properly; undefined: it is open, or wasn't closed.
   * Whoever finds another end there knows that somebody else has written meanwhile.
   */
  readonly cleanEndOffset: number | undefined
  /** All below has been compacted; undefined: nothing has. */
  readonly cleanedOffset: number | undefined
}

/** Entries of the file, by the field that each holds. */
const entryNames = {
  recoveryPoint: 'recovery-point',
  logStartOffset: 'log-start-offset',
  cleanEndOffset: 'clean-end-offset',
  cleanedOffset: 'cleaned-offset',
} as const

const unknownOffsets: StandaloneOffsets = {
  recoveryPoint: 0,
  logStartOffset: 0,
  cleanEndOffset: undefined,
  cleanedOffset: undefined,
}

export class StandaloneState {
  readonly #fs: FileSystem
  readonly #file: string
  readonly #lockFd: number
  #offsets: StandaloneOffsets
  #released = false

  private constructor(fs: FileSystem, directory: string, lockFd: number) {
    this.#fs = fs
    this.#file = path.join(directory, stateFileName)
    this.#lockFd = lockFd
    this.#offsets = readOffsets(fs, this.#file)
  }

  /**
   * Makes the directory if need be, and locks it against everybody else, in this process too.
   *
   * @throws {TidemarkError} DIRECTORY_IN_USE, CORRUPT_FILE, KAFKA_STORAGE_ERROR
   */
  static claim(fs: FileSystem, directory: string): StandaloneState {
    return lockDirectory(fs, directory, 'log', (fd) => new StandaloneState(fs, directory, fd))
  }

  /** As last written down. */
  get offsets(): StandaloneOffsets {
    return this.#offsets
  }

  /** Writes down what has changed, and waits for the disk. */
  write(offsets: StandaloneOffsets): void {
    const fields = Object.keys(entryNames) as (keyof StandaloneOffsets)[]
    const isSame = fields.every((field) => offsets[field] === this.#offsets[field])
    if (isSame) return
    const entries = Object.entries(entryNames).flatMap(([field, name]) => {
      const offset = offsets[field as keyof StandaloneOffsets]
      return offset === undefined ? [] : [`${name} ${offset}`]
    })
    writeCheckpointFile(this.#fs, this.#file, entries, { durable: true })
    this.#offsets = offsets
  }

  /** Unlocks. */
  release(): void {
    if (this.#released) return
    this.#released = true
    this.#fs.close(this.#lockFd)
  }
}

/** No file: a new log, or one that a broker has left. */
function readOffsets(fs: FileSystem, file: string): StandaloneOffsets {
  const entries = readCheckpointFile(fs, file)
  if (entries === undefined) return unknownOffsets
  const found: { -readonly [Field in keyof StandaloneOffsets]: number | undefined } = {
    ...unknownOffsets,
  }
  for (const [index, line] of entries.entries()) {
    const [name, text, ...more] = line.split(' ')
    const entry = Object.entries(entryNames).find(([, known]) => known === name)
    const offset = nonNegativeInteger(text ?? '')
    if (entry === undefined || offset === undefined || more.length > 0) {
      throw corruptEntry(file, index, line)
    }
    found[entry[0] as keyof StandaloneOffsets] = offset
  }
  return found as StandaloneOffsets
}
