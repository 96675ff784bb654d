/** Whether a list of faults can be run at all, and the order of what has to be done. Pure. */
import { type Fault, takesAway, victimOf } from './faults.ts'

export interface FaultStep {
  readonly atMs: number
  readonly action: 'inflict' | 'relieve'
  readonly fault: Fault
}

/**
 * Why the faults cannot be run together; undefined: they can. A schedule must leave one broker in
 * place at every moment, since with none nobody could do anything, and must not take out of the
 * way a broker that is already.
 */
export function scheduleProblem(faults: readonly Fault[], brokers: number): string | undefined {
  if (faults.length === 0) return 'must hold one fault at least'
  for (const [at, fault] of faults.entries()) {
    if (fault.kind !== 'controller' && (fault.broker < 1 || fault.broker > brokers)) {
      return `broker ${fault.broker}: allowed are 1 to ${brokers}`
    }
    for (const other of faults.slice(0, at)) {
      const problem = clash(fault, other)
      if (problem !== undefined) return problem
    }
  }
  return everybodyAway(faults, brokers)
}

/** Beginnings and ends in order of time; at the same moment what ends goes first. */
export function stepsOf(faults: readonly Fault[]): FaultStep[] {
  const steps = faults.flatMap((fault): FaultStep[] => [
    { atMs: fault.atMs, action: 'inflict', fault },
    { atMs: fault.atMs + fault.forMs, action: 'relieve', fault },
  ])
  const rank = ({ action }: FaultStep) => (action === 'relieve' ? 0 : 1)
  return steps.sort((a, b) => a.atMs - b.atMs || rank(a) - rank(b))
}

function clash(fault: Fault, other: Fault): string | undefined {
  if (fault.broker !== other.broker || !overlap(fault, other)) return undefined
  const isSame = fault.kind === other.kind
  const stops = (each: Fault) => each.kind !== 'isolate' && takesAway(each)
  if (!isSame && !(stops(fault) && stops(other))) return undefined
  return `${victimOf(fault)}: ${other.kind} and ${fault.kind} overlap`
}

function overlap(a: Fault, b: Fault): boolean {
  return a.atMs < b.atMs + b.forMs && b.atMs < a.atMs + a.forMs
}

function everybodyAway(faults: readonly Fault[], brokers: number): string | undefined {
  const away = faults.filter(takesAway)
  for (const { atMs } of away) {
    const gone = new Set<number>()
    for (const each of away) {
      if (each.atMs <= atMs && atMs < each.atMs + each.forMs) gone.add(each.broker)
    }
    if (gone.size === brokers) {
      return `at ${atMs} ms all ${brokers} brokers would be away: one must stay`
    }
  }
  return undefined
}
