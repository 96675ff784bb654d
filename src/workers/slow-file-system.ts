/** A disk made slower than it is, by a word that somebody else may change at any time. */
import type { FileSystem } from '../log/file-system.ts'

export interface DiskSlowness {
  /** What every write and sync takes longer. */
  readonly delayMs: () => number
  /** 0: no limit. */
  readonly bytesPerSec: () => number
  readonly nowMs: () => number
  /** Stops the thread. */
  readonly sleep: (ms: number) => void
}

/** @param fs an object of functions that don't need `this` */
export function slowFileSystem(fs: FileSystem, slowness: DiskSlowness): FileSystem {
  let busyUntilMs = 0
  const wait = (bytes: number): void => {
    const bytesPerSec = slowness.bytesPerSec()
    let ms = slowness.delayMs()
    if (bytesPerSec > 0) {
      const nowMs = slowness.nowMs()
      busyUntilMs = Math.max(busyUntilMs, nowMs) + (bytes / bytesPerSec) * 1000
      ms += busyUntilMs - nowMs
    }
    if (ms > 0) slowness.sleep(ms)
  }
  return {
    ...fs,
    write(...args) {
      const bytes = fs.write(...args)
      wait(bytes)
      return bytes
    },
    writev(...args) {
      const bytes = fs.writev(...args)
      wait(bytes)
      return bytes
    },
    dataSync(fd) {
      fs.dataSync(fd)
      wait(0)
    },
  }
}
