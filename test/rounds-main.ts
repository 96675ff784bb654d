/** Command line of the long random tests; see `rounds.js`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { builtLibrary, KillRounds } from './crash/kill-rounds.ts'
import { runLogSeed } from './crash/log-rounds.ts'
import { runFuzzInput } from './fuzz/fuzz-inputs.ts'
import { runRounds } from './support/rounds-progress.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: 'string', default: '10000' },
    from: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    inputs: { type: 'string', default: '1000000' },
    library: { type: 'string', default: builtLibrary },
  },
})

if (positionals[0] === 'model') await runModel()
else if (positionals[0] === 'crash') await runKills()
else if (positionals[0] === 'fuzz') await runFuzz()
else {
  process.stderr.write('say which: model, crash or fuzz\n')
  process.exitCode = 2
}

async function runModel(): Promise<void> {
  const first = wholeNumber('--from', values.from)
  const count = wholeNumber('--seeds', values.seeds)
  await runRounds('seeds', count, (index) => runLogSeed(first + index))
}

async function runKills(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-kill-'))
  const rounds = new KillRounds(directory, values.library, wholeNumber('--seed', values.seed))
  let appends = 0
  await runRounds('rounds', wholeNumber('--rounds', values.rounds), async () => {
    appends += await rounds.round()
  })
  process.stdout.write(`${appends} flushed appends\n`)
  if (process.exitCode === undefined) rmSync(directory, { recursive: true })
  else process.stderr.write(`the log is in ${directory}\n`)
}

async function runFuzz(): Promise<void> {
  const first = wholeNumber('--from', values.from)
  const outcomes = new Map<string, [number, number]>()
  await runRounds('inputs', wholeNumber('--inputs', values.inputs), (index) => {
    const { target, accepted } = runFuzzInput(first + index)
    const counts = outcomes.get(target) ?? [0, 0]
    counts[accepted ? 0 : 1] += 1
    outcomes.set(target, counts)
  })
  for (const [target, [read, refused]] of outcomes) {
    process.stdout.write(`${target}: ${read} read, ${refused} refused\n`)
  }
}

function wholeNumber(option: string, text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= 0) return value
  process.stderr.write(`${option} ${text}: a whole number is wanted\n`)
  process.exit(2)
}
