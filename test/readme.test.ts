import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { clusterConfig, topicConfig } from '../src/config.ts'
import { repository } from './support/source-files.ts'
import { temporaryDirectory } from './support/temporary-directory.ts'

const readme = readFileSync(path.join(repository, 'README.md'), 'utf8')
const programs = new Map(
  [...readme.matchAll(/^```js file=([\w.]+)\n(.*?)^```$/gms)].map(([, name, text]) => [
    name!,
    text!,
  ]),
)

/** As the reader would run it: against what is built, in a directory of its own. */
async function run(name: string): Promise<string> {
  // Inside the repository, so that the package finds itself by its name.
  const folder = path.join(repository, '.cache', `readme-${process.pid}-${name}`)
  mkdirSync(folder, { recursive: true })
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = path.join(folder, name)
  writeFileSync(file, programs.get(name)!)
  const cwd = temporaryDirectory()
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], {
    cwd,
    timeout: 60_000,
    killSignal: 'SIGKILL',
  })
  expect(stderr).toBe('')
  return stdout
}

describe('the programs of the README', () => {
  it('are the two that are run here', () => {
    expect([...programs.keys()]).toEqual(['cluster.mjs', 'log.mjs'])
  })

  it('a follower leaves and rejoins in an embedded cluster', { timeout: 90_000 }, async () => {
    const lines = (await run('cluster.mjs')).trimEnd().split('\n')
    expect(lines[0]).toMatch(/^shrinkCommitted: in sync are now 1,2$/)
    expect(lines).toContainEqual(expect.stringMatching(/^expandCommitted: in sync are now 1,2,3$/))
    const [, sent, read] = /^sent (\d+), read (\d+)$/.exec(lines.at(-1)!)!
    expect(Number(sent)).toBeGreaterThan(0)
    expect(read).toBe(sent)
  })

  it('a log alone', { timeout: 90_000 }, async () => {
    expect((await run('log.mjs')).trimEnd().split('\n')).toEqual([
      '1: 21.0',
      '2: 21.5',
      'half a minute past noon: offset 1',
      'followed 2: 21.5',
      'followed 3: 22.0',
    ])
  })
})

describe('the settings in the README', () => {
  it('are all there are, with their defaults', () => {
    const section = /<!-- config.*?-->(.*)<!-- \/config -->/s.exec(readme)![1]!
    const rows = [...section.matchAll(/^\| `([\w.]+)` +\| `([^`]+)` +\|/gm)]
    const told = Object.fromEntries(rows.map(([, name, value]) => [name!, value!]))
    const defaults = Object.entries({ ...clusterConfig(), ...topicConfig() })
    expect(told).toEqual(Object.fromEntries(defaults.map(([name, value]) => [name, String(value)])))
  })
})
