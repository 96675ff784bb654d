import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundle, threadEntries } from '../scripts/bundle.mjs'
import { repository, sourceFiles } from './support/source-files.ts'

const built = join(repository, '.cache', 'bundle-test')
const importPattern = /^(?:import|export)\b[^;]*?from\s*["']([^"']+)["']/gm

beforeAll(async () => {
  rmSync(built, { recursive: true, force: true })
  const compiler = fileURLToPath(import.meta.resolve('typescript/package.json'))
  const args = ['-p', join(repository, 'tsconfig.build.json'), '--outDir', built]
  const { status } = spawnSync(process.execPath, [join(dirname(compiler), 'bin', 'tsc'), ...args])
  expect(status).toBe(0)
  await bundle(built)
}, 120_000)

afterAll(() => rmSync(built, { recursive: true, force: true }))

/** Runs a program in a process of its own. @returns what it wrote */
function run(code: string): string {
  const program = join(built, 'program.mjs')
  writeFileSync(program, code)
  const flags = ['--enable-source-maps', program]
  const { stdout, stderr } = spawnSync(process.execPath, flags, { encoding: 'utf8' })
  expect(stderr).toBe('')
  return stdout
}

const moduleUrl = (name: string): string => JSON.stringify(pathToFileURL(join(built, name)).href)

describe('the built package', () => {
  it('has every thread’s entry among those that are put together', () => {
    const named = sourceFiles('src').flatMap(({ path, text }) => {
      const entries = text.matchAll(/`([\w-]+)\$\{moduleSuffix\}`/g)
      return Array.from(entries, ([, name]) => `${dirname(path).replace('src/', '')}/${name}`)
    })
    expect(named.length).toBeGreaterThan(5)
    expect([...new Set(named)].sort()).toEqual([...threadEntries].sort())
  })

  it.each(threadEntries)('needs one file of ours for %s', (name) => {
    const text = readFileSync(join(built, `${name}.js`), 'utf8')
    const imports = Array.from(text.matchAll(importPattern), ([, from]) => from)
    expect(imports).toContainEqual(expect.stringMatching(/^node:/))
    expect(imports.filter((from) => from?.startsWith('.'))).toEqual([])
  })

  it('shares what its two doors have in common', () => {
    const code = `
      const whole = await import(${moduleUrl('index.js')})
      const log = await import(${moduleUrl('log/index.js')})
      await log.Log.open('/nowhere', { 'segment.bytes': 1 }).catch((error) => {
        process.stdout.write(String(whole.isTidemarkError(error, 'INVALID_CONFIG')))
      })`
    expect(run(code)).toBe('true')
  })

  it('tells of errors where they are in the sources', () => {
    const code = `
      const { Cluster } = await import(${moduleUrl('index.js')})
      await Cluster.open({ directory: '/nowhere', brokers: -1 }).catch((error) => {
        process.stdout.write(error.stack)
      })`
    const lines = readFileSync(join(repository, 'src/cluster-options.ts'), 'utf8').split('\n')
    const [, line] = /src[/\\]cluster-options\.ts:(\d+):\d+/.exec(run(code)) ?? []
    expect(lines[Number(line) - 1]).toMatch(/throw new TidemarkError/)
  })

  it('starts threads from where the sources name them', () => {
    const directory = join(built, 'cluster')
    const code = `
      const { Cluster } = await import(${moduleUrl('index.js')})
      const cluster = await Cluster.open({ directory: ${JSON.stringify(directory)}, brokers: 1 })
      await cluster.createTopic('t', { partitions: 1, replicationFactor: 1 })
      const { offset } = await cluster.producer().send({ topic: 't', partition: 0, value: 'v' })
      await cluster.close()
      process.stdout.write(String(offset))`
    expect(run(code)).toBe('0')
  })
})
