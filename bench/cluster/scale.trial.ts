/** A cluster of three brokers with many partitions: made, idle, stopped, opened, without leader. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Finding, findingOf, ratioOf, type TrialOptions } from '../trial.ts'
import type { ScaleFigures } from './scale-stage.ts'

export async function scaleTrial({ full }: TrialOptions): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const partitions of full ? [1_000, 10_000] : [1_000]) {
    const idleMs = full ? 10_000 : 5_000
    const [line] = await inDirectory((directory) =>
      runStage('scale-stage.js', [directory, String(partitions), String(idleMs)]),
    )
    findings.push(...findingsOf(partitions, JSON.parse(line!) as ScaleFigures))
  }
  return findings
}

function findingsOf(partitions: number, figures: ScaleFigures): Finding[] {
  const what = `${partitions} partitions`
  const { limits } = figures
  const beside = (name: string, tookMs: number, limitMs: number): Finding[] => {
    const limit = `its system calls, ${what}: ${name}`
    const ratio = ratioOf(limit, [tookMs], [limitMs])
    return [
      findingOf(limit, 'ms', [limitMs]),
      { ...findingOf(`${name} ${what}`, 'ms', [tookMs]), ratio },
    ]
  }
  const idleNote = `${figures.idleSwitchesPerSec.toFixed(0)} wake-ups a second`
  return [
    ...beside('create', figures.createMs, limits.createMs),
    ...beside('first record to each of', figures.firstRecordsMs, limits.appendMs),
    ...beside('stop', figures.stopMs, limits.syncMs),
    ...beside('open', figures.openMs, limits.openMs),
    findingOf(`idle, ${what}`, '% of a core', [figures.idleShare * 100], idleNote),
    findingOf(`resident memory, ${what}`, 'MB', [figures.residentBytes / 1e6]),
    findingOf(`failover of ${what} after the session`, 'ms', [figures.failoverMs]),
  ]
}

export async function startTrial({ full }: TrialOptions): Promise<Finding[]> {
  const rounds = full ? 20 : 5
  return await inDirectory(async (directory) => {
    const place = [directory, '100']
    await runStage('start-stage.js', place)
    let processMs = 0
    const startedMs = performance.now()
    const lines = await runStage('start-stage.js', [...place, String(rounds)], (line) => {
      if (line === 'first') processMs = performance.now() - startedMs
    })
    const { coldMs, warmMs } = JSON.parse(lines.at(-1)!) as { coldMs: number; warmMs: number[] }
    const what = 'open 100 partitions and send a record'
    return [
      findingOf(`${what}, warm process`, 'ms', warmMs),
      findingOf(`${what}, new process`, 'ms', [coldMs]),
      findingOf(`${what}, from the start of the process`, 'ms', [processMs]),
    ]
  })
}

async function inDirectory<T>(action: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
  try {
    return await action(directory)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Lines that a stage wrote, each told when it comes. */
function runStage(
  script: string,
  args: readonly string[],
  onLine: (line: string) => void = () => {},
): Promise<string[]> {
  const file = fileURLToPath(new URL(script, import.meta.url))
  const child = spawn(process.execPath, ['--expose-gc', file, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n')
    rest = parts.pop()!
    for (const line of parts) {
      lines.push(line)
      onLine(line)
    }
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve(lines)
      else reject(new Error(`${script} ended with ${code}`))
    })
  })
}
