/** A file system whose errors say what failed on which path, for tools that only read. */
import type { FileSystem } from '../log/file-system.ts'
import { storageError } from '../log/storage-error.ts'

export function withNamedErrors(fs: FileSystem): FileSystem {
  const named =
    <T>(action: string, call: (path: string) => T) =>
    (path: string): T => {
      try {
        return call(path)
      } catch (cause) {
        throw storageError(action, path, cause)
      }
    }
  return {
    ...fs,
    sizeOf: named('cannot look at', fs.sizeOf),
    isDirectory: named('cannot look at', fs.isDirectory),
    list: named('cannot list', fs.list),
    readFile: named('cannot read', fs.readFile),
  }
}
