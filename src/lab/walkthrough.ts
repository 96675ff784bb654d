/**
 * The walkthrough: one partition, three brokers, and the whole story of in-sync replicas on a real
 * cluster, told step by step with its numbers. Ends with everything read back and compared.
 */
import { systemClock } from '../clock.ts'
import { LabCluster } from './lab-cluster.ts'
import { formatCount } from './report/quantity.ts'
import type { Verification } from './verify.ts'
import { verifyRun } from './verify-run.ts'
import { WalkthroughEvents } from './walkthrough-events.ts'
import { tellLeaving, tellRejoining } from './walkthrough-leave.ts'
import { tellLostLeader } from './walkthrough-lost.ts'
import type { WalkthroughOptions, WalkthroughResult } from './walkthrough-result.ts'
import { type StepListener, WalkthroughStage } from './walkthrough-stage.ts'
import { tellStaleLeader } from './walkthrough-stale.ts'

const brokers = 3
const minInsync = 2
const faultsMax = 10

/** Of a session, so that an interruption of the machine isn't taken for a broker's. */
const heartbeatShare = 1 / 10

/**
 * @throws {TidemarkError} what opening a cluster throws; REQUEST_TIMED_OUT when a step of the story
 *   doesn't come
 */
export async function walkThrough(
  options: WalkthroughOptions,
  onStep: StepListener,
  signal: AbortSignal,
): Promise<WalkthroughResult> {
  const events = new WalkthroughEvents(signal)
  const { replicaLagTimeMaxMs, brokerSessionTimeoutMs, dir } = options
  const lab = await LabCluster.open({
    load: {
      brokers,
      replicationFactor: brokers,
      partitions: 1,
      leaders: 'one',
      flush: { kind: 'os' },
      dir,
    },
    config: {
      'replica.lag.time.max.ms': replicaLagTimeMaxMs,
      'broker.session.timeout.ms': brokerSessionTimeoutMs,
      'broker.heartbeat.interval.ms': Math.floor(brokerSessionTimeoutMs * heartbeatShare),
      'partitions.max': 16,
    },
    minInsync,
    keep: false,
    onEvent: events.take,
  })
  const stage = new WalkthroughStage({ lab, events, options, onStep, signal })
  try {
    return await tellAll(stage, signal)
  } finally {
    stage.close()
    await lab.close()
  }
}

async function tellAll(stage: WalkthroughStage, signal: AbortSignal): Promise<WalkthroughResult> {
  let verification: Verification | undefined
  try {
    await tellLeaving(stage)
    await tellRejoining(stage)
    await tellStaleLeader(stage)
    await tellLostLeader(stage)
    verification = await tellVerdict(stage)
  } catch (error) {
    if (!signal.aborted) throw error
  }
  const violations = [...stage.allViolations, ...(verification?.faults ?? [])]
  const mismatches = verification?.replicaMismatches ?? 0
  return {
    schemaVersion: 1,
    scenario: {
      ...stage.options,
      brokers,
      partitions: 1,
      replicationFactor: brokers,
      minInsync,
    },
    steps: stage.steps,
    records: {
      acknowledged: stage.producer.acknowledgedRecords,
      verified: verification?.verifiedRecords ?? 0,
      lost: verification?.lostRecords ?? 0,
      duplicated: verification?.duplicatedRecords ?? 0,
    },
    invariants: {
      checked: stage.checked,
      violations: stage.allViolations.length + mismatches,
      faults: violations.slice(0, faultsMax),
    },
    interrupted: signal.aborted,
  }
}

async function tellVerdict(stage: WalkthroughStage): Promise<Verification> {
  stage.begin('verdict')
  const startMs = systemClock.nowMs()
  const found = await verifyRun(stage.lab, stage.producer.ledgers, true)
  const { verifiedRecords, acknowledgedRecords, lostRecords, duplicatedRecords } = found
  const broken = stage.allViolations.length + found.replicaMismatches
  const whole = `${formatCount(verifiedRecords)} of ${formatCount(acknowledgedRecords)} records acknowledged with acks=all read back from disk: ${lostRecords} lost, ${duplicatedRecords} duplicated; ${found.replicaMismatches} batches differ between replicas.`
  stage.tell(
    'verdict',
    'harness',
    `${whole} ${formatCount(stage.checked)} checks of the invariants (high watermark never back or above the log end, epochs only grow, one leader an epoch, ISR within the assignment): ${broken} violations.`,
    {
      verifiedRecords,
      acknowledgedRecords,
      lostRecords,
      duplicatedRecords,
      replicaMismatches: found.replicaMismatches,
      checked: stage.checked,
      violations: broken,
      tookMs: systemClock.nowMs() - startMs,
    },
  )
  return found
}
