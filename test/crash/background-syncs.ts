/** Rolled segments on their way to disk, a file at a time, on a disk that fails. */
import { TidemarkError } from '../../src/errors.ts'
import { BackgroundFlush } from '../../src/log/background-flush.ts'
import type { FaultyFileSystem } from '../support/faulty-file-system.ts'
import { ManualSyncs } from '../support/manual-syncs.ts'

export class BackgroundSyncs {
  readonly flush: BackgroundFlush
  readonly #fs: FaultyFileSystem
  readonly #syncs: ManualSyncs

  constructor(fs: FaultyFileSystem) {
    this.#fs = fs
    this.#syncs = new ManualSyncs(fs)
    this.flush = new BackgroundFlush(this.#syncs)
  }

  get isBusy(): boolean {
    return this.flush.underWayCount > 0
  }

  /** @throws {TidemarkError} KAFKA_STORAGE_ERROR when the power goes, or a sync failed */
  step(): void {
    this.#syncs.advance()
    this.flush.step()
    this.#check()
  }

  drain(): void {
    while (!this.flush.drain(100)) this.#check()
    this.#check()
  }

  #check(): void {
    const [failed] = this.flush.takeFailed()
    if (failed?.failure !== undefined) throw failed.failure
    if (this.#fs.powerIsGone) throw new TidemarkError('KAFKA_STORAGE_ERROR', 'the power is gone')
  }
}
