/**
 * The command as a user runs it: a process of its own, with a temporary directory that is looked
 * into.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { repository } from '../support/source-files.ts'

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  readonly tookMs: number
}

export interface Running {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** What has been written to standard error so far. */
  readonly stderr: () => string
}

/** `home` is the working directory; temporary directories are made in `temporary`. */
export function start(args: readonly string[], home: string, temporary = home): Running {
  const startMs = performance.now()
  const child = spawn(process.execPath, [path.join(repository, 'bin/tidemark.js'), ...args], {
    cwd: home,
    env: { ...process.env, TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      resolve({ code, stdout, stderr, tookMs: performance.now() - startMs })
    })
  })
  return { child, ended, stderr: () => stderr }
}

export async function tidemark(args: readonly string[], home: string, temporary = home) {
  return await start(args, home, temporary).ended
}

/** Directories that a run made for itself and left. */
export function leftovers(directory: string): string[] {
  return fs.readdirSync(directory).filter((name) => name.startsWith('tidemark-'))
}

/** A study that is over in a few seconds. */
export const smallStudy = [
  'catch-up',
  ...['--partitions', '8', '--rate', '2MB/s', '--record-bytes', '512', '--seed', '7'],
  ...['--warm-up', '500ms', '--outage', '1500ms', '--settle', '300ms'],
  ...['--replica-lag-time-max', '300ms', '--timeout', '20s'],
]
