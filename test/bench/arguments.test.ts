import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parseBenchArguments } from '../../bench/arguments.ts'
import { repository } from '../support/source-files.ts'

describe('parseBenchArguments', () => {
  it('takes names and options in any order', () => {
    const asked = parseBenchArguments(['scan', '--full', 'open', '--minutes', '0.5'], [])
    expect(asked).toMatchObject({ names: ['scan', 'open'], full: true, minutes: 0.5 })
    expect(parseBenchArguments([], [])).toMatchObject({ names: [], full: false, minutes: 10 })
  })
})

describe('npm run bench', () => {
  const script = path.join(repository, 'bench/run.js')
  const run = async (...args: string[]): Promise<{ stdout: string; stderr: string }> => {
    return await promisify(execFile)(process.execPath, [script, ...args], { timeout: 60_000 })
  }

  it('names what it can measure, and what it does not understand', {
    timeout: 120_000,
  }, async () => {
    expect((await run('--help')).stdout).toContain('\n  cluster/partitions-curve\n')
    await expect(run('--minutes', '-1')).rejects.toThrow(/'-1' is invalid.*above 0/)
    await expect(run('no-such-bench')).rejects.toThrow(/no-such-bench: allowed are log\/crc32c/)
  })
})
