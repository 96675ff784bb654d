/**
 * Waits for the disk without making the event loop wait: callers of the same turn share one sync,
 * and those that come while it is under way share the next, since it may have missed what they
 * appended.
 */
import { type SyncOne, syncAll } from './file-sync.ts'
import type { PartitionLog } from './partition-log.ts'

export class GroupCommit {
  readonly #log: PartitionLog
  readonly #sync: SyncOne
  #underWay: Promise<void> | undefined = undefined
  #next: Promise<void> | undefined = undefined

  constructor(log: PartitionLog, sync: SyncOne) {
    this.#log = log
    this.#sync = sync
  }

  /**
   * Until all that was appended before the call is on disk.
   *
   * @throws {TidemarkError} KAFKA_STORAGE_ERROR; then the log takes no more appends
   */
  flush(): Promise<void> {
    this.#next ??= this.#start()
    return this.#next
  }

  /** Until nothing is under way; how that ended its callers know. */
  async drain(): Promise<void> {
    while (this.#next !== undefined || this.#underWay !== undefined) {
      await (this.#next ?? this.#underWay)?.catch(() => {})
    }
  }

  async #start(): Promise<void> {
    await (this.#underWay?.catch(() => {}) ?? new Promise((resolve) => setImmediate(resolve)))
    // Whoever comes from here on appended after what is synced now.
    this.#underWay = this.#next
    this.#next = undefined
    try {
      await this.#round()
    } finally {
      this.#underWay = undefined
    }
  }

  async #round(): Promise<void> {
    const log = this.#log
    const { logEndOffset } = log
    const request = log.beginFlush(true)
    if (request !== undefined) {
      log.endFlush({ ticket: 0, ...(await syncAll(request, this.#sync)) })
      if (log.failure === undefined && log.recoveryPoint >= logEndOffset) return
    }
    // Nothing to wait for; or it was cut off meanwhile; or the log has failed, which this tells.
    log.flush()
  }
}
