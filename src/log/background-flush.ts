/**
 * Flushes what a log has rolled without making its thread wait (Kafka: `UnifiedLog.roll` schedules
 * the flush of everything below the new segment, which then advances the recovery point). The files
 * are synced by path in another thread; which, is the port's business.
 *
 * A sync that fails ends the log's writing life like one of the owner's: the system may have
 * dropped what it couldn't write, and a second try would report success.
 */
import type { TidemarkError } from '../errors.ts'
import { limits } from '../limits.ts'

/** Files to make durable in this order, then directories' entries. */
export interface SyncRequest {
  readonly files: readonly string[]
  readonly directories: readonly string[]
}

export interface SyncOutcome {
  readonly ticket: number
  /** Files that were not there. */
  readonly absent: readonly string[]
  /** Why a file isn't on disk for certain; undefined: all there were are. */
  readonly failure?: { readonly path: string; readonly message: string }
}

export interface SyncPort {
  /** Hands a request over. Never waits. */
  begin(ticket: number, request: SyncRequest): void
  /** Next request that has ended, in any order; undefined: none. Never waits. */
  take(): SyncOutcome | undefined
  /** Waits a moment for one to end. */
  wait(): void
}

/** A log, or whatever else has files to sync, as it shows itself to whoever does that. */
export interface Flushable {
  /** Why it takes no more writes, if so. */
  readonly failure: TidemarkError | undefined
  /** Whether it has something to sync, as far as it is worth asking for by itself. */
  readonly wantsFlush: boolean
  /** What must be synced; undefined: nothing, it failed, or a request of it is under way. */
  beginFlush(): SyncRequest | undefined
  /** Raises the recovery point, or ends the log's writing life. */
  endFlush(outcome: SyncOutcome): void
}

export class BackgroundFlush {
  readonly #port: SyncPort
  readonly #wanted = new Set<Flushable>()
  readonly #underWay = new Map<number, Flushable>()
  readonly #failed: Flushable[] = []
  #nextTicket = 1

  constructor(port: SyncPort) {
    this.#port = port
  }

  get underWayCount(): number {
    return this.#underWay.size
  }

  /** The log has something to flush; a log asks as often as it likes. */
  want(log: Flushable): void {
    this.#wanted.add(log)
  }

  /** Takes what has ended and begins what is wanted, bounded. Returns how much was done. */
  step(): number {
    if (this.#underWay.size === 0 && this.#wanted.size === 0) return 0
    let work = 0
    while (this.#underWay.size > 0 && work < limits.backgroundFlushesMax) {
      const outcome = this.#port.take()
      if (outcome === undefined) break
      this.#end(outcome)
      work += 1
    }
    for (const log of this.#wanted) {
      if (this.#underWay.size >= limits.backgroundFlushesMax) break
      this.#wanted.delete(log)
      work += this.#begin(log)
    }
    return work
  }

  /** Waits until nothing is under way, `tries` times at most. Returns whether that was enough. */
  drain(tries: number): boolean {
    this.#wanted.clear()
    for (let left = tries; this.#underWay.size > 0 && left > 0; left -= 1) {
      const outcome = this.#port.take()
      if (outcome === undefined) this.#port.wait()
      else this.#end(outcome)
    }
    return this.#underWay.size === 0
  }

  /** Those that a failed sync ended since the last call. */
  takeFailed(): Flushable[] {
    return this.#failed.splice(0)
  }

  get hasFailed(): boolean {
    return this.#failed.length > 0
  }

  #begin(log: Flushable): number {
    const hadFailed = log.failure !== undefined
    const request = log.beginFlush()
    if (log.failure !== undefined && !hadFailed) this.#failed.push(log)
    if (request === undefined) return 0
    const ticket = this.#nextTicket
    this.#nextTicket += 1
    this.#underWay.set(ticket, log)
    this.#port.begin(ticket, request)
    return 1
  }

  #end(outcome: SyncOutcome): void {
    const log = this.#underWay.get(outcome.ticket)
    if (log === undefined) return
    this.#underWay.delete(outcome.ticket)
    const hadFailed = log.failure !== undefined
    log.endFlush(outcome)
    // What it rolled meanwhile had to wait.
    if (log.wantsFlush) this.#wanted.add(log)
    if (log.failure !== undefined && !hadFailed) this.#failed.push(log)
  }
}
