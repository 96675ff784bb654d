/**
 * Command line that tries whether the simulation finds bugs; see `simulate.js`:
 *   --mutation NAME[,NAME…]|all  and what `simulate-main.ts` takes. Exit code 1: one was not found.
 */

import { runMutation } from './mutation-run.ts'
import { mutations } from './mutations.ts'

const [repository, names, ...args] = process.argv.slice(2)
const wanted = names === 'all' ? mutations.map(({ name }) => name) : names.split(',')
let missed = 0
for (const name of wanted) {
  const mutation = mutations.find((each) => each.name === name)
  if (mutation === undefined) {
    const known = mutations.map((each) => each.name).join(', ')
    process.stderr.write(`--mutation ${name}: allowed are all, ${known}\n`)
    process.exit(2)
  }
  const { histories, told } = runMutation(repository, mutation, args)
  if (histories === undefined) missed++
  const found = histories === undefined ? 'NOT FOUND' : `found in history ${histories}`
  process.stdout.write(`${name}: ${found}: ${told.slice(0, 200)}\n`)
}
process.stdout.write(`${wanted.length} mutations, ${missed} not found\n`)
if (missed > 0) process.exitCode = 1
