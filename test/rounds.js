#!/usr/bin/env node
/**
 * Compiles and runs the long versions of the random tests; short ones run with `npm test`.
 *   npm run test:model -- [--seeds N] [--from SEED]
 *   npm run test:crash -- [--rounds N] [--seed SEED]      (build first: npm run build)
 *   npm run test:fuzz -- [--inputs N] [--from SEED]
 */
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const compiled = join(here, '..', '.cache', 'rounds')

function run(script, args) {
  const { status, error } = spawnSync(process.execPath, [script, ...args], { stdio: 'inherit' })
  if (error !== undefined) throw error
  if (status !== 0) process.exit(status ?? 1)
}

const compiler = fileURLToPath(import.meta.resolve('typescript/package.json'))
rmSync(compiled, { recursive: true, force: true })
run(join(compiler, '..', 'bin', 'tsc'), ['-p', join(here, 'tsconfig.json')])
run(join(compiled, 'test', 'rounds-main.js'), process.argv.slice(2))
