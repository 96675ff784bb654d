#!/usr/bin/env node
/**
 * Compiles and runs the benches. They are compiled to plain JavaScript first, so that what is
 * measured is what runs in production, not what a loader makes of it.
 *   npm run bench [-- [NAME…] [--full [--minutes N]] [--out FILE [--merge]]
 *                     [--compare FILE [--fail-on-slower]]]
 *   npm run bench -- --tables
 * Results go to bench/results/latest.json unless --out says otherwise; with --merge those of other
 * suites stay in the file. --tables writes the README's tables from bench/results/performance.json.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const compiled = join(here, '..', '.cache', 'bench')

function run(script, args) {
  const { status, error } = spawnSync(process.execPath, [script, ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (error !== undefined) throw error
  if (status !== 0) process.exit(status ?? 1)
}

const compiler = fileURLToPath(import.meta.resolve('typescript/package.json'))
rmSync(compiled, { recursive: true, force: true })
run(join(compiler, '..', 'bin', 'tsc'), ['-p', join(here, 'tsconfig.json')])
// The command line, which a trial starts, looks for it beside its own folders.
copyFileSync(join(here, '..', 'package.json'), join(compiled, 'package.json'))

const args = process.argv.slice(2)
const named = args.some((argument) => argument === '--out' || argument.startsWith('--out='))
const out = named ? [] : ['--out', join(here, 'results', 'latest.json')]
run('--expose-gc', [join(compiled, 'bench', 'measure.js'), ...args, ...out])
