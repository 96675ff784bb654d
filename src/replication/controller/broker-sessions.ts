/**
 * When each registered broker was last heard of. Soft state: a controller that starts gives every
 * broker a whole session (Kafka: BrokerHeartbeatManager).
 */
import type { BrokerId } from '../../ids.ts'
import { invariant } from '../../invariant.ts'

interface Session {
  fenced: boolean
  lastContactMs: number
  /** Exclusive end of the metadata that the broker has applied, as last told; -1: not told. */
  metadataOffset: number
  /** End of the metadata log after its leaderships were moved away; -1: not shutting down. */
  shutdownOffset: number
}

export class BrokerSessions {
  readonly timeoutMs: number
  readonly #sessions = new Map<BrokerId, Session>()

  constructor(timeoutMs: number) {
    this.timeoutMs = timeoutMs
  }

  /** Begins the session of an incarnation; the one of a former incarnation is forgotten. */
  begin(broker: BrokerId, fenced: boolean, nowMs: number): void {
    this.#sessions.set(broker, {
      fenced,
      lastContactMs: nowMs,
      metadataOffset: -1,
      shutdownOffset: -1,
    })
  }

  /** A heartbeat came; a fenced broker is no longer in controlled shutdown. */
  touch(broker: BrokerId, fenced: boolean, metadataOffset: number, nowMs: number): void {
    const session = this.#sessionOf(broker)
    session.fenced = fenced
    session.lastContactMs = nowMs
    session.metadataOffset = metadataOffset
    if (fenced) session.shutdownOffset = -1
  }

  /** Heard of, but with nothing to take over (a repeated registration). */
  refresh(broker: BrokerId, nowMs: number): void {
    this.#sessionOf(broker).lastContactMs = nowMs
  }

  fence(broker: BrokerId): void {
    const session = this.#sessionOf(broker)
    session.fenced = true
    session.shutdownOffset = -1
  }

  /** The first call of a controlled shutdown sets the offset, later ones keep it. */
  beginShutdown(broker: BrokerId, shutdownOffset: number): void {
    const session = this.#sessionOf(broker)
    if (session.shutdownOffset < 0) session.shutdownOffset = shutdownOffset
  }

  shutdownOffset(broker: BrokerId): number {
    return this.#sessionOf(broker).shutdownOffset
  }

  /** Only an unfenced broker has a session to lose. */
  isAlive(broker: BrokerId, nowMs: number): boolean {
    const session = this.#sessions.get(broker)
    return session !== undefined && !session.fenced && !this.#isStale(session, nowMs)
  }

  /** The unfenced broker that has been silent longest, if that is longer than the timeout. */
  findStale(nowMs: number): BrokerId | undefined {
    let stale: BrokerId | undefined
    let oldestMs = Number.POSITIVE_INFINITY
    for (const [broker, session] of this.#sessions) {
      if (session.fenced || session.lastContactMs >= oldestMs) continue
      oldestMs = session.lastContactMs
      stale = this.#isStale(session, nowMs) ? broker : undefined
    }
    return stale
  }

  /** Time from which on `findStale` may find one; infinite when no broker is unfenced. */
  nextExpiryMs(): number {
    let oldestMs = Number.POSITIVE_INFINITY
    for (const session of this.#sessions.values()) {
      if (!session.fenced) oldestMs = Math.min(oldestMs, session.lastContactMs)
    }
    return oldestMs + this.timeoutMs
  }

  lastContactMs(broker: BrokerId): number {
    return this.#sessionOf(broker).lastContactMs
  }

  /** Least metadata offset that an active broker has told; infinite when there is none. */
  lowestActiveOffset(): number {
    let lowest = Number.POSITIVE_INFINITY
    for (const session of this.#sessions.values()) {
      const isActive = !session.fenced && session.shutdownOffset < 0
      if (isActive) lowest = Math.min(lowest, session.metadataOffset)
    }
    return lowest
  }

  /** Inclusive: at exactly the timeout the session still holds. */
  #isStale(session: Session, nowMs: number): boolean {
    return session.lastContactMs + this.timeoutMs < nowMs
  }

  #sessionOf(broker: BrokerId): Session {
    const session = this.#sessions.get(broker)
    invariant(session !== undefined, () => `broker ${broker} is registered but has no session`)
    return session
  }
}
