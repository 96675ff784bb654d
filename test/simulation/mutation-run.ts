/** Puts a bug into a copy of the project and runs the simulation there until it is found. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Mutation } from './mutations.ts'

const copied = ['src', 'test', 'package.json', 'tsconfig.json']

export interface MutationRun {
  readonly mutation: Mutation
  /** Up to and with the one that found it; undefined: none did. */
  readonly histories: number | undefined
  /** What the simulation printed last. */
  readonly told: string
}

/** @throws {Error} when the mutation doesn't fit the source, or doesn't compile */
export function runMutation(
  repository: string,
  mutation: Mutation,
  args: readonly string[],
): MutationRun {
  const scratch = mkdtempSync(join(tmpdir(), 'tidemark-mutation-'))
  try {
    for (const name of copied)
      cpSync(join(repository, name), join(scratch, name), { recursive: true })
    symlinkSync(join(repository, 'node_modules'), join(scratch, 'node_modules'))
    const file = join(scratch, mutation.path)
    writeFileSync(file, mutated(readFileSync(file, 'utf8'), mutation))
    compile(scratch)
    const script = join(scratch, '.cache/simulation/test/simulation/simulate-main.js')
    const run = spawnSync(
      process.execPath,
      [...process.execArgv, script, ...args, '--until-violation'],
      {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
        maxBuffer: 2 ** 28,
      },
    )
    const told = run.stdout.split('\n').filter((line) => /^(seed|\d+ histories)/.test(line))
    if (run.status === 0) return { mutation, histories: undefined, told: told.join('; ') }
    if (run.status !== 1)
      throw new Error(`${mutation.name}: the simulation ended with ${run.status}`)
    return { mutation, histories: Number.parseInt(told.at(-1)!, 10), told: told[0] }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** @throws {Error} when the piece stands there not exactly once */
export function mutated(text: string, { name, path, from, to }: Mutation): string {
  const pieces = text.split(from)
  if (pieces.length !== 2) {
    throw new Error(`mutation ${name}: stands ${pieces.length - 1} times in ${path}: ${from}`)
  }
  return pieces.join(to)
}

function compile(scratch: string): void {
  const compiler = join(scratch, 'node_modules/typescript/bin/tsc')
  const project = join(scratch, 'test/simulation/tsconfig.json')
  // What a bug leaves unused must not keep it from compiling.
  const args = ['-p', project, '--noUnusedLocals', 'false', '--noUnusedParameters', 'false']
  const { status, stdout } = spawnSync(process.execPath, [compiler, ...args], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`does not compile: ${stdout}`)
}
