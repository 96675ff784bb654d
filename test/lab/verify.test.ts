import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import { partitionIndex } from '../../src/ids.ts'
import { allocateLoadLedger, LoadLedger, ledgerStatus } from '../../src/lab/load-ledger.ts'
import { mergeVerifications, type PartitionToVerify, verify } from '../../src/lab/verify.ts'
import { sizeInBytesAt } from '../../src/log/batch-header.ts'
import { batchField } from '../../src/log/batch-layout.ts'
import { logConfigDefaults } from '../../src/log/log-config.ts'
import { PartitionLog } from '../../src/log/partition-log.ts'
import { runOfRecords, textRecords } from '../support/batch-builder.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const recordsEach = 10

/** Three replicas written by hand, and a ledger of what was sent to them. */
class Run {
  readonly directory = temporaryDirectory()
  readonly buffers = allocateLoadLedger(1_000)
  readonly ledger = new LoadLedger(this.buffers)
  readonly logs = [1, 2, 3].map((broker) =>
    PartitionLog.open({
      directory: path.join(this.directory, `broker-${broker}`, 't-0'),
      topic: 't',
      partition: 0,
      clock: new ManualClock(),
      cleanShutdown: false,
      config: { ...logConfigDefaults, segmentBytes: 4_000 },
    }),
  )
  highWatermark = 0
  /** Of each log, as retention left it. */
  readonly starts = [0, 0, 0]

  /** Sends a batch to all replicas, or to some. */
  send(options: { to?: number[]; status?: number; name?: string; epoch?: number } = {}): void {
    const { to = [0, 1, 2], status = ledgerStatus.acknowledged, epoch = 0 } = options
    const name = options.name ?? `batch-${this.ledger.count}`
    const baseOffset = this.logs[0].logEndOffset
    const row = this.ledger.count
    const run = runOfRecords(textRecords(recordsEach, name))
    for (const replica of to) {
      this.logs[replica].append(runOfRecords(textRecords(recordsEach, name)), epoch)
    }
    this.ledger.partition[row] = 0
    this.ledger.recordCount[row] = recordsEach
    this.ledger.batchBytes[row] = sizeInBytesAt(run.memory, 0)
    this.ledger.crc[row] = run.memory.view.getInt32(batchField.crc)
    this.ledger.baseOffset[row] = status === ledgerStatus.acknowledged ? baseOffset : -1
    this.ledger.status[row] = status
    this.ledger.count = row + 1
    this.highWatermark = this.logs[0].logEndOffset
  }

  /** Writes to the logs without telling the ledger. */
  append(replicas: number[], name: string, epoch = 0): void {
    for (const replica of replicas) {
      this.logs[replica].append(runOfRecords(textRecords(recordsEach, name)), epoch)
    }
  }

  /** Changes one byte of a batch in a replica's file. */
  damage(replica: number, batch: number, byte: number, bits = 0x10): void {
    const { file, position } = this.#place(replica, batch)
    const fd = fs.openSync(file, 'r+')
    const bytes = Buffer.alloc(1)
    fs.readSync(fd, bytes, 0, 1, position + byte)
    bytes[0] ^= bits
    fs.writeSync(fd, bytes, 0, 1, position + byte)
    fs.closeSync(fd)
  }

  /** Cuts a replica's file in the middle of a batch. */
  cut(replica: number, batch: number): void {
    const { file, position } = this.#place(replica, batch)
    fs.truncateSync(file, position + 30)
  }

  verify(acksAll = true) {
    const partition: PartitionToVerify = {
      index: partitionIndex(0),
      topic: 't',
      partition: 0,
      highWatermark: this.highWatermark,
      replicas: this.logs.map(({ directory, logEndOffset }, at) => ({
        directory: path.dirname(directory),
        logStartOffset: this.starts[at],
        logEndOffset,
      })),
    }
    for (const log of this.logs) if (log.failure === undefined) log.close()
    return verify({ partitions: [partition], ledgers: [this.buffers], acksAll })
  }

  #place(replica: number, batch: number): { file: string; position: number } {
    const { directory } = this.logs[replica]
    const names = fs.readdirSync(directory).filter((name) => name.endsWith('.log'))
    let at = 0
    for (const name of names.sort()) {
      const file = path.join(directory, name)
      const bytes = fs.readFileSync(file)
      for (let position = 0; position < bytes.length; at++) {
        if (at === batch) return { file, position }
        position += bytes.readInt32BE(position + batchField.length) + 12
      }
    }
    throw new Error(`no batch ${batch}`)
  }
}

function runOf(batches: number): Run {
  const run = new Run()
  for (let at = 0; at < batches; at++) run.send()
  return run
}

const clean = { lostRecords: 0, duplicatedRecords: 0, replicaMismatches: 0 }

describe('a run without fault', () => {
  it('is verified whole, over many segments', () => {
    const run = runOf(100)
    expect(run.logs[0].segmentCount).toBeGreaterThan(3)
    const result = run.verify()
    expect(result).toMatchObject({ ...clean, acknowledgedRecords: 1_000, verifiedRecords: 1_000 })
    expect(result.faults).toEqual([])
    expect(result.bytesRead).toBeGreaterThan(3 * 100 * 100)
  })

  it('may hold batches whose outcome was unknown, or not', () => {
    const run = runOf(3)
    run.send({ status: ledgerStatus.unknown })
    run.send({ status: ledgerStatus.pending })
    run.send({ status: ledgerStatus.unknown, to: [] })
    expect(run.verify()).toMatchObject({ ...clean, acknowledgedRecords: 30 })
  })

  it('may have lost its beginning to retention, each replica another', () => {
    const run = runOf(10)
    run.starts.splice(0, 3, 30, 10, 50)
    for (const [replica, batch] of [2, 0, 4].entries()) {
      run.damage(replica, batch, batchField.records + 4)
    }
    const result = run.verify()
    expect(result.faults).toEqual([])
    expect(result).toMatchObject({
      ...clean,
      acknowledgedRecords: 100,
      expiredRecords: 30,
      verifiedRecords: 70,
    })
  })

  it('may have followers that are behind', () => {
    const run = runOf(3)
    run.send({ to: [0], status: ledgerStatus.unknown })
    expect(run.verify()).toMatchObject({ ...clean, verifiedRecords: 30 })
  })
})

describe('detected is', () => {
  it('a batch that was acknowledged and is nowhere', () => {
    const run = runOf(3)
    run.send({ to: [] })
    const result = run.verify()
    expect(result).toMatchObject({ lostRecords: 10, verifiedRecords: 30, acknowledgedRecords: 40 })
    expect(result.faults).toEqual([expect.stringMatching(/t-0: acknowledged .* offset 30/)])
  })

  it('a batch that stands where another was acknowledged', () => {
    const run = runOf(3)
    run.ledger.crc[1] ^= 1
    expect(run.verify()).toMatchObject({ lostRecords: 10, duplicatedRecords: 10 })
  })

  it('a batch that is there twice', () => {
    const run = runOf(3)
    run.append([0, 1, 2], 'batch-1')
    expect(run.verify()).toMatchObject({ lostRecords: 0, duplicatedRecords: 10 })
  })

  it('a batch of unknown outcome that is there twice', () => {
    const run = runOf(1)
    run.send({ status: ledgerStatus.unknown, name: 'u' })
    run.append([0, 1, 2], 'u')
    expect(run.verify()).toMatchObject({ duplicatedRecords: 10 })
  })

  it('a batch that was refused and is there nevertheless', () => {
    const run = runOf(1)
    run.send({ status: ledgerStatus.refused })
    expect(run.verify()).toMatchObject({ duplicatedRecords: 10 })
  })

  it('a byte that changed in the leader: the batch is not there', () => {
    const run = runOf(5)
    run.damage(0, 2, batchField.records + 4)
    expect(run.verify()).toMatchObject({ lostRecords: 10, duplicatedRecords: 0 })
  })

  it('a byte that changed in a follower', () => {
    const run = runOf(5)
    run.damage(2, 4, batchField.records + 4)
    const result = run.verify()
    expect(result).toMatchObject({ lostRecords: 0, replicaMismatches: 1 })
    expect(result.faults).toEqual([expect.stringMatching(/offset 40.*replica/)])
  })

  it.each([
    ['leader epoch', batchField.leaderEpoch + 3],
    ['magic', batchField.magic],
    ['length', batchField.length + 2],
    ['base offset', batchField.baseOffset + 7],
  ])('a %s that changed in a follower, outside the CRC', (_, byte) => {
    const run = runOf(5)
    run.damage(1, 4, byte)
    expect(run.verify()).toMatchObject({ lostRecords: 0, replicaMismatches: 1 })
  })

  it.each([
    ['magic', batchField.magic, 0x10],
    ['length', batchField.length + 2, 0x10],
    ['base offset, which is higher now,', batchField.baseOffset + 7, 0x10],
    ['base offset, which is lower now,', batchField.baseOffset + 7, 0x20],
  ])('a %s that changed in the leader’s last batch', (_, byte, bits) => {
    const run = runOf(5)
    run.damage(0, 4, byte, bits)
    const result = run.verify()
    expect(result.lostRecords).toBe(10)
    expect(result.verifiedRecords).toBe(40)
  })

  it('a batch that was cut off, in the leader and in a follower', () => {
    const leader = runOf(5)
    leader.cut(0, 4)
    expect(leader.verify()).toMatchObject({ lostRecords: 10, verifiedRecords: 40 })
    const follower = runOf(5)
    follower.cut(1, 4)
    expect(follower.verify()).toMatchObject({ lostRecords: 0, replicaMismatches: 1 })
  })

  it('a batch acknowledged by all that lies above the high watermark', () => {
    const run = runOf(3)
    run.highWatermark = 25
    expect(run.verify()).toMatchObject({ lostRecords: 10, verifiedRecords: 20 })
    const one = runOf(3)
    one.highWatermark = 25
    expect(one.verify(false)).toMatchObject({ lostRecords: 0, verifiedRecords: 30 })
  })

  it('every fault, though only the first ten are told', () => {
    const run = new Run()
    for (let at = 0; at < 15; at++) run.send({ to: [] })
    const result = run.verify()
    expect(result.lostRecords).toBe(150)
    expect(result.faults).toHaveLength(10)
  })
})

it('parts add up', () => {
  const [one, two] = [runOf(2).verify(), runOf(3).verify()]
  const sum = mergeVerifications([one, { ...two, lostRecords: 4, faults: ['x'] }])
  expect(sum).toMatchObject({
    acknowledgedRecords: 50,
    verifiedRecords: 50,
    lostRecords: 4,
    bytesRead: one.bytesRead + two.bytesRead,
    faults: ['x'],
  })
})
