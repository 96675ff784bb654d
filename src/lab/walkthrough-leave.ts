/** First chapter: a follower falls behind, leaves, catches up with a moving end, and is back. */
import { systemClock } from '../clock.ts'
import { type BrokerId, brokerId } from '../ids.ts'
import { readerState } from '../workers/progress-board.ts'
import { causeWords } from './catch-up-timeline.ts'
import { formatBytes, formatDuration } from './units.ts'
import type { ReplicationOf } from './walkthrough-events.ts'
import type { WalkthroughStage } from './walkthrough-stage.ts'

const leader = brokerId(1)
const second = brokerId(2)
const follower = brokerId(3)
const warmUpMs = 250
const backlogBatches = 800
const readsQuietMs = 25

export async function tellLeaving(stage: WalkthroughStage): Promise<void> {
  stage.begin('leave and rejoin')
  await tellLoad(stage)
  await stage.cluster.pause(follower)
  await tellLapse(stage)
  await tellShrink(
    stage,
    await stage.events.replication('shrinkProposed', (e) => leaves(e, follower)),
  )
  await tellFewerReplicas(stage)
  await tellRefusal(stage)
}

export async function tellRejoining(stage: WalkthroughStage): Promise<void> {
  stage.events.mark()
  stage.cluster.resume(second)
  await stage.events.replication('expandCommitted', ({ joined }) => joined.includes(second))
  await tellBacklog(stage)
  stage.events.mark()
  const resumedMs = systemClock.nowMs()
  const endThen = stage.logEndOffset(leader)
  stage.cluster.resume(follower)
  const reached = await stage.events.replication('reachedLogEnd', (e) => e.brokerId === follower)
  await tellReached(stage, reached, resumedMs, endThen)
  await tellExpand(stage, reached)
  await tellRestored(stage)
}

async function tellLoad(stage: WalkthroughStage): Promise<void> {
  const { producer, cluster } = stage
  producer.startBackground()
  const startMs = systemClock.nowMs()
  await stage.events.until('load', () => systemClock.nowMs() - startMs >= warmUpMs)
  const { tookMs } = await producer.send('all')
  const end = stage.logEndOffset(leader)
  const committed = stage.highWatermark(leader)
  const bytes = cluster.board.counter(leader, 'appendedBytes')
  stage.tell(
    'produced',
    'producer',
    `${producer.batches} batches produced, ${formatBytes(bytes)} in the leader's log, which ends at ${end}; ${committed} records are committed. The last batch with acks=all took ${formatDuration(tookMs)}.`,
    {
      batches: producer.batches,
      appendedBytes: bytes,
      logEndOffset: end,
      highWatermark: committed,
      ackMs: tookMs,
    },
  )
  const ends = [second, follower].map((id) => stage.logEndOffset(id))
  const nowMs = systemClock.nowMs()
  const polls = [second, follower].map((id) => nowMs - cluster.board.pollTimeMs(id))
  const leaderEnd = stage.logEndOffset(leader)
  stage.tell(
    'tracked',
    'leader',
    `The leader knows of each follower how far it is and when it last had everything: 2 is at ${ends[0]}, 3 at ${ends[1]}, the log ends at ${leaderEnd}; they fetched ${polls.map((ms) => formatDuration(ms)).join(' and ')} ago.`,
    { leaderLogEndOffset: leaderEnd, followerLogEndOffsets: ends, pollAgesMs: polls },
  )
}

async function tellLapse(stage: WalkthroughStage): Promise<void> {
  const frozenAt = stage.logEndOffset(follower)
  await stage.events.until('the log end moves on', () => stage.logEndOffset(leader) > frozenAt)
  const pollMs = stage.cluster.board.pollTimeMs(follower)
  await stage.events.until('silence', () => systemClock.nowMs() - pollMs > 100)
  const silentMs = systemClock.nowMs() - pollMs
  const end = stage.logEndOffset(leader)
  const committed = stage.highWatermark(leader)
  const { outstanding } = stage.producer
  stage.tell(
    'lapsed',
    'follower',
    `Follower 3 is frozen: it stands at ${frozenAt} and has not fetched for ${formatDuration(silentMs)}, while the log end is at ${end}. It is still in the ISR, so the high watermark stands at ${committed} and ${outstanding} batches with acks=all wait for it.`,
    {
      followerLogEndOffset: frozenAt,
      silentMs,
      logEndOffset: end,
      highWatermark: committed,
      batchesWaiting: outstanding,
      inSyncReplicas: stage.inSyncReplicas,
    },
  )
}

function leaves({ lagging }: ReplicationOf<'shrinkProposed'>, broker: BrokerId): boolean {
  return lagging.some(({ brokerId: id }) => id === broker)
}

async function tellShrink(
  stage: WalkthroughStage,
  proposed: ReplicationOf<'shrinkProposed'>,
): Promise<void> {
  const lag = proposed.lagging.find(({ brokerId: id }) => id === follower)!
  const { replicaLagTimeMaxMs: limitMs } = proposed
  const { leaderRecordsPerSec, followerRecordsPerSec, silentMs } = lag.signs
  stage.tell(
    'checked',
    'leader',
    `At its check, every ${formatDuration(limitMs / 2)}, the leader finds follower 3 not caught up for ${formatDuration(lag.lagMs)}; the limit is ${formatDuration(limitMs)}. It lacks ${lag.lagRecords} records (about ${formatBytes(lag.lagBytes)}) and made ${Math.round(followerRecordsPerSec)} records/s against ${Math.round(leaderRecordsPerSec)}. Cause: ${causeWords[lag.cause]}.`,
    {
      lagMs: lag.lagMs,
      replicaLagTimeMaxMs: limitMs,
      lagRecords: lag.lagRecords,
      lagBytes: lag.lagBytes,
      silentMs,
      leaderRecordsPerSec,
      followerRecordsPerSec,
      cause: lag.cause,
    },
    proposed.atMs,
  )
  stage.tell(
    'proposed',
    'leader',
    `It proposes the ISR ${proposed.proposed.join(', ')} to the controller (AlterPartition), naming leader epoch ${proposed.leaderEpoch} and partition epoch ${proposed.partitionEpoch}. Until that is committed ${proposed.inSyncReplicas.join(', ')} count.`,
    {
      proposed: proposed.proposed,
      inSyncReplicas: proposed.inSyncReplicas,
      leaderEpoch: proposed.leaderEpoch,
      partitionEpoch: proposed.partitionEpoch,
    },
    proposed.atMs,
  )
  await tellCommit(stage, proposed)
}

async function tellCommit(
  stage: WalkthroughStage,
  proposed: ReplicationOf<'shrinkProposed' | 'expandProposed'>,
): Promise<void> {
  const { board } = stage.cluster
  const isShrink = proposed.type === 'shrinkProposed'
  const at = await stage.events.controller('committed', (e) => e.atMs >= proposed.atMs - 1)
  const type = isShrink ? 'shrinkCommitted' : 'expandCommitted'
  const committed = await stage.events.replication(type, (e) => e.atMs >= proposed.atMs)
  const brokerEpochs = proposed.proposed.map((id) => board.brokerEpoch(id))
  const { metadataOffset = -1 } = at.detail
  if (isShrink) {
    stage.tell(
      'validated',
      'controller',
      `The controller holds the same: leader ${proposed.leader}, leader epoch ${proposed.leaderEpoch}, partition epoch ${proposed.partitionEpoch}; the members ${proposed.proposed.join(', ')} are unfenced and of the broker epochs it registered (${brokerEpochs.join(', ')}).`,
      {
        leader: proposed.leader,
        leaderEpoch: proposed.leaderEpoch,
        partitionEpoch: proposed.partitionEpoch,
        brokerEpochs,
      },
      at.atMs,
    )
  }
  const tookMs = Math.max(0, at.atMs - proposed.atMs)
  stage.tell(
    'committed',
    'controller',
    `${formatDuration(tookMs)} after the proposal it is a record in the metadata log, at offset ${metadataOffset}; the ISR is ${committed.inSyncReplicas.join(', ')}, partition epoch ${committed.partitionEpoch}.`,
    {
      sinceProposalMs: tookMs,
      metadataOffset,
      inSyncReplicas: committed.inSyncReplicas,
      partitionEpoch: committed.partitionEpoch,
    },
    at.atMs,
  )
  if (!isShrink) return
  await stage.events.until('the record is here', () => {
    return stage.registration.partitionEpoch >= committed.partitionEpoch
  })
  const heardMs = Math.max(0, systemClock.nowMs() - at.atMs)
  const leaderMs = Math.max(0, committed.atMs - at.atMs)
  stage.tell(
    'broadcast',
    'controller',
    `Everybody learns it from the same record: the leader ${formatDuration(leaderMs)} after the commit (by ${committed.via}), this application within ${formatDuration(heardMs)}.`,
    { leaderLearntAfterMs: leaderMs, via: committed.via, applicationLearntWithinMs: heardMs },
  )
  await tellAdvance(stage, proposed.highWatermark)
}

async function tellAdvance(stage: WalkthroughStage, before: number): Promise<void> {
  await stage.events.until('the high watermark moves', () => stage.highWatermark(leader) > before)
  const now = stage.highWatermark(leader)
  stage.tell(
    'high watermark recomputed',
    'leader',
    `Without follower 3 the smallest end in the ISR counts: the high watermark goes from ${before} to ${now}, and whoever waited for records below it is answered.`,
    { highWatermarkBefore: before, highWatermark: now, advancedRecords: now - before },
  )
}

async function tellFewerReplicas(stage: WalkthroughStage): Promise<void> {
  const { error, tookMs, baseOffset } = await stage.producer.send('all')
  const { inSyncReplicas } = stage
  stage.tell(
    'acks=all with fewer replicas',
    'producer',
    `A batch with acks=all at offset ${baseOffset} is acknowledged after ${formatDuration(tookMs)} (${error}): all means all in sync, and those are ${inSyncReplicas.join(', ')}; min.insync.replicas is 2.`,
    { baseOffset, ackMs: tookMs, error, inSyncReplicas, minInsyncReplicas: 2 },
  )
}

async function tellRefusal(stage: WalkthroughStage): Promise<void> {
  await stage.cluster.pause(second)
  await stage.events.replication(
    'shrinkCommitted',
    ({ inSyncReplicas }) => inSyncReplicas.length === 1,
  )
  const committed = stage.highWatermark(leader)
  const refused = await stage.producer.send('all')
  const taken = await stage.producer.send(1)
  const { error } = refused
  stage.tell(
    'min.insync.replicas refusal',
    'leader',
    `Follower 2 is frozen too, and the ISR is 1 alone. A batch with acks=all is refused before it is appended: ${error}. One with acks=1 is taken, at offset ${taken.baseOffset}, and not committed: the high watermark stays at ${stage.highWatermark(leader)} while the ISR is below min.insync.replicas.`,
    {
      error,
      inSyncReplicas: stage.inSyncReplicas,
      minInsyncReplicas: 2,
      acksOneBaseOffset: taken.baseOffset,
      highWatermarkBefore: committed,
      highWatermark: stage.highWatermark(leader),
      backgroundRefused: stage.producer.backgroundRefused,
    },
  )
}

async function tellBacklog(stage: WalkthroughStage): Promise<void> {
  const { board } = stage.cluster
  const sent: Promise<unknown>[] = []
  for (let batch = 0; batch < backlogBatches; batch += 1) {
    const answer = stage.producer.trySend('all')
    if (answer !== undefined) sent.push(answer)
    if (batch % 16 === 15 || answer === undefined) await new Promise((r) => setTimeout(r, 1))
  }
  await Promise.all(sent)
  const end = stage.logEndOffset(leader)
  const own = stage.logEndOffset(follower)
  const records = end - own
  const appended = board.counter(leader, 'appendedBytes') / board.counter(leader, 'appendedRecords')
  const isDetached = board.readerState(leader, follower) === readerState.detached
  const ring = isDetached ? 'no longer serves' : 'still serves'
  stage.tell(
    'backlog',
    'follower',
    `Follower 2 is back in the ISR. Follower 3, still frozen, lacks ${records} records by now (${own} to ${end}, about ${formatBytes(records * appended)}). The leader's memory ${ring} it: what it lacks it will read from the leader's files.`,
    {
      backlogRecords: records,
      backlogBytes: Math.round(records * appended),
      followerLogEndOffset: own,
      logEndOffset: end,
      readsFiles: isDetached ? 1 : 0,
    },
  )
}

/** The follower's reads since it came back; its thread tells of them when it has a moment. */
async function fileReads({ events }: WalkthroughStage) {
  const told = () =>
    events.since.flatMap((event) =>
      event.type === 'catchUpReads' && event.brokerId === follower ? event.reads : [],
    )
  let count = -1
  let sinceMs = 0
  await events.until('the last read is told', () => {
    const nowMs = systemClock.nowMs()
    const { length } = told()
    if (length !== count) sinceMs = nowMs
    count = length
    return length > 0 && nowMs - sinceMs > readsQuietMs
  })
  return told()
}

async function tellReached(
  stage: WalkthroughStage,
  reached: ReplicationOf<'reachedLogEnd'>,
  resumedMs: number,
  endThen: number,
): Promise<void> {
  const reads = await fileReads(stage)
  const bytes = reads.reduce((sum, read) => sum + read.bytes, 0)
  const readMs = reads.reduce((sum, read) => sum + read.tookMs, 0)
  const tookMs = reached.atMs - resumedMs
  stage.tell(
    'reached the LEO',
    'follower',
    `Let go, follower 3 read ${formatBytes(bytes)} from the leader's files in ${reads.length} reads (${formatDuration(readMs)}), and ${formatDuration(tookMs)} after its return a fetch found it at the leader's end. That end had moved on from ${endThen} to ${reached.logEndOffset} meanwhile.`,
    {
      catchUpMs: tookMs,
      fileReads: reads.length,
      fileReadBytes: bytes,
      fileReadMs: readMs,
      logEndOffsetAtReturn: endThen,
      logEndOffset: reached.logEndOffset,
      followerLogEndOffset: reached.followerLogEndOffset,
      caughtUpCase: reached.caughtUpCase,
    },
    reached.atMs,
  )
}

async function tellExpand(
  stage: WalkthroughStage,
  reached: ReplicationOf<'reachedLogEnd'>,
): Promise<void> {
  const proposed = await stage.events.replication('expandProposed', (e) => e.brokerId === follower)
  stage.tell(
    'proposed',
    'leader',
    `It is past the high watermark ${proposed.highWatermark} and past the start of this leader's epoch (${proposed.leaderEpochStartOffset}), its broker epoch ${proposed.brokerEpoch} is the registered one: the leader proposes the ISR ${proposed.proposed.join(', ')}, and from now on waits for it in the high watermark.`,
    {
      proposed: proposed.proposed,
      highWatermark: proposed.highWatermark,
      leaderEpochStartOffset: proposed.leaderEpochStartOffset,
      brokerEpoch: proposed.brokerEpoch,
      leaderEpoch: proposed.leaderEpoch,
      partitionEpoch: proposed.partitionEpoch,
      sinceReachedMs: proposed.atMs - reached.atMs,
    },
    proposed.atMs,
  )
  await tellCommit(stage, proposed)
}

async function tellRestored(stage: WalkthroughStage): Promise<void> {
  await stage.untilInSync(3)
  stage.producer.stopBackground()
  await stage.events.until('all answers', () => stage.producer.outstanding === 0)
  await stage.untilLevel()
  const ends = stage.cluster.brokerIds.map((id) => stage.logEndOffset(id))
  const committed = stage.highWatermark(leader)
  stage.tell(
    'redundancy restored',
    'leader',
    `Three replicas in sync again: ${stage.inSyncReplicas.join(', ')}. All logs end at ${ends[0]}, all of it is committed.`,
    { inSyncReplicas: stage.inSyncReplicas, logEndOffsets: ends, highWatermark: committed },
  )
}
