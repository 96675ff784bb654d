/**
 * One log with its broker's directory on a disk that fails, driven at random from a seed and
 * compared with a model after each step. The broker keeps its side of the bargain: checkpoints are
 * written after each truncation, and a log that wasn't closed cleanly is recovered before use.
 */
import { ManualClock } from '../../src/clock.ts'
import { isTidemarkError } from '../../src/errors.ts'
import { SeededRandom } from '../../src/lab/statistics-random.ts'
import { segmentBases } from '../../src/log/file-names.ts'
import type { LogConfig } from '../../src/log/log-config.ts'
import type { LogDirectory } from '../../src/log/log-directory.ts'
import { OpenFiles } from '../../src/log/open-files.ts'
import type { PartitionLog } from '../../src/log/partition-log.ts'
import { SegmentReader } from '../../src/log/segment-reader.ts'
import { FaultyFileSystem } from '../support/faulty-file-system.ts'
import { MemoryFileSystem } from '../support/memory-file-system.ts'
import { BackgroundSyncs } from './background-syncs.ts'
import { brokerParent, openBrokerLog, writeCheckpoints } from './broker-log.ts'
import { checkBatches, checkEpochs } from './content-checks.ts'
import { expectEqual } from './expect-equal.ts'
import { checkSealedIndexes } from './index-checks.ts'
import { makeBatches, readBatches, readSome, stampedRunOf } from './log-contents.ts'
import { type FoundLog, isSame, LogHistory, type LogState, type ModelBatch } from './log-history.ts'
import { armFault, pickWeighted, randomLogConfig, type Weighted } from './random-choices.ts'

export class LogWorld {
  readonly trace: string[] = []
  readonly #random: SeededRandom
  readonly #clock = new ManualClock()
  readonly #disk = new MemoryFileSystem()
  readonly #fs: FaultyFileSystem
  readonly #config: LogConfig
  readonly #history = new LogHistory({ base: 0, batches: [] })
  #openFiles: OpenFiles
  #syncs: BackgroundSyncs
  #broker: LogDirectory | undefined = undefined
  #log!: PartitionLog
  #epoch = 0
  #mayBeClean = false
  #powerWasLost = true
  #writtenStart = 0
  #isStopped = false
  /** The truncation that failed left the log between two states. */
  #isBetween = false

  constructor(seed: number) {
    this.#random = new SeededRandom(seed)
    this.#fs = new FaultyFileSystem(this.#disk, new SeededRandom(seed, 1))
    this.#openFiles = new OpenFiles(this.#fs)
    this.#syncs = new BackgroundSyncs(this.#fs)
    this.#config = randomLogConfig(this.#random)
    this.#disk.makeDirectory(brokerParent)
    this.#disk.syncDirectory('/')
    this.trace.push(`config ${JSON.stringify(this.#config)}`)
    if (this.#one(2)) this.#fs.shortWriteOneOf = 3
  }

  start(): void {
    this.#openWithPowerCuts()
    this.#isBetween = false
  }

  /** One random operation, and all checks after it. */
  step(): void {
    this.#clock.advance(this.#below(40))
    if (this.#one(12)) this.trace.push(`armed: ${armFault(this.#fs, this.#random)}`)
    const act = pickWeighted(this.#actions, this.#random)
    try {
      act()
      this.#compare()
    } catch (error) {
      if (!this.#isExpected(error)) throw error
      this.trace.push(`failed: ${(error as Error).message}`)
      this.#afterFailure(error as Error)
    }
  }

  /** The last word: a clean stop, a loss of power, and all is there. */
  finish(): void {
    this.#fs.clearFaults()
    if (this.#log.failure !== undefined) this.#restart('crash')
    this.#stop()
    this.#restart('crash')
  }

  readonly #actions: readonly Weighted<() => void>[] = [
    [10, () => this.#append('leader')],
    [6, () => this.#append('follower')],
    [3, () => this.#read()],
    [3, () => this.#truncate()],
    [1, () => this.#restartLog()],
    [2, () => this.#deleteRecords()],
    [3, () => this.#deleteOldSegments()],
    [3, () => this.#flush()],
    [2, () => this.#flushIfDue()],
    [6, () => this.#syncElsewhere()],
    [2, () => this.#checkpoint()],
    [1, () => this.#assignEpoch()],
    [1, () => this.#stopAndStart()],
    [1, () => this.#restart('kill')],
    [3, () => this.#restart('crash')],
  ]

  #append(door: 'leader' | 'follower'): void {
    if (this.#one(6)) this.#epoch += 1
    const from = this.#log.logEndOffset
    const now = this.#clock.nowMs()
    const { run, batches } = makeBatches(this.#random, from, this.#epoch, now)
    const end = batches.at(-1)!.nextOffset
    this.trace.push(`append ${door} ${from}..${end} of epoch ${this.#epoch}`)
    const state = this.#history.willAppend(batches)
    try {
      if (door === 'leader') this.#log.append(run, this.#epoch)
      else this.#log.appendReplicated(stampedRunOf(batches))
    } catch (error) {
      this.#history.becameCutAt(state, this.#log.logEndOffset)
      throw error
    }
    this.#history.became(state)
    if (this.#config.flush.kind === 'batch') this.#history.flushed()
    expectEqual('log end', this.#log.logEndOffset, end)
  }

  #read(): void {
    const { logStartOffset, logEndOffset } = this.#log
    const reader = SegmentReader.open(this.#log.directory, { fs: this.#fs })
    const held = this.#held()
    for (let left = 3; left > 0 && held.length > 0; left -= 1) {
      const offset = logStartOffset + this.#below(logEndOffset - logStartOffset)
      const expected = held.find(({ nextOffset }) => nextOffset > offset)
      for (const source of [this.#log, reader]) {
        const [found] = readSome(source, offset, logEndOffset, 1 + this.#below(900))
        const same = found === undefined ? expected === undefined : isSame(found, expected!)
        if (!same) throw new Error(`read at ${offset} of ${source.constructor.name}: another batch`)
      }
    }
    reader.close()
  }

  #truncate(): void {
    const { logEndOffset } = this.#log
    const back = this.#below(2) === 0 ? 12 : logEndOffset + 1
    const offset = Math.max(0, logEndOffset - this.#below(back))
    this.trace.push(`truncate to ${offset} of ${logEndOffset}`)
    if (offset >= logEndOffset) {
      expectEqual('cut', this.#log.truncateTo(offset), false)
      return
    }
    const below = offset < this.#history.current.base
    const state = below ? this.#history.willRestart(offset) : this.#history.willTruncate(offset)
    this.#isBetween = true
    expectEqual('cut', this.#log.truncateTo(offset), true)
    this.#isBetween = false
    this.#cut(state)
  }

  #restartLog(): void {
    const offset = Math.max(0, this.#log.logEndOffset - 6 + this.#below(20))
    this.trace.push(`truncate fully and start at ${offset}`)
    const state = this.#history.willRestart(offset)
    this.#isBetween = true
    this.#log.truncateFullyAndStartAt(offset)
    this.#isBetween = false
    this.#cut(state)
  }

  /** Another leader writes from here on; and the checkpoints come before the next append. */
  #cut(state: LogState): void {
    this.#history.became(state)
    this.#epoch += 1
    this.#checkpoint()
  }

  #deleteRecords(): void {
    const { logStartOffset, logEndOffset } = this.#log
    const offset = logStartOffset + this.#below(logEndOffset - logStartOffset + 1)
    this.trace.push(`delete records before ${offset}`)
    expectEqual('log start', this.#log.deleteRecordsBefore(offset, logEndOffset), offset)
  }

  #deleteOldSegments(): void {
    const { directory, logEndOffset } = this.#log
    const highWatermark = logEndOffset - (this.#one(2) ? 0 : this.#below(logEndOffset + 1))
    const written = this.#one(2) ? {} : { writtenLogStart: this.#writtenStart }
    const before = segmentBases(this.#disk.list(directory)!)
    const ends = [...before, this.#history.dataEnd]
    this.#history.willExpire(ends.filter((base) => base <= highWatermark))
    const nowMs = this.#clock.nowMs()
    const count = this.#log.deleteOldSegments({ nowMs, highWatermark, ...written })
    this.#history.expiredTo(Math.min(...segmentBases(this.#disk.list(directory)!)))
    this.trace.push(`deleted ${count} of ${before}, log start is ${this.#log.logStartOffset}`)
  }

  #flush(): void {
    this.trace.push(`flush at ${this.#log.logEndOffset}`)
    this.#log.flush()
    this.#history.flushed()
    // Of batches below the log start, which nobody reads, the history may not know.
    const { length } = this.#history.current.batches
    if (this.#syncs.isBusy || length === 0) return
    expectEqual('recovery point', this.#log.recoveryPoint, this.#history.dataEnd)
  }

  #flushIfDue(): void {
    if (!this.#log.flushIfDue(this.#clock.nowMs())) return
    this.trace.push(`flush due at ${this.#log.logEndOffset}`)
  }

  #syncElsewhere(): void {
    this.#syncs.step()
    this.#history.flushedBelow(this.#log.recoveryPoint)
    this.trace.push(`synced elsewhere; recovery point ${this.#log.recoveryPoint}`)
  }

  #checkpoint(): void {
    const { recoveryPoint, logStartOffset } = this.#log
    this.trace.push(`checkpoint: recovery point ${recoveryPoint}, log start ${logStartOffset}`)
    writeCheckpoints(this.#broker!, this.#log)
    this.#writtenStart = logStartOffset
  }

  /** What a broker does that becomes leader. */
  #assignEpoch(): void {
    this.#epoch += 1
    this.trace.push(`epoch ${this.#epoch} begins`)
    this.#log.leaderEpochs.assign(this.#epoch, this.#log.logEndOffset)
  }

  #stopAndStart(): void {
    this.#stop()
    this.#restart(this.#one(2) ? 'crash' : 'kill')
  }

  #stop(): void {
    this.trace.push(`stop at ${this.#log.logEndOffset}`)
    this.#syncs.drain()
    this.#isStopped = true
    this.#log.close()
    this.#openFiles.closeAll()
    this.#checkpoint()
    this.#mayBeClean = true
    this.#broker!.close(1)
    this.#broker = undefined
    this.#history.flushed()
    expectEqual('open files', this.#disk.openCount, 0)
  }

  /** Ends this life, by loss of power or of the process alone, and begins another. */
  #restart(how: 'crash' | 'kill'): void {
    this.trace.push(how)
    if (how === 'crash') this.#crash()
    else this.#disk.closeAll()
    this.#broker = undefined
    this.#fs.clearFaults()
    const before = this.#history.current
    this.#openWithPowerCuts()
    if (how === 'kill' && !this.#isBetween) this.#mustBe(before)
    this.#isBetween = false
    this.#isStopped = false
    this.#mayBeClean = false
    // Whoever leads now, it isn't with the epoch of what may have been lost.
    this.#epoch += 1
    this.#checkOffsets()
  }

  #crash(): void {
    this.#disk.crash(this.#random)
    this.#powerWasLost = true
    this.#broker = undefined
  }

  /** The power may go while the log is being recovered. */
  #openWithPowerCuts(): void {
    for (let cuts = this.#below(3); cuts > 0; cuts -= 1) {
      this.#fs.callsToPowerCut = this.#below(30)
      try {
        this.#open()
        this.#fs.clearFaults()
        return
      } catch (error) {
        if (!this.#isExpected(error)) throw error
        this.trace.push('crash while opening')
        this.#crash()
        this.#isBetween = true
        this.#fs.clearFaults()
      }
    }
    this.#open()
  }

  #open(): void {
    this.#openFiles = new OpenFiles(this.#fs, 1 + this.#below(4))
    this.#syncs = new BackgroundSyncs(this.#fs)
    const opened = openBrokerLog({
      fs: this.#fs,
      files: this.#openFiles,
      config: this.#config,
      clock: this.#clock,
      backgroundFlush: this.#syncs.flush,
      recoversApart: this.#one(2),
      onDirectory: (broker) => this.#take(broker),
    })
    this.#log = opened.log
    this.#writtenStart = opened.statedStart
    this.#accept(opened.statedStart)
    if (this.#log.recoveryPoint < opened.statedRecoveryPoint) this.#checkpoint()
  }

  #take(broker: LogDirectory): void {
    if (broker.cleanShutdown && !this.#mayBeClean) {
      throw new Error('a mark of a clean end it had not')
    }
    this.#mayBeClean = false
    this.#broker = broker
  }

  #accept(statedStart: number): void {
    const { logStartOffset: startOffset, logEndOffset: endOffset } = this.#log
    const batches = readBatches(this.#log, this.#random)
    const [base] = segmentBases(this.#disk.list(this.#log.directory)!)
    const found: FoundLog = { base: base!, startOffset, endOffset, batches }
    this.trace.push(`open: ${found.startOffset}..${found.endOffset}`)
    this.#history.accept(found, statedStart, this.#powerWasLost)
    this.#powerWasLost = false
    checkEpochs(this.#log, this.#held())
  }

  #held(): ModelBatch[] {
    const start = this.#log.logStartOffset
    return this.#history.current.batches.filter(({ nextOffset }) => nextOffset > start)
  }

  #compare(): void {
    if (!this.#one(3)) return
    this.#checkContents()
    checkEpochs(this.#log, this.#held())
  }

  #checkContents(): void {
    checkBatches(readBatches(this.#log, this.#random), this.#held())
  }

  #checkOffsets(): void {
    const { recoveryPoint, logEndOffset, logStartOffset, sizeBytes } = this.#log
    if (recoveryPoint > logEndOffset || logStartOffset > logEndOffset) {
      throw new Error(`recovery point ${recoveryPoint}, ${logStartOffset}..${logEndOffset}`)
    }
    if (sizeBytes < this.#held().reduce((sum, { bytes }) => sum + bytes.length, 0)) {
      throw new Error(`a size of ${sizeBytes} bytes is too small`)
    }
    checkSealedIndexes(this.#disk, this.#log.directory)
    this.#read()
  }

  /** What lies below the log start is nobody's loss. */
  #mustBe(state: LogState): void {
    const start = this.#log.logStartOffset
    const expected = state.batches.filter(({ nextOffset }) => nextOffset > start)
    expectEqual('batches after a kill', this.#held().length, expected.length)
  }

  #isExpected(error: unknown): boolean {
    if (!isTidemarkError(error, 'KAFKA_STORAGE_ERROR')) return false
    return this.#fs.powerIsGone || this.#fs.syncFailed || this.#fs.roomBytes <= 0
  }

  /** A log that failed is readable and takes nothing; then the machine is started again. */
  #afterFailure({ message }: Error): void {
    const { powerIsGone, syncFailed } = this.#fs
    this.#fs.clearFaults()
    const isLogs = message.startsWith('disk failure in log')
    if (isLogs && this.#log.failure === undefined) throw new Error('it goes on after a failure')
    if (!powerIsGone && !this.#isStopped && this.#log.failure !== undefined) {
      if (!this.#isBetween) this.#checkContents()
      const { run } = makeBatches(this.#random, 0, this.#epoch, 0)
      const before = this.#log.logEndOffset
      try {
        this.#log.append(run, this.#epoch)
        throw new Error('a failed log took an append')
      } catch (error) {
        if (!isTidemarkError(error, 'KAFKA_STORAGE_ERROR')) throw error
      }
      expectEqual('end of a failed log', this.#log.logEndOffset, before)
    }
    // What a failed sync lost is still shown to readers until the machine starts anew.
    const mustCrash = powerIsGone || syncFailed || this.#one(2)
    if (!mustCrash) this.#isBetween = true
    this.#restart(mustCrash ? 'crash' : 'kill')
  }

  #below(count: number): number {
    return this.#random.nextBelow(count)
  }

  #one(of: number): boolean {
    return this.#random.nextBelow(of) === 0
  }
}
