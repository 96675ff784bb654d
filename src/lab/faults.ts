/** Faults that a study can inflict, one by one or by a schedule, and the words for them. Pure. */
import { formatBytesExactly, formatDuration, formatRate } from './units.ts'

export const faultKinds = [
  'pause',
  'kill',
  'throttle',
  'wipe',
  'isolate',
  'slow-disk',
  'clock',
  'controller',
] as const

/**
 * pause: its thread stands still. kill: its thread ends without warning. wipe: that, and its disk
 * is empty afterwards. throttle: it appends so many bytes a second as a follower. isolate: it is
 * cut off. slow-disk: every write takes longer, or so many bytes go a second. clock: its time of
 * day is off. controller: not a broker but the controller's thread ends without warning.
 */
export type FaultKind = (typeof faultKinds)[number]

export type IsolateFrom = 'controller' | 'leader' | 'both'
export type IsolateDirection = 'outgoing' | 'incoming' | 'both'

/** What the kinds need to know; null: not of that kind. */
export interface FaultDetails {
  readonly throttleBytesPerSec: number | null
  readonly isolation: {
    readonly from: IsolateFrom
    readonly direction: IsolateDirection
  } | null
  /** `bytesPerSec` 0: no limit. */
  readonly disk: { readonly writeDelayMs: number; readonly bytesPerSec: number } | null
  readonly clockOffsetMs: number | null
}

export interface Fault extends FaultDetails {
  /** When it begins, ms after the load began. */
  readonly atMs: number
  /** How long it lasts, from 1 ms. */
  readonly forMs: number
  readonly kind: FaultKind
  /** 0: the controller. */
  readonly broker: number
}

/** Whom it befalls. */
export function victimOf({ broker }: Pick<Fault, 'broker'>): string {
  return broker === 0 ? 'the controller' : `broker ${broker}`
}

/** Whether the broker is away meanwhile: does nothing, or nobody hears of what it does. */
export function takesAway({ kind, isolation }: Fault): boolean {
  if (kind === 'isolate') return isolation?.from === 'both' && isolation.direction === 'both'
  return kind === 'pause' || kind === 'kill' || kind === 'wipe'
}

/** Whether the broker loses all leaderships by it, however short it is. */
export function endsTheBroker({ kind }: Pick<Fault, 'kind'>): boolean {
  return kind === 'kill' || kind === 'wipe'
}

/** As a predicate: "was …". */
export function faultWords({ kind, ...details }: Pick<Fault, 'kind' | keyof FaultDetails>): string {
  const { throttleBytesPerSec, isolation, disk, clockOffsetMs } = details
  switch (kind) {
    case 'pause':
      return 'paused'
    case 'kill':
    case 'controller':
      return 'killed without warning'
    case 'throttle':
      return `throttled to ${formatRate(throttleBytesPerSec ?? 0)}`
    case 'wipe':
      return 'stripped of its disk'
    case 'isolate':
      return `cut off from ${isolationWords(isolation)}`
    case 'slow-disk':
      return `given a disk that ${diskWords(disk)}`
    case 'clock':
      return `given a clock that is ${clockWords(clockOffsetMs ?? 0)}`
  }
}

function isolationWords(isolation: FaultDetails['isolation']): string {
  const from = isolation?.from ?? 'both'
  const whom = { controller: 'the controller', leader: 'the other brokers', both: 'everybody' }[
    from
  ]
  const direction = isolation?.direction ?? 'both'
  return direction === 'both' ? whom : `${whom}, ${direction} messages only`
}

function diskWords(disk: FaultDetails['disk']): string {
  const { writeDelayMs = 0, bytesPerSec = 0 } = disk ?? {}
  const parts: string[] = []
  if (writeDelayMs > 0) parts.push(`takes ${formatDuration(writeDelayMs)} longer a write`)
  if (bytesPerSec > 0) parts.push(`takes ${formatBytesExactly(bytesPerSec)} a second`)
  return parts.join(' and ')
}

function clockWords(offsetMs: number): string {
  return `${formatDuration(Math.abs(offsetMs))} ${offsetMs < 0 ? 'slow' : 'fast'}`
}
