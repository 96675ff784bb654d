import { copyFileSync, readFileSync, truncateSync } from 'node:fs'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { errorLine, exitCodeOfError, exitCodes, throwUsageErrors } from '../../src/cli/exit.ts'
import { defineLogCommand } from '../../src/cli/log-command.ts'
import { dumpFiles } from '../../src/cli/log-dump-command.ts'
import { createLineWriter } from '../../src/cli/log-lines.ts'
import { exitCodeOfVerify, verifyLines } from '../../src/cli/log-verify-command.ts'
import { verifyDirectories } from '../../src/log-tools/verify-directories.ts'
import { fixtureDirectory } from '../interop/fixture-files.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const segment = path.join(fixtureDirectory, 'rolled-0', '00000000000000000040.log')

async function dump(files: readonly string[], options: { records?: boolean; json?: boolean }) {
  const stream = new PassThrough()
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const code = await dumpFiles(files, options, stream)
  return { code, lines: Buffer.concat(chunks).toString().trimEnd().split('\n') }
}

/** The line on standard error and the exit code of a command that is refused. */
async function refused(...args: readonly string[]): Promise<readonly [string | null, number]> {
  const program = throwUsageErrors(new Command('tidemark'))
  throwUsageErrors(defineLogCommand(program.command('log'), () => {}))
  try {
    await program.parseAsync(['log', ...args], { from: 'user' })
  } catch (error) {
    return [errorLine(error), exitCodeOfError(error)]
  }
  return ['was not refused', 0]
}

describe('log dump', () => {
  it('prints a JSON object a line', async () => {
    const { code, lines } = await dump([segment, `${segment.slice(0, -4)}.index`], {
      json: true,
      records: true,
    })
    expect(code).toBe(exitCodes.success)
    const types = lines.map((line) => (JSON.parse(line) as { type: string }).type)
    expect(types.filter((type) => type === 'batch')).toHaveLength(3)
    expect(types.filter((type) => type === 'record')).toHaveLength(40)
    expect(types.filter((type) => type === 'file')).toHaveLength(2)
    expect(types.at(-1)).toBe('end')
  })

  it('fails when a file is not whole', async () => {
    const file = path.join(temporaryDirectory(), path.basename(segment))
    copyFileSync(segment, file)
    truncateSync(file, 5_000)
    const { code, lines } = await dump([file, segment], {})
    expect(code).toBe(exitCodes.failure)
    expect(lines.filter((line) => line.startsWith('NOT WHOLE'))).toHaveLength(1)
    expect(lines.at(-1)).toBe('whole: 5742 bytes')
  })

  it('stops without an error when nobody reads on', async () => {
    const stream = new PassThrough().resume()
    const writer = createLineWriter(stream)
    expect(await writer.write('x'.repeat(100_000))).toBe(true)
    stream.destroy(Object.assign(new Error('closed'), { code: 'EPIPE' }))
    await new Promise((resolve) => stream.once('close', resolve))
    expect(await writer.write('y'.repeat(100_000))).toBe(false)
  })
})

describe('log verify', () => {
  it('says what it checked, and succeeds', () => {
    const result = verifyDirectories([fixtureDirectory])
    expect(exitCodeOfVerify(result)).toBe(exitCodes.success)
    expect(verifyLines(result)).toEqual([
      '1 directory, 9 partitions, 11 segments: 127 batches, 896 records, 53 index entries, 29 checkpoint entries, 50495 bytes',
      'no fault found',
    ])
  })

  it('lists each fault by file, offset and position, and fails', () => {
    const directory = temporaryDirectory()
    const file = path.join(directory, path.basename(segment))
    copyFileSync(segment, file)
    truncateSync(file, readFileSync(file).length - 1)
    const result = verifyDirectories([directory])
    expect(exitCodeOfVerify(result)).toBe(exitCodes.failure)
    const lines = verifyLines(result)
    expect(lines[1]).toMatch(/40\.log: batch at offset 63, position 3758: expected a whole batch/)
    expect(lines.at(-1)).toBe('2 faults')
  })
})

describe('bad usage', () => {
  it.each([
    [['dump'], /missing required argument 'file'/],
    [['dump', '/nothing/here.log'], /\/nothing\/here.log: no such file/],
    [['dump', '--record', segment], /--record: unknown option/],
    [['dump', fixtureDirectory], /is a directory/],
    [['verify'], /missing required argument 'directory'/],
    [['verify', '/nothing'], /\/nothing: no such directory/],
    [['verify', segment], /not a directory/],
    [['verify', path.join(fixtureDirectory, '..', '..', 'cli')], /holds no log; allowed are/],
    [['verfy', fixtureDirectory], /verfy: unknown command/],
  ])('%j costs one line', async (args, expected) => {
    const [line, code] = await refused(...args)
    expect(line).toMatch(expected)
    expect(line).not.toContain('\n')
    expect(code).toBe(exitCodes.usage)
  })
})
