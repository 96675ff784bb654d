/**
 * Compiles the benches and all they measure to plain JavaScript, so that what is measured is what
 * runs in production, not what a loader makes of it.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle } from '../scripts/bundle.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const compiled = join(here, '..', '.cache', 'bench')

/** @returns where the compiled `bench` folder is; ends this process where it cannot be compiled */
export async function compileBenches() {
  const compiler = fileURLToPath(import.meta.resolve('typescript/package.json'))
  rmSync(compiled, { recursive: true, force: true })
  runNode([join(compiler, '..', 'bin', 'tsc'), '-p', join(here, 'tsconfig.json')])
  // The command line, which a trial starts, looks for it beside its own folders.
  copyFileSync(join(here, '..', 'package.json'), join(compiled, 'package.json'))
  await bundle(join(compiled, 'src'))
  return join(compiled, 'bench')
}

/** Runs a script in a process of its own, and ends this one as it ended where that was badly. */
export function runNode(args) {
  const { status, error } = spawnSync(process.execPath, args, {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (error !== undefined) throw error
  if (status !== 0) process.exit(status ?? 1)
}
