#!/usr/bin/env node
/**
 * Compiles and runs the simulation of brokers, controller, network and disks; a short one runs with
 * `npm test`. Exit code 1 when an invariant was broken; each violation comes with the line that
 * replays it.
 *   npm run simulate -- [--histories N] [--steps M] [--seed S] [--workers W]
 *                       [--without STEP,…] [--until-violation] [--trace]
 *   npm run simulate -- --mutation NAME,…|all [--histories N] …     does it find bugs put in?
 */
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const compiled = join(here, '..', '..', '.cache', 'simulation')

// Each history makes and drops a cluster: room for that spares most of the collections.
const nodeOptions = ['--max-semi-space-size=64']

function run(script, args) {
  const { status, error } = spawnSync(process.execPath, [...nodeOptions, script, ...args], {
    stdio: 'inherit',
  })
  if (error !== undefined) throw error
  if (status !== 0) process.exit(status ?? 1)
}

const compiler = fileURLToPath(import.meta.resolve('typescript/package.json'))
rmSync(compiled, { recursive: true, force: true })
run(join(compiler, '..', 'bin', 'tsc'), ['-p', join(here, 'tsconfig.json')])
const built = join(compiled, 'test', 'simulation')
const args = process.argv.slice(2)
const at = args.indexOf('--mutation')
if (at < 0) run(join(built, 'simulate-main.js'), args)
else {
  const [, names = ''] = args.splice(at, 2)
  run(join(built, 'mutate-main.js'), [join(here, '..', '..'), names, ...args])
}
