/** Files that Apache Kafka 4.4 wrote: read, checked, and their indexes held beside ours. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkBatch, sizeInBytesAt } from '../../src/log/batch-header.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { LogDirectory } from '../../src/log/log-directory.ts'
import { recoverLog } from '../../src/log/log-recovery.ts'
import { recordsIn } from '../support/batch-builder.ts'
import { copyDirectory } from '../support/temporary-directory.ts'
import { openLog, readAll } from './log-fixture.ts'

const fixtures = path.join(import.meta.dirname, '../fixtures/kafka-4.4')
const config = { segmentBytes: 2 ** 30, indexIntervalBytes: 4096 }

interface ExpectedRecord {
  readonly key: string | null
  readonly value: string | null
  readonly headers: readonly { readonly key: string; readonly value: string | null }[]
}

const expectedRecords = fs
  .readFileSync(path.join(fixtures, 'records.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as ExpectedRecord)

function text(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString()
}

describe('segments that Apache Kafka wrote', () => {
  it.each(['codec-none-0', 'codec-lz4-0', 'rolled-0'])(
    '%s: hold the records it was given',
    (name) => {
      const log = openLog({ directory: copyDirectory(path.join(fixtures, name)), config })
      const records = readAll(log).map(({ key, value, headers }) => ({
        key: text(key),
        value: text(value),
        headers: headers.map((header) => ({ key: header.key, value: text(header.value) })),
      }))
      expect(records).toEqual(expectedRecords)
      expect(log.leaderEpochs.latest).toBeGreaterThanOrEqual(0)
    },
  )

  it('of every kind pass all checks, and are opened as they are', () => {
    const names = fs.readdirSync(fixtures).filter((name) => /-\d$/.test(name))
    expect(names.length).toBeGreaterThan(7)
    for (const name of names) {
      const source = path.join(fixtures, name)
      const logs = fs.readdirSync(source).filter((file) => file.endsWith('.log'))
      for (const file of logs) {
        const bytes = fs.readFileSync(path.join(source, file))
        const memory = batchMemory(bytes.buffer, bytes.byteOffset, bytes.length)
        for (let at = 0; at < bytes.length; at += sizeInBytesAt(memory, at)) {
          expect(checkBatch(memory, at, bytes.length - at), `${name}/${file} at ${at}`).toBe(
            undefined,
          )
        }
      }
      const directory = copyDirectory(source)
      const opened = openLog({ directory, config, cleanShutdown: true })
      const { logEndOffset, sizeBytes } = opened
      opened.close()
      const summary = recoverLog(directory, {
        recoveryPoint: 0,
        logStartOffset: 0,
        config: opened.config,
      })
      expect(summary).toMatchObject({ logEndOffset, truncatedBytes: 0, bytesScanned: sizeBytes })
    }
  })

  it('are read on from every offset with Kafka’s own index', () => {
    const directory = copyDirectory(path.join(fixtures, 'codec-none-0'))
    const log = openLog({ directory, config, cleanShutdown: true })
    const memory = batchMemory(new SharedArrayBuffer(16_384))
    for (let offset = 0; offset < log.logEndOffset; offset += 1) {
      const bytes = log.read(offset, log.logEndOffset, 1, memory, 0)
      expect(recordsIn(memory, 0, bytes).map((record) => record.offset)).toContain(offset)
    }
  })
})

describe('a directory that Apache Kafka left', () => {
  it('tells whose it is, how it ended and where its logs stood', () => {
    const directory = copyDirectory(fixtures)
    const properties = fs.readFileSync(path.join(directory, 'meta.properties'), 'utf8')
    const nodeId = Number(/node\.id=(\d+)/.exec(properties)?.[1])
    const opened = LogDirectory.open({ directory, clusterId: 'dGlkZW1hcmstZml4dHVyZQ', nodeId })
    expect(opened.cleanShutdown).toBe(true)
    expect(opened.previousBrokerEpoch).toBeGreaterThanOrEqual(0)
    const points = opened.readCheckpoint('recoveryPoint')
    expect(points.get('codec-none-0')).toBe(expectedRecords.length)
    expect(opened.readCheckpoint('highWatermark').get('rolled-0')).toBe(expectedRecords.length)
    expect(opened.partitions().map(({ topic }) => topic)).toContain('transactional')
    opened.close()
  })
})
