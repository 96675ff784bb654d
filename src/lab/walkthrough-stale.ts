/**
 * Second chapter: a leader that is cut off and then frozen loses its leadership when its session
 * ends, and learns of it only when it is let go: what it proposed, was sent and had appended counts
 * for nothing.
 */
import { systemClock } from '../clock.ts'
import type { BrokerId } from '../ids.ts'
import { cut } from '../workers/fault-words.ts'
import { formatDuration } from './units.ts'
import type { Answer } from './walkthrough-producer.ts'
import type { WalkthroughStage } from './walkthrough-stage.ts'

const aloneBatches = 3

/** What the old leader did that must not count. */
interface Past {
  readonly old: BrokerId
  readonly epoch: number
  readonly endWithTail: number
  readonly waiting: Promise<Answer>
  readonly inRing: Promise<Answer>
}

export async function tellStaleLeader(stage: WalkthroughStage): Promise<void> {
  stage.begin('a stale leader')
  const past = await cutOffAndFreeze(stage)
  await tellElection(stage, past)
  await tellRefusals(stage, past)
  await tellReturn(stage, past)
}

async function cutOffAndFreeze(stage: WalkthroughStage): Promise<Past> {
  const { producer, events, cluster } = stage
  const old = stage.leader
  const epoch = stage.registration.leaderEpoch
  const start = stage.logEndOffset(old)
  stage.cutOff(old, cut.both, stage.others(old), true)
  const waiting = producer.send('all')
  const alone: Answer[] = []
  for (let batch = 0; batch < aloneBatches; batch += 1) alone.push(await producer.send(1))
  const endWithTail = stage.logEndOffset(old)
  const ends = stage.others(old).map((id) => stage.logEndOffset(id))
  stage.tell(
    'leader cut off',
    'harness',
    `Broker ${old}, leader in epoch ${epoch}, is cut off from the controller and from its followers, and doesn't know. It goes on appending: its log ends at ${endWithTail}, the others' at ${ends.join(' and ')}. Of ${endWithTail - start} records ${alone.reduce((sum, { records }) => sum + records, 0)} were acknowledged with acks=1; a batch with acks=all waits.`,
    {
      leader: old,
      leaderEpoch: epoch,
      logEndOffset: endWithTail,
      followerLogEndOffsets: ends,
      recordsAlone: endWithTail - start,
      highWatermark: stage.highWatermark(old),
    },
  )
  const proposed = await events.replication('shrinkProposed', ({ leader }) => leader === old)
  const causes = proposed.lagging.map(({ brokerId: id, cause }) => `${id}: ${cause}`)
  stage.tell(
    'stale proposal',
    'leader',
    `It finds both followers silent and proposes the ISR ${proposed.proposed.join(', ')} in epoch ${proposed.leaderEpoch}. The proposal doesn't get through, and is not committed: its high watermark stays at ${stage.highWatermark(old)}.`,
    {
      proposed: proposed.proposed,
      leaderEpoch: proposed.leaderEpoch,
      partitionEpoch: proposed.partitionEpoch,
      highWatermark: stage.highWatermark(old),
      causes: causes.join(', '),
    },
    proposed.atMs,
  )
  await cluster.pause(old)
  // To whoever leads as far as anybody knows: into the frozen leader's memory.
  const inRing = producer.send('all')
  const { brokerSessionTimeoutMs } = stage.options
  stage.tell(
    'leader frozen',
    'harness',
    `Broker ${old} is frozen, with one more batch in its memory that it has not looked at. Its session ends ${formatDuration(brokerSessionTimeoutMs)} after its last heartbeat.`,
    { leader: old, brokerSessionTimeoutMs, batchesWaiting: producer.outstanding },
  )
  return { old, epoch, endWithTail, waiting, inRing }
}

async function tellElection(stage: WalkthroughStage, past: Past): Promise<void> {
  const { events, producer, cluster } = stage
  const fenced = await events.controller('fenced', ({ brokerId: id }) => id === past.old)
  await events.until('a new leader', () => {
    const { leader, registration } = stage
    if (leader < 1 || leader === past.old) return false
    return cluster.board.ledEpoch(leader, stage.index) === registration.leaderEpoch
  })
  const { leader, leaderEpoch, inSyncReplicas, partitionEpoch } = stage.registration
  const history = stage.logEndOffset(leader)
  stage.tell(
    'new leader elected',
    'controller',
    `The session of broker ${past.old} has ended; the controller fences it, takes it out of the ISR (${inSyncReplicas.join(', ')} now, partition epoch ${partitionEpoch}) and elects broker ${leader} out of it, leader epoch ${leaderEpoch}. Its log ends at ${history}: the old leader's tail begins there.`,
    {
      fenced: past.old,
      ...fenced.detail,
      leader,
      leaderEpoch,
      partitionEpoch,
      inSyncReplicas,
      logEndOffset: history,
      oldLeaderLogEndOffset: past.endWithTail,
    },
    fenced.atMs,
  )
  const taken = await producer.send('all')
  stage.tell(
    'acknowledged by the new leader',
    'producer',
    `A batch with acks=all goes to broker ${leader} and is acknowledged after ${formatDuration(taken.tookMs)} at offset ${taken.baseOffset}, where the old leader holds something else.`,
    { leader, error: taken.error, baseOffset: taken.baseOffset, ackMs: taken.tookMs },
  )
}

async function tellRefusals(stage: WalkthroughStage, past: Past): Promise<void> {
  const { old, epoch, endWithTail } = past
  const letGoMs = systemClock.nowMs()
  stage.cutOff(old, cut.nothing, stage.others(old), true)
  stage.cluster.resume(old)
  const rejected = await stage.events.controller('rejected', ({ brokerId: id }) => id === old)
  const { proposedLeaderEpoch = -1, leaderEpoch = -1 } = rejected.detail
  stage.tell(
    'its proposal refused',
    'controller',
    `The old leader is let go and its links are mended. The proposal of before arrives, in epoch ${proposedLeaderEpoch} of what is epoch ${leaderEpoch}: ${rejected.error}. Nothing changes.`,
    {
      error: rejected.error ?? 'NONE',
      proposedLeaderEpoch,
      leaderEpoch,
      partitionEpoch: stage.registration.partitionEpoch,
    },
    rejected.atMs,
  )
  const [inRing, waiting] = await Promise.all([past.inRing, past.waiting])
  stage.tell(
    'its appends refused',
    'leader',
    `The batch in its memory is refused: ${inRing.error}. It has seen by the metadata that it leads no more, and takes nothing in epoch ${epoch}.`,
    { error: inRing.error, leaderEpoch: epoch, answeredAfterMs: inRing.tookMs },
    inRing.answeredAtMs,
  )
  stage.tell(
    'its acks refused',
    'leader',
    `The batch with acks=all that it had appended and could not commit is answered ${waiting.error}, ${formatDuration(waiting.tookMs)} after it was sent. It was never acknowledged.`,
    { error: waiting.error, baseOffset: waiting.baseOffset, answeredAfterMs: waiting.tookMs },
    waiting.answeredAtMs,
  )
  const truncated = await stage.events.truncation(old)
  const { fromOffset, toOffset } = truncated
  stage.tell(
    'divergent tail cut',
    'follower',
    `Now a follower, broker ${old} compares epochs with its new leader and cuts its log from ${fromOffset} to ${toOffset}: ${fromOffset - toOffset} records that only it had, none of them committed.`,
    {
      logEndOffsetBefore: fromOffset,
      logEndOffset: toOffset,
      recordsCut: fromOffset - toOffset,
      endWithTail,
      sinceLetGoMs: truncated.atMs - letGoMs,
    },
    truncated.atMs,
  )
}

async function tellReturn(stage: WalkthroughStage, { old }: Past): Promise<void> {
  const back = await stage.events.replication('expandCommitted', (e) => e.joined.includes(old))
  await stage.untilInSync(3)
  await stage.untilLevel()
  const ends = stage.cluster.brokerIds.map((id) => stage.logEndOffset(id))
  stage.tell(
    'back as a follower',
    'leader',
    `Broker ${old} has what its leader has and is in the ISR again: ${back.inSyncReplicas.join(', ')}, partition epoch ${back.partitionEpoch}; all logs end at ${ends[0]}.`,
    {
      inSyncReplicas: back.inSyncReplicas,
      partitionEpoch: back.partitionEpoch,
      logEndOffsets: ends,
    },
    back.atMs,
  )
}
