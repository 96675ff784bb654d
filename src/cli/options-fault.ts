/** The options of `tidemark catch-up` that say what goes wrong with whom, when and for how long. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { scheduleProblem } from '../lab/fault-schedule.ts'
import { type Fault, type FaultDetails, type FaultKind, faultKinds } from '../lab/faults.ts'
import type { LoadOptions } from '../lab/result.ts'
import { badValue, parseCount, parseDuration, parseThrottle } from '../lab/units.ts'
import {
  choice,
  isGiven,
  type OptionSpec,
  orList,
  pathValue,
  type RawOptions,
  textOf,
} from './options-values.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const scheduleBytesMax = 1024 * 1024

export const faultSpecs: readonly OptionSpec[] = [
  {
    flags: '--fault <kind>',
    text: `what happens, to the follower unless it is the controller: ${orList(faultKinds)}`,
    fallback: 'pause',
  },
  { flags: '--throttle <rate>', text: 'what --fault throttle leaves it, for example 20MB/s' },
  {
    flags: '--isolate-from <whom>',
    text: 'whom --fault isolate cuts it off from: controller, leader or both',
    fallback: 'both',
  },
  {
    flags: '--isolate-direction <way>',
    text: 'whose messages are lost: outgoing (its own), incoming (to it) or both',
    fallback: 'both',
  },
  {
    flags: '--disk-delay <duration>',
    text: 'what --fault slow-disk adds to every write',
    fallbackText: '50ms if there is no --disk-rate',
  },
  { flags: '--disk-rate <rate>', text: 'what --fault slow-disk leaves, for example 5MB/s' },
  {
    flags: '--clock-offset <duration>',
    text: 'how far --fault clock puts its clock forward, or with a - back',
    fallback: '1h',
  },
  {
    flags: '--follower <broker>',
    text: 'whom it happens to; leader: the broker that leads',
    fallbackText: 'the last broker',
  },
  { flags: '--outage <duration>', text: 'for how long', fallback: '5s' },
  {
    flags: '--fault-at <list>',
    text: 'several faults, TIME:KIND:BROKER[:DURATION],… after the load began: 3s:kill:2,4s:pause:3:1s; without BROKER: 3s:controller:1s',
  },
  { flags: '--schedule <file>', text: 'the same as JSON: [{"at", "fault", "broker", "for", …}]' },
  {
    flags: '--session-timeout <duration>',
    text: 'broker.session.timeout.ms: how long a silent broker stays unfenced',
    fallbackText: '9s; 3s for isolate and for a leader',
  },
]

export interface FaultOptions {
  readonly fault: FaultKind
  readonly throttleBytesPerSec: number | null
  /** All that happens, in order; the first sets the scene, the last end is the return. */
  readonly faults: readonly Fault[]
  /** The broker under study. */
  readonly follower: number
  readonly outageMs: number
  readonly sessionTimeoutMs: number
}

/** @throws {TidemarkError} INVALID_ARGUMENT naming the option, the value and what is allowed. */
export function faultOptions(raw: RawOptions, load: LoadOptions, warmUpMs: number): FaultOptions {
  const outageMs = parseDuration('--outage', textOf(raw, '--outage', '5s')!, {
    min: 10,
    max: hourMs,
  })
  const scheduled = scheduledFaults(raw, outageMs)
  const kind = choice('--fault', textOf(raw, '--fault', 'pause')!, faultKinds)
  const faults = scheduled ?? [
    {
      atMs: warmUpMs,
      forMs: outageMs,
      kind,
      broker: kind === 'controller' ? 0 : followerValue(raw, load),
      ...detailsOf(raw, [kind]),
    },
  ]
  const [option, text] = scheduleSource(raw)
  const problem = scheduleProblem(faults, load.brokers)
  if (problem !== undefined) throw badValue(option, text, problem)
  const [first] = [...faults].sort((a, b) => a.atMs - b.atMs)
  const follower =
    scheduled === undefined || isGiven(raw, '--follower') || first!.broker === 0
      ? followerValue(raw, load, scheduled !== undefined)
      : first!.broker
  return {
    fault: first!.kind,
    throttleBytesPerSec: first!.throttleBytesPerSec,
    faults,
    follower,
    outageMs: scheduled === undefined ? outageMs : endOf(faults) - first!.atMs,
    sessionTimeoutMs: sessionTimeout(raw, load, faults),
  }
}

function endOf(faults: readonly Fault[]): number {
  return Math.max(...faults.map(({ atMs, forMs }) => atMs + forMs))
}

/** Quick where it is the session by which anything comes of the fault. */
function sessionTimeout(raw: RawOptions, load: LoadOptions, faults: readonly Fault[]): number {
  const isQuick = faults.some(({ kind, broker }) => {
    return kind === 'isolate' || (load.leaders === 'one' && broker === 1)
  })
  const text = textOf(raw, '--session-timeout', isQuick ? '3s' : '9s')!
  return parseDuration('--session-timeout', text, { min: 100, max: hourMs })
}

function followerValue(raw: RawOptions, load: LoadOptions, mayLead = false): number {
  const { brokers, leaders } = load
  const text = textOf(raw, '--follower')
  if (text === undefined) return brokers
  if (text === 'leader') return 1
  const follower = parseCount('--follower', text, { min: 1, max: brokers })
  if (follower > 1 || leaders === 'spread' || mayLead) return follower
  const others = brokers === 2 ? '2' : `from 2 to ${brokers}`
  throw badValue('--follower', text, `must be ${others} or leader; broker 1 leads (see --leaders)`)
}

/** Which option the list of faults came from, for complaints. */
function scheduleSource(raw: RawOptions): [string, string] {
  for (const option of ['--schedule', '--fault-at']) {
    if (isGiven(raw, option)) return [option, textOf(raw, option)!]
  }
  return ['--fault', textOf(raw, '--fault', 'pause')!]
}

function scheduledFaults(raw: RawOptions, outageMs: number): Fault[] | undefined {
  const isList = isGiven(raw, '--fault-at')
  const isFile = isGiven(raw, '--schedule')
  if (!isList && !isFile) return undefined
  if (isList && isFile) {
    throw badValue('--fault-at', textOf(raw, '--fault-at')!, 'not together with --schedule')
  }
  if (isGiven(raw, '--fault')) {
    const [option] = scheduleSource(raw)
    throw badValue('--fault', textOf(raw, '--fault')!, `not together with ${option}`)
  }
  const entries = isList ? listEntries(raw) : fileEntries(raw)
  const kinds = new Set(entries.map(({ kind }) => kind))
  refuseUnused(raw, [...kinds])
  return entries.map(({ at, kind, broker, duration, overrides }) => {
    const [option] = scheduleSource(raw)
    return {
      atMs: parseDuration(option, at, { max: hourMs }),
      forMs:
        duration === undefined
          ? outageMs
          : parseDuration(option, duration, { min: 1, max: hourMs }),
      kind,
      broker,
      ...faultDetails({ ...raw, ...overrides }, kind),
    }
  })
}

interface Entry {
  readonly at: string
  readonly kind: FaultKind
  readonly broker: number
  readonly duration: string | undefined
  /** Options as given for this fault alone. */
  readonly overrides: RawOptions
}

function listEntries(raw: RawOptions): Entry[] {
  const text = textOf(raw, '--fault-at')!
  return text.split(',').map((part) => {
    const [at, kind, ...more] = part.trim().split(':')
    const [broker, duration, ...rest] = kind === 'controller' ? ['0', ...more] : more
    if (at === undefined || kind === undefined || broker === undefined || rest.length > 0) {
      throw badValue('--fault-at', part, 'must be TIME:KIND:BROKER[:DURATION] such as 3s:kill:2')
    }
    return {
      at,
      kind: choice('--fault-at', kind, faultKinds),
      broker: parseCount('--fault-at', broker),
      duration,
      overrides: {},
    }
  })
}

const entrySchema = z.strictObject({
  at: z.string(),
  fault: z.enum(faultKinds),
  broker: z.number().int().optional(),
  for: z.string().optional(),
  throttle: z.string().optional(),
  isolateFrom: z.string().optional(),
  isolateDirection: z.string().optional(),
  diskDelay: z.string().optional(),
  diskRate: z.string().optional(),
  clockOffset: z.string().optional(),
})

function fileEntries(raw: RawOptions): Entry[] {
  const file = pathValue('--schedule', textOf(raw, '--schedule')!)
  const parsed = z.array(entrySchema).safeParse(jsonOf(file))
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!
    const where = issue.path.length === 0 ? '' : ` at ${issue.path.join('.')}`
    throw badValue('--schedule', file, `must be a list of faults${where}: ${issue.message}`)
  }
  return parsed.data.map(({ at, fault, broker = 0, for: duration, ...overrides }, index) => {
    if (fault === 'controller' && broker !== 0) {
      throw badValue('--schedule', file, `at ${index}.broker: not with controller`)
    }
    return { at, kind: fault, broker, duration, overrides }
  })
}

function jsonOf(file: string): unknown {
  try {
    const text = readFileSync(file, 'utf8')
    if (text.length > scheduleBytesMax) throw new Error('larger than 1 MiB')
    return JSON.parse(text)
  } catch (cause) {
    throw badValue('--schedule', file, `must be a JSON file: ${(cause as Error).message}`)
  }
}

/** Which options go with which kind. */
const optionsOfKind: Readonly<Partial<Record<FaultKind, readonly string[]>>> = {
  throttle: ['--throttle'],
  isolate: ['--isolate-from', '--isolate-direction'],
  'slow-disk': ['--disk-delay', '--disk-rate'],
  clock: ['--clock-offset'],
}

function detailsOf(raw: RawOptions, kinds: readonly FaultKind[]): FaultDetails {
  refuseUnused(raw, kinds)
  return faultDetails(raw, kinds[0]!)
}

function refuseUnused(raw: RawOptions, kinds: readonly FaultKind[]): void {
  for (const [kind, options] of Object.entries(optionsOfKind)) {
    if (kinds.includes(kind as FaultKind)) continue
    for (const option of options) {
      if (isGiven(raw, option))
        throw badValue(option, textOf(raw, option)!, `only with --fault ${kind}`)
    }
  }
}

function faultDetails(raw: RawOptions, kind: FaultKind): FaultDetails {
  const throttle = textOf(raw, '--throttle')
  if (kind === 'throttle' && throttle === undefined) {
    throw badValue('--fault', kind, 'needs --throttle with a rate such as 20MB/s')
  }
  return {
    throttleBytesPerSec: kind === 'throttle' ? parseThrottle('--throttle', throttle!) : null,
    isolation: kind === 'isolate' ? isolationOf(raw) : null,
    disk: kind === 'slow-disk' ? diskOf(raw) : null,
    clockOffsetMs: kind === 'clock' ? clockOffsetOf(raw) : null,
  }
}

function isolationOf(raw: RawOptions): FaultDetails['isolation'] {
  const from = textOf(raw, '--isolate-from', 'both')!
  const direction = textOf(raw, '--isolate-direction', 'both')!
  return {
    from: choice('--isolate-from', from, ['controller', 'leader', 'both']),
    direction: choice('--isolate-direction', direction, ['outgoing', 'incoming', 'both']),
  }
}

function diskOf(raw: RawOptions): FaultDetails['disk'] {
  const rate = textOf(raw, '--disk-rate')
  const delay = textOf(raw, '--disk-delay', rate === undefined ? '50ms' : '0')!
  return {
    writeDelayMs: parseDuration('--disk-delay', delay, { max: 60_000 }),
    bytesPerSec: rate === undefined ? 0 : parseThrottle('--disk-rate', rate),
  }
}

function clockOffsetOf(raw: RawOptions): number {
  const text = textOf(raw, '--clock-offset', '1h')!
  const isBack = text.startsWith('-')
  const ms = Math.round(
    parseDuration('--clock-offset', isBack ? text.slice(1) : text, { max: 20 * dayMs }),
  )
  return isBack ? -ms : ms
}
