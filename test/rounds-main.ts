/** Command line of the long random tests; see `rounds.js`. */
import { parseArgs } from 'node:util'
import { runLogSeed } from './crash/log-rounds.ts'
import { runRounds } from './support/rounds-progress.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: 'string', default: '10000' },
    from: { type: 'string', default: '1' },
  },
})

if (positionals[0] === 'model') {
  const first = wholeNumber('--from', values.from)
  runRounds('seeds', wholeNumber('--seeds', values.seeds), (index) => runLogSeed(first + index))
} else {
  process.stderr.write('say which: model, crash or fuzz\n')
  process.exitCode = 2
}

function wholeNumber(option: string, text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= 0) return value
  process.stderr.write(`${option} ${text}: a whole number is wanted\n`)
  process.exit(2)
}
