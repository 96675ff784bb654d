/** Syncs that happen when the test says so, file by file: another thread, one step at a time. */
import type { SyncOutcome, SyncPort, SyncRequest } from '../../src/log/background-flush.ts'
import type { FileSystem } from '../../src/log/file-system.ts'

interface Running {
  readonly ticket: number
  readonly paths: string[]
  readonly directories: ReadonlySet<string>
  readonly absent: string[]
}

export class ManualSyncs implements SyncPort {
  /** Every path that was synced, or found missing. */
  readonly synced: string[] = []
  readonly #fs: FileSystem
  readonly #running: Running[] = []
  readonly #outcomes: SyncOutcome[] = []

  constructor(fs: FileSystem) {
    this.#fs = fs
  }

  /** Files that wait. */
  get waiting(): number {
    return this.#running.reduce((sum, { paths }) => sum + paths.length, 0)
  }

  begin(ticket: number, { files, directories }: SyncRequest): void {
    const paths = [...files, ...directories]
    this.#running.push({ ticket, paths, directories: new Set(directories), absent: [] })
  }

  take(): SyncOutcome | undefined {
    return this.#outcomes.shift()
  }

  wait(): void {
    this.advance()
  }

  /** Syncs the next file. What the file system throws is the outcome. */
  advance(): void {
    const [first] = this.#running
    if (first === undefined) return
    const { ticket, paths, absent, directories } = first
    const path = paths.shift()
    if (path !== undefined) {
      this.synced.push(path)
      try {
        if (directories.has(path)) this.#fs.syncDirectory(path)
        else this.#syncFile(path)
      } catch (cause) {
        if ((cause as { code?: string }).code !== 'ENOENT') {
          this.#running.shift()
          this.#outcomes.push({ ticket, absent, failure: { path, message: String(cause) } })
          return
        }
        absent.push(path)
      }
    }
    if (paths.length > 0) return
    this.#running.shift()
    this.#outcomes.push({ ticket, absent })
  }

  finish(): void {
    while (this.#running.length > 0) this.advance()
  }

  #syncFile(path: string): void {
    const fd = this.#fs.open(path, 'read')
    try {
      this.#fs.dataSync(fd)
    } finally {
      this.#fs.close(fd)
    }
  }
}
