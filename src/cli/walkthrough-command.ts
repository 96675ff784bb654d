/** `tidemark walkthrough`: the story of in-sync replicas, told by a cluster as it happens. */
import type { Command } from 'commander'
import { parseDuration } from '../lab/units.ts'
import { walkThrough } from '../lab/walkthrough.ts'
import type { WalkthroughOptions } from '../lab/walkthrough-result.ts'
import { exitCodes } from './exit.ts'
import { watchInterrupts } from './exit-interrupt.ts'
import {
  defineOptions,
  isOn,
  type OptionSpec,
  pathValue,
  type RawOptions,
  randomSeed,
  seedValue,
  textOf,
} from './options-values.ts'
import { printJson } from './output.ts'
import { isGood, StepPrinter, verdictText } from './walkthrough-text.ts'

const paceDefault = '3s'

const options: readonly OptionSpec[] = [
  {
    flags: '--pace [duration]',
    text: `print slowly, for reading: so long between steps; without a value ${paceDefault}`,
  },
  {
    flags: '--replica-lag-time-max <duration>',
    text: 'replica.lag.time.max.ms',
    fallback: '300ms',
  },
  {
    flags: '--session-timeout <duration>',
    text: 'broker.session.timeout.ms; longer than eight times the lag limit',
    fallback: '2500ms',
  },
  { flags: '--dir <directory>', text: 'where the cluster lies (default: a temporary one)' },
  { flags: '--seed <n>', text: 'of the payloads' },
  { flags: '--json', text: 'print one JSON document' },
]

export function defineWalkthroughCommand(command: Command, exit: (code: number) => void): Command {
  command.description(
    'one partition, three brokers: how a follower leaves and rejoins, how a leader is replaced',
  )
  return defineOptions(command, 'Options:', options).action(async (raw: RawOptions) => {
    const resolved = resolveWalkthroughOptions(raw)
    const isJson = isOn(raw, '--json')
    const interrupt = watchInterrupts()
    const columns = process.stdout.columns ?? 100
    const printer = new StepPrinter(process.stdout, paceMs(raw), {
      columns: Math.min(100, columns),
      signal: interrupt.signal,
    })
    try {
      const onStep = isJson ? () => {} : printer.add
      const result = await walkThrough(resolved, onStep, interrupt.signal)
      await printer.end()
      if (isJson) printJson(process.stdout, result)
      else process.stdout.write(`${verdictText(result)}\n`)
      exit(isGood(result) ? exitCodes.success : exitCodes.failure)
    } finally {
      interrupt.dispose()
    }
  })
}

/** @throws {TidemarkError} INVALID_ARGUMENT naming the option, the value and what is allowed */
export function resolveWalkthroughOptions(raw: RawOptions): WalkthroughOptions {
  const lagName = '--replica-lag-time-max'
  const lag = textOf(raw, lagName, '300ms')!
  const replicaLagTimeMaxMs = parseDuration(lagName, lag, { min: 100, max: 5_000 })
  const timeout = textOf(raw, '--session-timeout', '2500ms')!
  // The first chapter leaves a follower frozen for that long, and means it to keep its session.
  const range = { min: replicaLagTimeMaxMs * 8, max: 60_000 }
  const dir = textOf(raw, '--dir')
  return {
    seed: seedValue(raw, randomSeed),
    replicaLagTimeMaxMs,
    brokerSessionTimeoutMs: parseDuration('--session-timeout', timeout, range),
    dir: dir === undefined ? null : pathValue('--dir', dir),
  }
}

function paceMs(raw: RawOptions): number {
  if (raw.pace === undefined) return 0
  const text = typeof raw.pace === 'string' ? raw.pace : paceDefault
  return parseDuration('--pace', text, { min: 0, max: 600_000 })
}
