/** The words for what a metadata log tells, shared by the text and the page. */
import { formatDuration } from '../lab/units.ts'
import type {
  Absence,
  BrokerEventKind,
  ControllerTerm,
  PartitionChange,
  PartitionHistory,
} from '../log-tools/timeline-model.ts'

const eventWords: Readonly<Record<BrokerEventKind, string>> = {
  registered: 'registered',
  unfenced: 'unfenced',
  fenced: 'fenced',
  shuttingDown: 'shutting down',
  unregistered: 'unregistered',
}

export function wordOfEvent(kind: BrokerEventKind): string {
  return eventWords[kind]
}

/** `2026-11-30 12:00:53.855`, in UTC. */
export function timeText(atMs: number): string {
  const date = new Date(atMs)
  // A record may carry any number as its time.
  if (Number.isNaN(date.getTime())) return `${atMs} ms`
  return date.toISOString().replace('T', ' ').replace('Z', '')
}

export function controllerText({ epoch, controllerId, offset }: ControllerTerm): string {
  const who = controllerId === null ? '' : `, controller ${controllerId}`
  return `epoch ${epoch}${who}, from offset ${offset}`
}

export function list(ids: readonly number[]): string {
  return ids.length === 0 ? 'nobody' : ids.join(', ')
}

/** What the change did, and what it stood on. */
export function changeText(change: PartitionChange, history: PartitionHistory): string {
  const { left, joined, election, leader } = change
  const did: string[] = []
  if (left.length > 0) did.push(`${list(left)} left`)
  for (const broker of joined) did.push(joinText(broker, change, history.absences))
  if (election === 'none') did.push('nobody leads')
  if (election === 'same') did.push(`${leader} leads in a new epoch`)
  if (election === 'clean') did.push(`${leader} elected out of the in-sync replicas`)
  if (election === 'eligible') did.push(`${leader} elected out of the eligible replicas`)
  if (election === 'unclean') did.push(`${leader} elected UNCLEANLY: records may be lost`)
  const reason = reasonText(change)
  if (did.length === 0) return reason
  return `${did.join('; ')}: ${reason}`
}

function joinText(broker: number, { atMs }: PartitionChange, absences: readonly Absence[]): string {
  const absence = absences.find(
    ({ brokerId, rejoinedAtMs }) => brokerId === broker && rejoinedAtMs === atMs,
  )
  const after = absence === undefined ? '' : ` after ${formatDuration(absence.outMs)}`
  return `${broker} joined${after}`
}

export function reasonText({ reason, by }: Pick<PartitionChange, 'reason' | 'by'>): string {
  switch (reason) {
    case 'created':
      return 'created'
    case 'snapshot':
      return 'as the snapshot has it'
    case 'proposed':
      return 'proposed by the leader'
    case 'reassigned':
      return 'reassignment'
    case 'elected':
      return 'election on request'
    default:
      return `broker ${by} ${eventWords[reason]}`
  }
}

/** How often and how long each replica was out, in words. */
export function absenceTexts({ absences }: PartitionHistory): string[] {
  const brokers = [...new Set(absences.map(({ brokerId }) => brokerId))].sort((a, b) => a - b)
  return brokers.map((broker) => {
    const own = absences.filter(({ brokerId }) => brokerId === broker)
    const times = own.map(({ outMs }) => outMs)
    const total = formatDuration(times.reduce((sum, ms) => sum + ms, 0))
    const often = own.length === 1 ? 'once' : `${own.length} times`
    const longest = own.length === 1 ? '' : `, longest ${formatDuration(Math.max(...times))}`
    const end = own.at(-1)!.end === 'still out' ? ', still out at the end' : ''
    return `broker ${broker} out ${often}, ${total} in all${longest}${end}`
  })
}
