/**
 * Appends to a log until it is killed, each append flushed, and says on stdout what is flushed:
 *   open END        the log was recovered and ends there
 *   flushed FROM END EPOCH
 *   cut END         from now on nothing at or above END is promised
 * Arguments: the built library's directory, the broker's directory, a seed, the first epoch.
 */
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const [library, directory, seedText, epochText] = process.argv.slice(2)
const load = (name) => import(pathToFileURL(path.join(library, name)).href)
const { BatchEncoder, batchMemory, LogDirectory, PartitionLog, logConfigDefaults, recoverLog } =
  await load('log/index.js')
const { systemClock } = await load('clock.js')
const { SeededRandom } = await load('lab/statistics-random.js')

const random = new SeededRandom(Number(seedText))
const config = {
  ...logConfigDefaults,
  segmentBytes: 30_000,
  indexIntervalBytes: 500,
  flush: { kind: 'batch' },
}
const memory = batchMemory(new SharedArrayBuffer(256 * 1024))
const run = { memory, positions: new Int32Array(8), count: 0 }
const encoder = new BatchEncoder()
let epoch = Number(epochText)

const broker = LogDirectory.open({ directory, clusterId: 'kill', nodeId: 1 })
const entry = { topic: 't', partition: 0 }
const partition = broker.partitionDirectory(entry)
const recoveryPoint = broker.readCheckpoint('recoveryPoint').get('t-0') ?? 0
if (fs.existsSync(partition)) {
  recoverLog(partition, { recoveryPoint, logStartOffset: 0, config })
}
const log = PartitionLog.open({
  ...entry,
  directory: partition,
  config,
  clock: systemClock,
  cleanShutdown: true,
  recovered: true,
  recoveryPoint,
})
checkpoint()
say(`open ${log.logEndOffset}`)

for (;;) {
  const act = random.nextBelow(30)
  if (act === 0) checkpoint()
  else if (act === 1) truncate()
  else append()
}

function append() {
  let position = 0
  const from = log.logEndOffset
  let offset = from
  run.count = 1 + random.nextBelow(4)
  for (let at = 0; at < run.count; at += 1) {
    run.positions[at] = position
    encoder.begin(memory, position, 32 * 1024, { compression: 'none' })
    for (let records = 1 + random.nextBelow(8); records > 0; records -= 1) {
      const value = Buffer.from(recordText(epoch, offset))
      if (!encoder.tryAppend({ key: null, value, timestampMs: 1_000 })) throw new Error('no room')
      offset += 1
    }
    position += encoder.finish() + random.nextBelow(2)
  }
  log.append(run, epoch)
  say(`flushed ${from} ${log.logEndOffset} ${epoch}`)
}

/** A new leader's epoch begins where the old one's records are cut off. */
function truncate() {
  const offset = Math.max(0, log.logEndOffset - random.nextBelow(log.logEndOffset / 2 + 1))
  say(`cut ${offset}`)
  log.truncateTo(offset)
  checkpoint()
  epoch += 1
}

function checkpoint() {
  broker.writeCheckpoint('recoveryPoint', [{ ...entry, offset: log.recoveryPoint }])
}

/** The same in `kill-rounds.ts`, which must know what to expect. */
function recordText(ofEpoch, offset) {
  return `${ofEpoch}:${offset}:`.padEnd(16 + ((offset * 7919 + ofEpoch) % 600), 'x')
}

/** At once: what is in the pipe survives the process. */
function say(line) {
  fs.writeSync(1, `${line}\n`)
}
