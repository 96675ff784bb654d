/**
 * What a follower that reads its leader's files cannot do without: one thread that reads each file
 * and writes it elsewhere, in pieces as large as a follower's, and nothing else.
 */
import { closeSync, mkdirSync, openSync, readdirSync, readSync, writevSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { limits } from '../../src/limits.ts'

export interface Copied {
  readonly bytes: number
  readonly tookMs: number
}

interface CopyData {
  readonly from: readonly string[]
  readonly to: string
}

/** Copies the segments of the directories `from` to files in `to`, which is made. */
export async function copySegments(from: readonly string[], to: string): Promise<Copied> {
  const data: CopyData = { from, to }
  const thread = new Worker(fileURLToPath(import.meta.url), { workerData: data })
  const copied = await new Promise<Copied>((resolve, reject) => {
    thread.once('message', resolve)
    thread.once('error', reject)
  })
  await thread.terminate()
  return copied
}

function copyAll({ from, to }: CopyData): Copied {
  mkdirSync(to, { recursive: true })
  // As a follower does it, whose code is compiled and whose files are there.
  const memory = new Uint8Array(limits.catchUpReadBytesDefault)
  const files = from.flatMap((directory, at) => {
    const segments = readdirSync(directory).filter((name) => name.endsWith('.log'))
    return segments.map((name) => {
      const target = path.join(to, `${at}-${name}`)
      closeSync(openSync(target, 'w'))
      return { source: path.join(directory, name), target }
    })
  })
  const startedMs = performance.now()
  let bytes = 0
  for (const { source, target } of files) bytes += copyFile(source, target, memory)
  return { bytes, tookMs: performance.now() - startedMs }
}

function copyFile(source: string, target: string, memory: Uint8Array): number {
  const [from, to] = [openSync(source, 'r'), openSync(target, 'r+')]
  let position = 0
  for (;;) {
    const read = readSync(from, memory, 0, memory.length, position)
    if (read === 0) break
    writevSync(to, [memory.subarray(0, read)], position)
    position += read
  }
  closeSync(from)
  closeSync(to)
  return position
}

if (!isMainThread) parentPort?.postMessage(copyAll(workerData as CopyData))
