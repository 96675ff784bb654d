/** After a crash the indexes of segments that nobody reads again are looked at all the same. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { recoverLog } from '../../src/log/log-recovery.ts'
import { copyDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { appendBatches, openLog, smallConfig } from './log-fixture.ts'

function filesIn(directory: string): Record<string, string> {
  const names = fs.readdirSync(directory).sort()
  return Object.fromEntries(
    names.map((name) => [name, fs.readFileSync(path.join(directory, name)).toString('hex')]),
  )
}

describe('recovery above some sealed segments', () => {
  const original = () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory })
    while (log.segmentCount < 4) appendBatches(log, 1)
    appendBatches(log, 1)
    const recoveryPoint = log.logEndOffset
    log.close()
    return { directory, recoveryPoint }
  }

  it.each([
    ['is missing', (file: string) => fs.rmSync(file)],
    ['is empty', (file: string) => fs.writeFileSync(file, '')],
    ['is cut within an entry', (file: string) => fs.truncateSync(file, 5)],
    ['has a block of zeros', (file: string) => zero(file)],
    ['ends with an entry of other data', (file: string) => flipLast(file)],
  ])('makes an index anew that %s', (_, damage) => {
    const { directory, recoveryPoint } = original()
    const expected = filesIn(directory)
    const sealed = Object.keys(expected).filter((name) => /[05]{2}.*index$/.test(name))
    expect(sealed.length).toBeGreaterThan(2)
    for (const name of sealed) {
      const copy = copyDirectory(directory)
      damage(path.join(copy, name))
      const options = { recoveryPoint, logStartOffset: 0, config: smallConfig }
      expect(recoverLog(copy, options).segmentsScanned).toBe(1)
      // And it makes those of the last segment, which a clean end does without.
      expect(filesIn(copy), name).toMatchObject(expected)
    }
  })

  it('writes nothing that is right already', () => {
    const { directory, recoveryPoint } = original()
    const names = fs.readdirSync(directory).filter((name) => /\.log$|index$/.test(name))
    const times = () => {
      const timeOf = (name: string) =>
        fs.statSync(path.join(directory, name), { bigint: true }).mtimeNs
      return Object.fromEntries(names.map((name) => [name, timeOf(name)]))
    }
    const before = times()
    recoverLog(directory, { recoveryPoint, logStartOffset: 0, config: smallConfig })
    recoverLog(directory, { recoveryPoint: 0, logStartOffset: 0, config: smallConfig })
    expect(times()).toEqual(before)
  })
})

function zero(file: string): void {
  const bytes = fs.readFileSync(file)
  fs.writeFileSync(file, bytes.fill(0))
}

/** Another last offset, or another time. */
function flipLast(file: string): void {
  const bytes = fs.readFileSync(file)
  const entryBytes = file.endsWith('.timeindex') ? 12 : 8
  bytes[bytes.length - entryBytes + 3]! ^= 1
  fs.writeFileSync(file, bytes)
}
