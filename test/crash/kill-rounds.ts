/**
 * A process appends to a log and is killed with SIGKILL, at a random moment of any of its lives.
 * Whatever it said was flushed must be there when the log is opened again, and nothing else than
 * what it appended.
 */
import { spawn } from 'node:child_process'
import path from 'node:path'
import { systemClock } from '../../src/clock.ts'
import { SeededRandom } from '../../src/lab/statistics-random.ts'
import { checkBatch, leaderEpochAt, sizeInBytesAt } from '../../src/log/batch-header.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { type LogConfig, logConfigDefaults } from '../../src/log/log-config.ts'
import { LogDirectory } from '../../src/log/log-directory.ts'
import { recoverLog } from '../../src/log/log-recovery.ts'
import { PartitionLog } from '../../src/log/partition-log.ts'
import { readRecords } from '../../src/log/record-reader.ts'

const script = 'test/crash/appending-process.mjs'
/** As the appending process has it, but for the flushes. */
const config: LogConfig = { ...logConfigDefaults, segmentBytes: 30_000, indexIntervalBytes: 500 }
/** More than any round of it may use; an epoch tells the round. */
const epochsPerRound = 10_000
const decoder = new TextDecoder()

/** Records that were said to be flushed. */
interface FlushedRange {
  readonly from: number
  /** Exclusive. */
  readonly end: number
  readonly epoch: number
}

export class KillRounds {
  readonly #directory: string
  readonly #library: string
  readonly #random: SeededRandom
  /** Ascending. */
  #flushed: FlushedRange[] = []
  #rounds = 0

  /** `library`: where the built package lies. */
  constructor(directory: string, library: string, seed: number) {
    this.#directory = directory
    this.#library = library
    this.#random = new SeededRandom(seed)
  }

  /** @returns how many appends were said to be flushed in this round */
  async round(): Promise<number> {
    this.#rounds += 1
    const lines = await this.#live()
    for (const line of lines) this.#note(line)
    this.#check()
    return lines.filter((line) => line.startsWith('flushed')).length
  }

  /** One life; returns the whole lines that it got out. */
  #live(): Promise<string[]> {
    const epoch = this.#rounds * epochsPerRound
    const args = [script, this.#library, this.#directory, this.#random.nextUint32(), epoch]
    const child = spawn(process.execPath, args.map(String), {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const linesWanted = this.#random.nextBelow(120)
    const startMs = this.#random.nextBelow(4) === 0 ? this.#random.nextBelow(150) : undefined
    let output = ''
    let isDying = false
    const kill = (afterMs: number) => {
      if (isDying) return
      isDying = true
      setTimeout(() => child.kill('SIGKILL'), afterMs)
    }
    if (startMs !== undefined) kill(startMs)
    child.stdout.setEncoding('utf8')
    child.stdout.on('data', (text: string) => {
      output += text
      if (output.split('\n').length > linesWanted) kill(this.#random.nextBelow(8))
    })
    return new Promise((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (code, signal) => {
        if (signal === 'SIGKILL') resolve(output.split('\n').slice(0, -1))
        else reject(new Error(`round ${this.#rounds}: the process ended by itself, code ${code}`))
      })
    })
  }

  #note(line: string): void {
    const [word, ...numbers] = line.split(' ')
    const [first, end, epoch] = numbers.map(Number)
    if (word === 'flushed') this.#flushed.push({ from: first!, end: end!, epoch: epoch! })
    else if (word === 'cut') this.#flushed = this.#flushed.filter((each) => each.end <= first!)
    else if (word !== 'open') throw new Error(`the process said '${line}'`)
    else if (first! < this.#flushedEnd) {
      throw new Error(`round ${this.#rounds}: opened at ${first}, flushed to ${this.#flushedEnd}`)
    }
  }

  get #flushedEnd(): number {
    return this.#flushed.at(-1)?.end ?? 0
  }

  #check(): void {
    const broker = LogDirectory.open({
      directory: this.#directory,
      clusterId: 'kill',
      nodeId: 1,
    })
    try {
      if (broker.cleanShutdown) throw new Error('a killed process left the mark of a clean end')
      if (broker.partitions().length === 0) {
        if (this.#flushedEnd > 0) throw new Error('the log is gone')
        return
      }
      const directory = broker.partitionDirectory({ topic: 't', partition: 0 })
      const recoveryPoint = broker.readCheckpoint('recoveryPoint').get('t-0') ?? 0
      recoverLog(directory, { recoveryPoint, logStartOffset: 0, config })
      this.#checkLog(directory, recoveryPoint)
    } finally {
      broker.close()
    }
  }

  #checkLog(directory: string, recoveryPoint: number): void {
    const log = PartitionLog.open({
      directory,
      topic: 't',
      partition: 0,
      config,
      clock: systemClock,
      cleanShutdown: true,
      recovered: true,
      recoveryPoint,
    })
    try {
      const epochs = epochsByOffset(log)
      for (const { from, end, epoch } of this.#flushed) {
        for (let offset = from; offset < end; offset += 1) {
          if (epochs.get(offset) === epoch) continue
          const found = epochs.get(offset) ?? 'nothing'
          throw new Error(
            `round ${this.#rounds}: epoch ${epoch} was flushed at ${offset}, there is ${found}`,
          )
        }
      }
    } finally {
      log.close({ flush: false })
    }
  }
}

/** Epochs of all records, each record's value checked. */
function epochsByOffset(log: PartitionLog): Map<number, number> {
  const memory = batchMemory(new ArrayBuffer(256 * 1024))
  const epochs = new Map<number, number>()
  let next = 0
  while (next < log.logEndOffset) {
    const bytes = log.read(next, log.logEndOffset, 256 * 1024, memory, 0)
    // Offsets at the end that a truncation within a batch left unused.
    if (bytes === 0) break
    for (let at = 0; at < bytes; at += sizeInBytesAt(memory, at)) {
      const fault = checkBatch(memory, at, bytes - at)
      if (fault !== undefined) throw new Error(`at ${next}: batch fails: ${fault}`)
      const epoch = leaderEpochAt(memory, at)
      for (const { offset, value } of readRecords(memory, at)) {
        if (offset < next) throw new Error(`at ${offset}: offsets go back`)
        const text = decoder.decode(value ?? undefined)
        if (text !== recordText(epoch, offset)) {
          throw new Error(`at ${offset}: value '${text.slice(0, 30)}' in epoch ${epoch}`)
        }
        epochs.set(offset, epoch)
        next = offset + 1
      }
    }
  }
  return epochs
}

/** The same in `appending-process.mjs`. */
function recordText(epoch: number, offset: number): string {
  return `${epoch}:${offset}:`.padEnd(16 + ((offset * 7919 + epoch) % 600), 'x')
}

/** Where `npm run build` puts the package; tests run in the repository's root. */
export const builtLibrary = path.resolve('dist')
