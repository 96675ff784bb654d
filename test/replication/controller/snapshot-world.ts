/** A controller over a metadata log on a disk in memory, with snapshots every few decisions. */
import { ManualClock } from '../../../src/clock.ts'
import { sizeInBytesAt } from '../../../src/log/batch-header.ts'
import { batchMemory } from '../../../src/log/batch-memory.ts'
import type { FileSystem } from '../../../src/log/file-system.ts'
import { MetadataLog } from '../../../src/replication/controller/metadata-log.ts'
import { MemoryFileSystem } from '../../support/memory-file-system.ts'
import { ControllerHarness, contentsOf } from './controller-harness.ts'

export const logDirectory = '/c/__cluster_metadata-0'
const brokers = [1, 2, 3]

export function openLog(fs: FileSystem, segmentBytes = 4_096, snapshotBytes = 6_000): MetadataLog {
  const clock = new ManualClock()
  return MetadataLog.open({ directory: '/c', clock, fs, snapshotBytes, segmentBytes })
}

export function contentsOn(fs: FileSystem): unknown {
  const log = openLog(fs)
  try {
    return contentsOf(new ControllerHarness(log).image)
  } finally {
    log.close()
  }
}

/** Topics come and go, brokers fall silent and come back; `noted` is called after each decision. */
export function decide(
  harness: ControllerHarness<MetadataLog>,
  rounds: number,
  noted: () => void = () => {},
): void {
  const step = (run: () => void) => {
    run()
    noted()
    harness.controller.step(harness.clock.nowMs())
    noted()
  }
  for (const broker of brokers) {
    step(() => harness.register(broker, { previousIncarnationEnded: true }))
    step(() => harness.heartbeat(broker))
  }
  for (let round = 0; round < rounds; round += 1) {
    const topic = `t-${harness.image.endOffset}`
    step(() => harness.createTopic(topic, Array(8).fill(brokers), { 'min.insync.replicas': '2' }))
    const index = harness.image.partitionIndexesEnd - 1
    step(() => harness.proposeOne(index, [1, 2]))
    step(() => harness.proposeOne(index, brokers))
    step(() => harness.configure(topic, { 'min.insync.replicas': '1' }))
    if (round % 4 === 3) step(() => harness.administer({ type: 'deleteTopic', topic }))
  }
}

export interface World {
  readonly fs: MemoryFileSystem
  /** What the controller knew at the end. */
  readonly contents: unknown
}

export function worldOf(rounds = 30, segmentBytes = 4_096): World {
  const fs = new MemoryFileSystem()
  const log = openLog(fs, segmentBytes)
  const harness = new ControllerHarness(log)
  decide(harness, rounds)
  log.close()
  return { fs, contents: contentsOf(harness.image) }
}

/** Names of the files with this suffix, oldest first. */
export function filesOf(fs: FileSystem, suffix: string): string[] {
  const names = (fs.list(logDirectory) ?? []).filter((name) => name.endsWith(suffix))
  return names.sort().map((name) => `${logDirectory}/${name}`)
}

export function overwrite(fs: FileSystem, path: string, bytes: Uint8Array): void {
  const fd = fs.open(path, 'create')
  fs.write(fd, bytes, 0, bytes.length, 0)
  fs.dataSync(fd)
  fs.close(fd)
}

/** Where each batch begins, and the end. */
export function batchStarts(bytes: Uint8Array): number[] {
  const memory = batchMemory(new Uint8Array(bytes).buffer)
  const starts = [0]
  for (let at = 0; at < bytes.length; ) {
    at += sizeInBytesAt(memory, at)
    starts.push(at)
  }
  return starts
}
