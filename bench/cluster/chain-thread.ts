/**
 * Worker entry: one thread of a chain. It sleeps until the one before it wakes it, does what no
 * replicated append can do without, and wakes the next: producer, leader (write), followers
 * (write), leader, producer. No protocol, no checks, nothing encoded.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../src/clock.ts'
import { PoolFiles } from '../../src/lab/pool-files.ts'
import { ConstantSchedule } from '../../src/lab/rate-schedule.ts'
import { Doorbell, ringDoorbell } from '../../src/workers/doorbell.ts'
import { restBeforeEnd } from '../../src/workers/thread-end.ts'
import { bellWord, type ChainMessage, type ChainTask, chainWord, doneWord } from './chain-task.ts'

const idleMs = 1_000

class ChainThread {
  readonly #task: ChainTask
  readonly #words: Int32Array
  readonly #bell: Doorbell

  constructor(task: ChainTask) {
    this.#task = task
    this.#words = task.words
    this.#bell = new Doorbell(task.words, bellWord(task.thread))
  }

  produce(): void {
    const { latenciesMs, batchesPerSec, poolBatches } = this.#task
    const schedule = new ConstantSchedule(batchesPerSec)
    const total = latenciesMs.length
    for (let round = 0; this.#awaitRound(round); round += 1) {
      const first = this.#load(chainWord.sent)
      const startMs = systemClock.nowMs()
      let sent = 0
      let answered = 0
      while (answered < total && !this.#isStopped) {
        const bell = this.#bell.read()
        const before = answered
        const end = this.#load(chainWord.answered) - first
        const nowMs = systemClock.nowMs()
        for (; answered < end; answered += 1) {
          latenciesMs[answered] = nowMs - startMs - schedule.intendedTimeMs(answered)
        }
        const due = Math.min(total, schedule.dueCount(nowMs - startMs), answered + poolBatches)
        if (due > sent) {
          sent = due
          this.#store(chainWord.sent, first + sent)
          this.#wake(1)
        } else if (answered === before) {
          this.#bell.park(bell, this.#untilDueMs(schedule, sent, startMs))
        }
      }
      this.#say({ kind: 'roundOver' })
    }
  }

  lead(files: PoolFiles): void {
    const { followers } = this.#task
    let written = 0
    let answered = 0
    while (!this.#isStopped) {
      const bell = this.#bell.read()
      const end = Math.min(this.#load(chainWord.sent), written + files.roundBatches)
      if (end > written) {
        files.write(written, end, false)
        written = end
        this.#store(chainWord.published, written)
        for (let follower = 0; follower < followers; follower += 1) this.#wake(2 + follower)
      }
      const done = this.#doneByAll()
      if (done > answered) {
        answered = done
        this.#store(chainWord.answered, answered)
        this.#wake(0)
      } else if (end === written && this.#load(chainWord.sent) === written) {
        this.#bell.park(bell, idleMs)
      }
    }
  }

  follow(files: PoolFiles): void {
    const { thread } = this.#task
    let written = 0
    while (!this.#isStopped) {
      const bell = this.#bell.read()
      const end = Math.min(this.#load(chainWord.published), written + files.roundBatches)
      if (end === written) {
        this.#bell.park(bell, idleMs)
        continue
      }
      files.write(written, end, false)
      written = end
      this.#store(doneWord(thread - 2), written)
      this.#wake(1)
    }
  }

  #awaitRound(round: number): boolean {
    while (this.#load(chainWord.round) === round && !this.#isStopped) {
      const bell = this.#bell.read()
      if (this.#load(chainWord.round) === round && !this.#isStopped) this.#bell.park(bell, idleMs)
    }
    return !this.#isStopped
  }

  #untilDueMs(schedule: ConstantSchedule, sent: number, startMs: number): number {
    if (sent === this.#task.latenciesMs.length) return idleMs
    const dueMs = startMs + schedule.intendedTimeMs(sent) - systemClock.nowMs()
    return Math.max(0, Math.min(20, dueMs))
  }

  #doneByAll(): number {
    let done = this.#load(doneWord(0))
    for (let follower = 1; follower < this.#task.followers; follower += 1) {
      done = Math.min(done, this.#load(doneWord(follower)))
    }
    return done
  }

  get #isStopped(): boolean {
    return this.#load(chainWord.stop) === 1
  }

  #load(word: number): number {
    return Atomics.load(this.#words, word)
  }

  #store(word: number, value: number): void {
    Atomics.store(this.#words, word, value)
  }

  #wake(thread: number): void {
    ringDoorbell(this.#words, bellWord(thread))
  }

  #say(message: ChainMessage): void {
    parentPort?.postMessage(message)
  }
}

function main(task: ChainTask): void {
  const thread = new ChainThread(task)
  const ready: ChainMessage = { kind: 'ready' }
  if (task.thread === 0) {
    parentPort?.postMessage(ready)
    thread.produce()
    restBeforeEnd()
    return
  }
  const files = new PoolFiles(task)
  try {
    parentPort?.postMessage(ready)
    if (task.thread === 1) thread.lead(files)
    else thread.follow(files)
  } finally {
    files.close()
    restBeforeEnd()
  }
}

main(workerData as ChainTask)
