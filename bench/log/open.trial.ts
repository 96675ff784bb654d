/** Opening after a clean stop: one large log; many logs. What an open log takes of memory. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/clock.ts'
import { type LogConfig, logConfigDefaults } from '../../src/log/log-config.ts'
import { OpenFiles } from '../../src/log/open-files.ts'
import { PartitionLog } from '../../src/log/partition-log.ts'
import { expectEqual } from '../bench.ts'
import { type Finding, findingOf, type TrialOptions } from '../trial.ts'
import { type SampleRun, sampleRun } from './batches.ts'

const MiB = 1024 * 1024
const GiB = 1024 * MiB

export async function openLargeTrial({ full }: TrialOptions): Promise<Finding[]> {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
  const totalBytes = (full ? 10 : 1) * GiB
  try {
    // A whole last segment, so that there is as much of an index to load as there can be.
    const config = { ...logConfigDefaults, segmentBytes: Math.floor(totalBytes / 10) + MiB }
    const written = openOne(directory, config)
    const run = sampleRun(64, 16 * 1024)
    while (written.sizeBytes < totalBytes) written.append(run, 0)
    const { logEndOffset, segmentCount } = written
    written.close()
    const openMs: number[] = []
    for (let round = 0; round < (full ? 50 : 20); round += 1) {
      const startedMs = performance.now()
      const log = openOne(directory, config)
      openMs.push(performance.now() - startedMs)
      expectEqual('log end offset', log.logEndOffset, logEndOffset)
      log.close({ flush: false })
    }
    const note = `${segmentCount} segments, the process warm`
    return [findingOf(`open a log of ${totalBytes / GiB} GiB`, 'ms', openMs, note)]
  } finally {
    rmSync(directory, { recursive: true })
  }
}

export async function openManyTrial({ full }: TrialOptions): Promise<Finding[]> {
  const root = mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
  const findings: Finding[] = []
  try {
    const directories: string[] = []
    for (const count of full ? [10_000, 30_000] : [1_000]) {
      const more = Array.from({ length: count - directories.length }, (_, at) =>
        join(root, `bench-${directories.length + at}`),
      )
      writeMany(more)
      directories.push(...more)
      findings.push(...openMany(directories, count > 10_000 ? 1 : 2))
    }
    return findings
  } finally {
    rmSync(root, { recursive: true })
  }
}

/** Three batches each. */
function writeMany(directories: readonly string[]): void {
  const files = new OpenFiles()
  const run = sampleRun(1, 16 * 1024)
  for (const directory of directories) {
    mkdirSync(directory, { recursive: true })
    const log = openOne(directory, logConfigDefaults, files)
    for (let batch = 0; batch < 3; batch += 1) log.append(run, 0)
    log.close({ flush: false })
  }
}

function openMany(directories: readonly string[], rounds: number): Finding[] {
  const openMs: number[] = []
  const bytesEach: number[] = []
  let openFiles = 0
  for (let round = 0; round < rounds; round += 1) {
    const files = new OpenFiles()
    globalThis.gc?.()
    const residentBytes = process.memoryUsage.rss()
    const startedMs = performance.now()
    const logs = directories.map((directory) => openOne(directory, logConfigDefaults, files))
    openMs.push(performance.now() - startedMs)
    globalThis.gc?.()
    bytesEach.push((process.memoryUsage.rss() - residentBytes) / directories.length)
    appendAndRead(logs, sampleRun(1, 16 * 1024))
    openFiles = Math.max(openFiles, files.openCount)
    for (const log of logs) log.close({ flush: false })
    files.closeAll()
  }
  const what = `${directories.length} logs`
  return [
    findingOf(`open ${what}`, 'ms', openMs, `${openFiles} files open after an append to each`),
    // Later rounds use again what the first one's garbage left.
    findingOf(`resident memory of ${what}, first time`, 'bytes a log', bytesEach.slice(0, 1)),
  ]
}

/** All of them work, though not all have a file open at a time. */
function appendAndRead(logs: readonly PartitionLog[], run: SampleRun): void {
  for (const log of logs) {
    const offset = log.logEndOffset
    log.append(run, 0)
    const bytes = log.read(offset, log.logEndOffset, run.sizeBytes, run.memory, 0)
    expectEqual('bytes read', bytes, run.sizeBytes)
  }
}

function openOne(directory: string, config: LogConfig, files?: OpenFiles): PartitionLog {
  return PartitionLog.open({
    directory,
    topic: 'bench',
    partition: 0,
    config,
    clock: systemClock,
    cleanShutdown: true,
    ...(files === undefined ? {} : { files }),
  })
}
