import type { CatchUpResult } from '../result.ts'
import { type Html, html } from './html.ts'
import { formatBytes, formatDuration, formatRate, formatSizeOption } from './quantity.ts'
import { flushWords } from './words.ts'

type Fact = readonly [string, string]

/** Everything that would be needed to run it again. */
export function scenarioSection(result: CatchUpResult): Html {
  return html`<details class="card"><summary>Scenario and machine in full</summary>
<dl class="facts">${[...optionFacts(result), ...machineFacts(result)].map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl></details>`
}

function optionFacts({ scenario }: CatchUpResult): Fact[] {
  const rate = scenario.rateBytesPerSec
  const facts: Fact[] = [
    ['Brokers', String(scenario.brokers)],
    ['Replication factor', String(scenario.replicationFactor)],
    ['Partitions', String(scenario.partitions)],
    ['min.insync.replicas', String(scenario.minInsync)],
    ['Leaders', scenario.leaders],
    ['Rate', typeof rate === 'number' ? formatRate(rate) : rate],
    ['Offered', formatRate(scenario.offeredBytesPerSec)],
    ['Record', formatSizeOption(scenario.recordBytes)],
    ['Batch', formatSizeOption(scenario.batchBytes)],
    ['Compression', scenario.compression],
    ['Input', scenario.input ?? 'synthetic'],
    ['Replay', scenario.replay ? `at ${scenario.timeScale} times its pace` : 'no'],
    ['Acks', String(scenario.acks)],
    ['Fault', scenario.fault],
    ['Follower', String(scenario.follower)],
    ['Outage', formatDuration(scenario.outageMs)],
    ['replica.lag.time.max.ms', formatDuration(scenario.replicaLagTimeMaxMs)],
    ['Join criterion', scenario.expand],
    ['Catch-up policy', scenario.policy],
    ['Catch-up limit', orNone(scenario.catchUpLimitBytesPerSec)],
    [
      'Warm-up, settle',
      `${formatDuration(scenario.warmUpMs)}, ${formatDuration(scenario.settleMs)}`,
    ],
    ['Timeout', formatDuration(scenario.timeoutMs)],
    ['Repetitions', String(scenario.repeat)],
    ['fsync', flushWords(scenario.flush)],
    ['Data', scenario.dir ?? 'temporary directory'],
    ['Seed', String(scenario.seed)],
  ]
  if (scenario.throttleBytesPerSec !== null) {
    facts.push(['Throttle', formatRate(scenario.throttleBytesPerSec)])
  }
  return facts
}

function machineFacts({ scenario }: CatchUpResult): Fact[] {
  const { machine, calibration } = scenario
  const facts: Fact[] = [
    ['CPUs', machine.cpuModel ? `${machine.cpus} × ${machine.cpuModel}` : String(machine.cpus)],
    ['Memory', formatBytes(machine.memoryBytes)],
    ['Platform', machine.platform],
    ['Node.js', machine.node],
  ]
  if (machine.fileSystem !== undefined) facts.push(['File system', machine.fileSystem])
  if (calibration !== null) {
    facts.push(
      ['Pipeline carries', formatRate(calibration.pipelineBytesPerSec)],
      ['Disk takes for ever', orNone(calibration.diskBytesPerSec)],
      ['Sustainable', formatRate(calibration.sustainableBytesPerSec)],
    )
  }
  return facts
}

function orNone(bytesPerSec: number | null): string {
  return bytesPerSec === null ? 'none' : formatRate(bytesPerSec)
}
