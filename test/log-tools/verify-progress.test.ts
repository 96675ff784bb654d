import { statSync } from 'node:fs'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { createVerifyBar } from '../../src/cli/log-verify-progress.ts'
import { type VerifyProgress, verifyDirectories } from '../../src/log-tools/verify-directories.ts'
import { repository } from '../support/source-files.ts'

const directory = path.join(repository, 'test', 'fixtures', 'kafka-4.4')

function progressOf(directories: readonly string[]): VerifyProgress[] {
  const told: VerifyProgress[] = []
  verifyDirectories(directories, { onProgress: (progress) => told.push(progress) })
  return told
}

it('tells how many bytes of all segments were read, and where it is', () => {
  const told = progressOf([directory])
  expect(told.length).toBeGreaterThan(5)
  const { doneBytes, totalBytes } = told.at(-1)!
  expect(doneBytes).toBe(totalBytes)
  expect(told.every((each, at) => at === 0 || each.doneBytes >= told[at - 1]!.doneBytes)).toBe(true)
  expect(new Set(told.map((each) => path.basename(each.directory)))).toContain('rolled-0')
  const one = path.join(directory, 'isr-0')
  const { size } = statSync(path.join(one, `${'0'.repeat(20)}.log`))
  expect(progressOf([one])).toEqual([{ doneBytes: size, totalBytes: size, directory: one }])
})

it('is a bar on a terminal, and nothing elsewhere', () => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true })
  const bar = createVerifyBar(terminal)
  bar.onProgress!({ doneBytes: 0, totalBytes: 4_000_000, directory: 'x/a-0' })
  bar.onProgress!({ doneBytes: 1_000_000, totalBytes: 4_000_000, directory: 'x/b-0' })
  bar.stop()
  const drawn = String(terminal.read())
  expect(drawn).toContain('25 % of 4 MB')
  expect(drawn).toContain('b-0')
  const file = createVerifyBar(new PassThrough())
  expect(file.onProgress).toBeUndefined()
  file.stop()
})
