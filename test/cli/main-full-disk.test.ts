import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, it, onTestFinished, type TestContext, vi } from 'vitest'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { leftovers, smallStudy, tidemark } from './tidemark-process.ts'

/** Each is a process, and the machine may be busy with others. */
vi.setConfig({ testTimeout: 90_000 })

/**
 * A file system of its own that is full after so much; the test is left out where none may be
 * mounted.
 */
function smallDisk(context: TestContext, size: string): string {
  const directory = path.join(temporaryDirectory(), 'disk')
  fs.mkdirSync(directory)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', directory], {
      stdio: 'ignore',
    })
  } catch {
    context.skip('mounting a small file system is not allowed here')
  }
  onTestFinished(() => void execFileSync('umount', ['-l', directory]))
  return directory
}

it.each([
  ['a study whose data is thrown away', '10m', [...smallStudy, '--rate', '8MB/s']],
  ['a study from the beginning', '100k', smallStudy],
  [
    'a measurement',
    '16m',
    ['throughput', '--partitions', '4', '--no-limit', '--max-bytes', '500MB'],
  ],
])('a disk that fills during %s ends it: exit 1, one line, nothing left', async (...all) => {
  const [, size, args, context] = all as unknown as [string, string, string[], TestContext]
  const disk = smallDisk(context, size)
  const report = args[0] === 'catch-up' ? ['--no-report'] : []
  const ended = await tidemark([...args, ...report, '--json'], temporaryDirectory(), disk)
  expect(ended).toMatchObject({ code: 1, stdout: '' })
  const said = ended.stderr
    .split('\n')
    .filter((line) => !/^ +[\d.]+ s {2}/.test(line) && line !== '')
  expect(said).toEqual([expect.stringMatching(/^tidemark: .*(ENOSPC|no space|disk full)/)])
  expect(leftovers(disk)).toEqual([])
})
