/** Small files by their path: written as a whole, or made durable as they are. */
import { writeWhole } from './batch-writer.ts'
import type { FileSystem } from './file-system.ts'

export interface WholeFileOptions {
  /** Waits for the disk; the directory's entry is the caller's. */
  readonly durable: boolean
}

/** Makes the file, or makes it anew; after an error any part may have been written. */
export function writeFile(
  fs: FileSystem,
  file: string,
  bytes: Uint8Array,
  { durable }: WholeFileOptions,
): void {
  const fd = fs.open(file, 'create')
  try {
    writeWhole(fs, fd, bytes, 0, bytes.length, 0)
    if (durable) fs.dataSync(fd)
  } finally {
    fs.close(fd)
  }
}

/** Waits until the disk has what was written to the file, which must exist. */
export function syncFile(fs: FileSystem, file: string): void {
  const fd = fs.open(file, 'update')
  try {
    fs.dataSync(fd)
  } finally {
    fs.close(fd)
  }
}
