/**
 * What many partitions cannot do without, by as many threads as there are brokers: the system calls
 * of each replica, and nothing else.
 */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

export interface ScaleLimits {
  /** A directory, the topic's id in a file, an empty segment. */
  readonly createMs: number
  /** A header's worth of bytes to each segment. */
  readonly appendMs: number
  /** Each segment and its directory synced. */
  readonly syncMs: number
  /** The directory listed, the topic's id read, the segment's size and its last bytes. */
  readonly openMs: number
}

interface LimitData {
  readonly directory: string
  readonly partitions: number
}

type Phase = 'createMs' | 'appendMs' | 'syncMs' | 'openMs'

const phases: readonly Phase[] = ['createMs', 'appendMs', 'syncMs', 'openMs']
const segmentName = '00000000000000000000.log'
const scratch = Buffer.alloc(170)
const topicId = Buffer.from('version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA')

export async function measureScaleLimits(
  directory: string,
  { brokers, partitions }: { readonly brokers: number; readonly partitions: number },
): Promise<ScaleLimits> {
  const threads = Array.from({ length: brokers }, (_, at) => {
    const data: LimitData = { directory: join(directory, `limit-${at}`), partitions }
    return new Worker(fileURLToPath(import.meta.url), { workerData: data })
  })
  const took: Partial<Record<Phase, number>> = {}
  for (const phase of phases) {
    const startedMs = performance.now()
    await Promise.all(
      threads.map((thread) => {
        const answered = new Promise((resolve, reject) => {
          thread.once('message', resolve)
          thread.once('error', reject)
        })
        thread.postMessage(phase)
        return answered
      }),
    )
    took[phase] = performance.now() - startedMs
  }
  await Promise.all(threads.map((thread) => thread.terminate()))
  return took as ScaleLimits
}

const does: Readonly<Record<Phase, (directory: string) => void>> = {
  createMs: (directory) => {
    mkdirSync(directory, { recursive: true })
    const id = openSync(join(directory, 'partition.metadata'), 'w')
    writeSync(id, topicId, 0, topicId.length, 0)
    closeSync(id)
    closeSync(openSync(join(directory, segmentName), 'w'))
  },
  appendMs: (directory) => {
    const segment = openSync(join(directory, segmentName), 'r+')
    writeSync(segment, scratch, 0, scratch.length, 0)
    closeSync(segment)
  },
  syncMs: (directory) => {
    for (const file of [join(directory, segmentName), directory]) {
      const fd = openSync(file, 'r')
      fsyncSync(fd)
      closeSync(fd)
    }
  },
  openMs: (directory) => {
    readdirSync(directory)
    readFileSync(join(directory, 'partition.metadata'))
    const { size } = statSync(join(directory, segmentName))
    const segment = openSync(join(directory, segmentName), 'r')
    readSync(segment, scratch, 0, scratch.length, Math.max(0, size - scratch.length))
    closeSync(segment)
  },
}

function serve({ directory, partitions }: LimitData): void {
  parentPort?.on('message', (phase: Phase) => {
    for (let at = 0; at < partitions; at += 1) does[phase](join(directory, `scale-${at}`))
    parentPort?.postMessage(phase)
  })
}

if (!isMainThread) serve(workerData as LimitData)
