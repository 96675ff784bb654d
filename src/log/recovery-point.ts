/**
 * How far a log is on disk for certain, with a sync under way in another thread taken into account.
 *
 * While one is under way the owner's own syncs don't raise the point: the system tells of a failed
 * write once, and it may tell the other thread. What was synced meanwhile counts when that sync has
 * ended well.
 */
export class RecoveryPoint {
  #offset: number
  /** What the owner's own syncs have covered. */
  #syncedOffset: number
  /** End of what is being synced elsewhere; -1: nothing is. */
  #underWayOffset = -1
  /** What is being synced elsewhere was cut off meanwhile. */
  #isMoot = false

  constructor(offset: number) {
    this.#offset = offset
    this.#syncedOffset = offset
  }

  get offset(): number {
    return this.#offset
  }

  get syncedOffset(): number {
    return this.#syncedOffset
  }

  get isUnderWay(): boolean {
    return this.#underWayOffset >= 0
  }

  /** A sync of the owner's covered everything below. */
  synced(endOffset: number): void {
    this.#syncedOffset = endOffset
    if (!this.isUnderWay) this.#offset = endOffset
  }

  /** The log was cut: nothing at or above the offset is on disk for certain. */
  lower(offset: number): void {
    this.#offset = Math.min(this.#offset, offset)
    this.#syncedOffset = Math.min(this.#syncedOffset, offset)
    if (this.#underWayOffset > offset) this.#isMoot = true
  }

  /** The log begins anew at the offset. */
  restart(offset: number): void {
    this.lower(offset)
    this.#isMoot = true
  }

  begin(endOffset: number): void {
    this.#underWayOffset = endOffset
    this.#isMoot = false
  }

  /** The sync elsewhere ended well. Returns whether it covers what the log holds now. */
  complete(): boolean {
    const counts = !this.#isMoot
    const endOffset = counts ? this.#underWayOffset : this.#offset
    this.#underWayOffset = -1
    this.#offset = Math.max(this.#offset, this.#syncedOffset, endOffset)
    this.#syncedOffset = this.#offset
    return counts
  }
}
