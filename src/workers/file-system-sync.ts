/**
 * `syncfs(2)`, which Node doesn't offer, by the command that does nothing else. It writes what
 * other programs have left on the same file system as well, so that it pays only where very many
 * files would have to be synced one by one.
 */
import { spawnSync } from 'node:child_process'
import { release } from 'node:os'
import type { SyncFileSystem } from './deferred-syncs.ts'

/** Before it the call told nobody of a write that had failed. */
const kernelMin = [5, 8] as const

const syncTimeoutMs = 600_000

/** undefined: there is no such command here, or its word is worth nothing. */
export function fileSystemSync(): SyncFileSystem | undefined {
  if (process.platform !== 'linux' || !tellsOfFailures(release())) return undefined
  const { status, stdout } = spawnSync('sync', ['--version'], { encoding: 'utf8' })
  if (status !== 0 || !/coreutils/.test(stdout)) return undefined
  return (directory) => {
    const options = { stdio: 'ignore', timeout: syncTimeoutMs } as const
    return spawnSync('sync', ['--file-system', directory], options).status === 0
  }
}

/** @param kernel as `uname -r` tells it */
export function tellsOfFailures(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map((part) => Number.parseInt(part, 10))
  return major > kernelMin[0] || (major === kernelMin[0] && minor >= kernelMin[1])
}
