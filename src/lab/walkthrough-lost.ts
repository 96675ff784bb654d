/**
 * Third chapter: a leader proposes to shrink the ISR and is lost before that is committed. What
 * counts is what was committed, and the new leader comes out of it.
 */
import { systemClock } from '../clock.ts'
import type { BrokerId } from '../ids.ts'
import { cut } from '../workers/fault-words.ts'
import { formatDuration } from './units.ts'
import type { Answer } from './walkthrough-producer.ts'
import type { WalkthroughStage } from './walkthrough-stage.ts'

interface Shrink {
  readonly leader: BrokerId
  readonly lagging: BrokerId
  readonly committed: readonly BrokerId[]
  readonly highWatermark: number
  readonly waiting: Promise<Answer>
}

export async function tellLostLeader(stage: WalkthroughStage): Promise<void> {
  stage.begin('lost in the middle of a shrink')
  const shrink = await tellPendingShrink(stage)
  await tellLoss(stage, shrink)
  await tellRecovery(stage, shrink)
}

async function tellPendingShrink(stage: WalkthroughStage): Promise<Shrink> {
  const { leader } = stage
  const { inSyncReplicas: committed } = stage.registration
  const lagging = stage.others(leader).at(-1)!
  // Its fetches don't arrive, its heartbeats do; and the leader's proposals don't.
  stage.cutOff(leader, cut.both, [lagging], false)
  stage.cutOff(leader, cut.requests, [], true)
  const waiting = stage.producer.send('all')
  const proposed = await stage.events.replication('shrinkProposed', (e) => e.leader === leader)
  const highWatermark = stage.highWatermark(leader)
  const ends = stage.cluster.brokerIds.map((id) => stage.logEndOffset(id))
  stage.tell(
    'shrink proposed, not committed',
    'leader',
    `Follower ${lagging} fetches no more from leader ${leader}, which proposes the ISR ${proposed.proposed.join(', ')} in epoch ${proposed.leaderEpoch}. The proposal is on its way. Until it is committed ${lagging} counts: the logs end at ${ends.join(', ')}, the high watermark is ${highWatermark}, and a batch with acks=all waits.`,
    {
      leader,
      lagging,
      proposed: proposed.proposed,
      inSyncReplicas: committed,
      leaderEpoch: proposed.leaderEpoch,
      partitionEpoch: proposed.partitionEpoch,
      logEndOffsets: ends,
      highWatermark,
      batchesWaiting: stage.producer.outstanding,
    },
    proposed.atMs,
  )
  return { leader, lagging, committed, highWatermark, waiting }
}

async function tellLoss(stage: WalkthroughStage, shrink: Shrink): Promise<void> {
  const { leader, lagging, committed, highWatermark } = shrink
  const lostMs = systemClock.nowMs()
  await stage.cluster.kill(leader)
  const { error } = await shrink.waiting
  stage.cutOff(leader, cut.nothing, [lagging], true)
  stage.tell(
    'leader lost',
    'harness',
    `Broker ${leader} ends without a word. The proposal is lost with it; so is the answer to the batch that waited: ${error}, its outcome is unknown.`,
    { lost: leader, error, highWatermark },
  )
  const fenced = await stage.events.controller('fenced', ({ brokerId: id }) => id === leader)
  await stage.events.until('a new leader', () => {
    const { leader: next, registration } = stage
    if (next < 1 || next === leader) return false
    return stage.cluster.board.ledEpoch(next, stage.index) === registration.leaderEpoch
  })
  const now = stage.registration
  const end = stage.logEndOffset(now.leader)
  const wasCommitted = committed.includes(now.leader)
  if (!wasCommitted) stage.violations.push(`leader ${now.leader} was not in the committed ISR`)
  if (end < highWatermark)
    stage.violations.push(`leader's log ends at ${end}, below ${highWatermark}`)
  stage.tell(
    'elected from the committed ISR',
    'controller',
    `${formatDuration(Math.max(0, fenced.atMs - lostMs))} after the loss the controller fences broker ${leader} and elects broker ${now.leader} in epoch ${now.leaderEpoch}, out of the committed ISR ${committed.join(', ')}: the proposed one never was. The ISR is ${now.inSyncReplicas.join(', ')}, follower ${lagging} still a member. The new leader's log ends at ${end}, at or above the old high watermark ${highWatermark}: nothing committed is missing.`,
    {
      lost: leader,
      fencedAfterMs: fenced.atMs - lostMs,
      ...fenced.detail,
      leader: now.leader,
      leaderEpoch: now.leaderEpoch,
      partitionEpoch: now.partitionEpoch,
      committedInSyncReplicas: committed,
      inSyncReplicas: now.inSyncReplicas,
      logEndOffset: end,
      highWatermarkBefore: highWatermark,
    },
    fenced.atMs,
  )
}

async function tellRecovery(stage: WalkthroughStage, { leader }: Shrink): Promise<void> {
  const taken = await stage.producer.send('all')
  const startMs = systemClock.nowMs()
  await stage.cluster.restart(leader)
  await stage.events.replication('expandCommitted', ({ joined }) => joined.includes(leader))
  await stage.untilInSync(3)
  await stage.untilLevel()
  const tookMs = systemClock.nowMs() - startMs
  const ends = stage.cluster.brokerIds.map((id) => stage.logEndOffset(id))
  stage.tell(
    'redundancy restored',
    'leader',
    `The new leader acknowledged a batch with acks=all after ${formatDuration(taken.tookMs)} at offset ${taken.baseOffset}. Broker ${leader} is started again, recovers its log, registers as a new life and is in sync ${formatDuration(tookMs)} later; all logs end at ${ends[0]}.`,
    {
      baseOffset: taken.baseOffset,
      error: taken.error,
      ackMs: taken.tookMs,
      backAfterMs: tookMs,
      inSyncReplicas: stage.inSyncReplicas,
      logEndOffsets: ends,
    },
  )
}
