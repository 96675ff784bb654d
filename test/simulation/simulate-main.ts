/** Command line of the simulation; see `simulate.js`. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Coverage } from './coverage.ts'
import type { CutHistory } from './cut-history.ts'
import { quietBranches } from './expected-branches.ts'
import { type ManyHistories, runMany, type Summary } from './many-histories.ts'

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '2000' },
    steps: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: '1' },
    without: { type: 'string', default: '' },
    'until-violation': { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
  },
})

const tellEveryMs = process.stderr.isTTY === true ? 500 : 5_000

function wholeNumber(option: 'histories' | 'steps' | 'seed' | 'workers'): number {
  const value = Number(values[option])
  if (Number.isSafeInteger(value) && value >= 0) return value
  process.stderr.write(`--${option} ${values[option]}: a whole number is wanted\n`)
  process.exit(2)
}

function requested(): ManyHistories {
  const without = new Set(values.without === '' ? [] : values.without.split(',').map(Number))
  return {
    seed: wholeNumber('seed'),
    histories: wholeNumber('histories'),
    steps: wholeNumber('steps'),
    without,
    untilViolation: values['until-violation'],
    ...(values.trace ? { trace: (line: string) => process.stdout.write(`${line}\n`) } : {}),
  }
}

/** A process of its own with a part of the seeds. */
function runPart(seed: number, histories: number, onProgress: (summary: Summary) => void) {
  const args = ['--seed', String(seed), '--histories', String(histories)]
  args.push('--steps', values.steps, '--without', values.without)
  if (values['until-violation']) args.push('--until-violation')
  const child = fork(fileURLToPath(import.meta.url), args, { env: { ...process.env, PART: '1' } })
  return new Promise<Summary>((resolve, reject) => {
    let last: Summary | undefined
    child.on('message', (summary: Summary) => {
      last = summary
      onProgress(summary)
    })
    child.on('exit', (code) => {
      if (code === 0 && last !== undefined) resolve(last)
      else reject(new Error(`a process of the simulation ended with code ${code}`))
    })
  })
}

async function runParts(many: ManyHistories, workers: number): Promise<Summary> {
  const parts: Summary[] = []
  const share = Math.ceil(many.histories / workers)
  const running = Array.from({ length: workers }, (_, worker) => {
    const first = worker * share
    const histories = Math.max(0, Math.min(share, many.histories - first))
    return runPart(many.seed + first, histories, (summary) => {
      parts[worker] = summary
      tell(sumOf(parts), many.histories)
    })
  })
  return sumOf(await Promise.all(running))
}

function sumOf(parts: readonly (Summary | undefined)[]): Summary {
  const coverage = new Coverage()
  const sum: Summary = { histories: 0, steps: 0, violations: 0, told: [], counts: [] }
  for (const part of parts) {
    if (part === undefined) continue
    sum.histories += part.histories
    sum.steps += part.steps
    sum.violations += part.violations
    sum.told.push(...part.told)
    coverage.addAll(part.counts)
  }
  sum.counts.push(...coverage.counts)
  return sum
}

const startedMs = performance.now()
let toldAtMs = startedMs
const toldSeeds = new Set<number>()

function tell({ histories, violations, told }: Summary, wanted: number): void {
  const nowMs = performance.now()
  if (nowMs - toldAtMs < tellEveryMs) return
  toldAtMs = nowMs
  // Of a long run now, and all once more in its result.
  for (const cut of told) {
    if (toldSeeds.has(cut.seed)) continue
    toldSeeds.add(cut.seed)
    process.stderr.write(textOf(cut))
  }
  const rate = (histories / ((nowMs - startedMs) / 1_000)).toFixed(0)
  const line = `${histories} of ${wanted} histories, ${rate}/s, ${violations} violations`
  process.stderr.write(process.stderr.isTTY === true ? `\r${line} ` : `${line}\n`)
}

function print(summary: Summary): void {
  const { histories, steps, violations, told, counts } = summary
  if (process.stderr.isTTY === true) process.stderr.write('\n')
  for (const [what, count] of counts.sort(([a], [b]) => (a < b ? -1 : 1))) {
    process.stdout.write(`${String(count).padStart(12)}  ${what}\n`)
  }
  for (const branch of quietBranches(counts, histories)) {
    process.stdout.write(`quiet: ${branch}\n`)
  }
  for (const cut of told) process.stdout.write(textOf(cut))
  process.stdout.write(`${histories} histories, ${steps} steps, ${violations} violations\n`)
  if (violations > 0) process.exitCode = 1
}

function textOf({ seed, steps, without, violation }: CutHistory): string {
  const { invariant, partition, detail } = violation
  const options = without.length === 0 ? '' : ` --without ${without.join(',')}`
  return [
    `seed ${seed}: ${invariant}${partition < 0 ? '' : `, partition #${partition}`}: ${detail}`,
    `  npm run simulate -- --histories 1 --seed ${seed} --steps ${steps}${options} --trace`,
    '',
  ].join('\n')
}

const many = requested()
if (process.env.PART === '1') {
  let sentAtMs = 0
  const summary = runMany(many, (sofar) => {
    if (performance.now() - sentAtMs < 500) return
    sentAtMs = performance.now()
    process.send!({ ...sofar, counts: [] })
  })
  process.send!(summary)
} else {
  const workers = Math.max(1, wholeNumber('workers'))
  const whole = () => runMany(many, (sofar) => tell(sofar, many.histories))
  print(workers === 1 ? whole() : await runParts(many, workers))
}
