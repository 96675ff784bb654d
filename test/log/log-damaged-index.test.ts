/** Indexes have no checksum: whatever they say, a truncation cuts where the data says. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { appendBatches, labelsOf, openLog } from './log-fixture.ts'

describe('a truncation led by an index of another truth', () => {
  it.each([
    ['beyond the file', () => 0x4000_0000],
    ['at the end of the file', (sizeBytes: number) => sizeBytes],
    ['within a batch', () => 100],
    ['at a later batch', (_: number, batchBytes: number) => 3 * batchBytes],
  ])('an entry that points %s', (_, positionOf) => {
    const directory = temporaryDirectory()
    const log = openLog({ directory, config: { indexIntervalBytes: 1_000_000 } })
    appendBatches(log, 1)
    const batchBytes = log.sizeBytes
    while (log.segmentCount < 3) appendBatches(log, 1)
    const labels = labelsOf(log)
    log.close()
    const name = '0'.repeat(20)
    const { size } = fs.statSync(path.join(directory, `${name}.log`))
    const entry = Buffer.alloc(8)
    entry.writeInt32BE(1, 0)
    entry.writeInt32BE(positionOf(size, batchBytes), 4)
    fs.writeFileSync(path.join(directory, `${name}.index`), entry)
    const again = openLog({ directory, cleanShutdown: true })
    again.truncateTo(4)
    expect(fs.statSync(path.join(directory, `${name}.log`)).size).toBe(2 * batchBytes)
    expect(labelsOf(again)).toEqual(labels.slice(0, 4))
  })
})
