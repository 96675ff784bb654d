#!/usr/bin/env node
/**
 * Compiles and runs the simulation of brokers, controller, network and disks; a short one runs with
 * `npm test`. Exit code 1 when an invariant was broken; each violation comes with the line that
 * replays it.
 *   npm run simulate -- [--histories N] [--steps M] [--seed S] [--workers W]
 *                       [--without STEP,…] [--until-violation] [--trace]
 */
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const compiled = join(here, '..', '..', '.cache', 'simulation')

function run(script, args) {
  const { status, error } = spawnSync(process.execPath, [script, ...args], { stdio: 'inherit' })
  if (error !== undefined) throw error
  if (status !== 0) process.exit(status ?? 1)
}

const compiler = fileURLToPath(import.meta.resolve('typescript/package.json'))
rmSync(compiled, { recursive: true, force: true })
run(join(compiler, '..', 'bin', 'tsc'), ['-p', join(here, 'tsconfig.json')])
run(join(compiled, 'test', 'simulation', 'simulate-main.js'), process.argv.slice(2))
