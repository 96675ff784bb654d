/** Findings and comparisons as lines for people. */
import type { ComparedRuns, Comparison } from './compare.ts'
import type { Machine } from './results-file.ts'
import type { Finding } from './trial.ts'

export function findingLine({ name, unit, median, p25, p75, ratio, note }: Finding): string {
  const cells = [name.padEnd(56), `${formatNumber(median)} ${unit}`.padStart(18)]
  cells.push(`(${formatNumber(p25)} to ${formatNumber(p75)})`)
  if (ratio !== undefined) {
    const [low, high] = ratio.spread
    const spread = `(${formatNumber(low)} to ${formatNumber(high)})`
    cells.push(`${formatNumber(ratio.median)} ${spread} of ${ratio.to}`)
  }
  if (note !== undefined) cells.push(note)
  return cells.join(' ')
}

/** What changed first, then how much did not. */
export function comparedLines({ comparisons, caveats }: ComparedRuns): string[] {
  const lines = caveats.map((caveat) => `  ! ${caveat}`)
  for (const verdict of ['slower', 'faster', 'within noise', 'one sample, not judged'] as const) {
    const found = comparisons.filter((each) => each.verdict === verdict)
    if (found.length === 0) continue
    lines.push(`${verdict}:`)
    lines.push(...found.map(comparisonLine))
  }
  return lines.length === 0 ? ['  nothing in it that was measured now'] : lines
}

function comparisonLine({ suite, name, change, noise }: Comparison): string {
  const bound = Number.isFinite(noise) ? `noise ${(noise * 100).toFixed(1)} %` : ''
  const percent = (change - 1) * 100
  const told = `${percent < 0 ? '' : '+'}${percent.toFixed(1)} %`
  return `  ${`${suite}: ${name}`.padEnd(76)} ${told.padStart(9)}  ${bound}`.trimEnd()
}

/** A machine in a few words. */
export function machineText({ cpu, cpus, node, fileSystem }: Machine): string {
  return `${cpus} cores (${cpu}), ${fileSystem.split(' ')[0]}, Node ${node.slice(1)}`
}

/** Three digits that count. */
export function formatNumber(value: number): string {
  if (value !== 0 && Math.abs(value) < 1e-3) return value.toExponential(1)
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
