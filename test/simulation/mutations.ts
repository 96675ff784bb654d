/**
 * Bugs put in on purpose: each is a piece of the source, which stands there exactly once, and what
 * it becomes. A simulation that doesn't find them proves nothing.
 *
 * Two are not in the list, because another rule stands behind each:
 * - a leader that takes a fetch of a stale incarnation: the words of a dead broker are forgotten
 *   before its next life is registered, and the controller refuses the old broker epoch
 * - a high watermark that survives a truncation: a new leader bounds its own by its log's end, and
 *   a follower takes its leader's, bounded by its own end, with the next poll
 */

export interface Mutation {
  readonly name: string
  readonly path: string
  readonly from: string
  readonly to: string
}

export const mutations: readonly Mutation[] = [
  {
    name: 'high-watermark-over-committed-isr',
    path: 'src/replication/high-watermark.ts',
    from: 'const mask = table.maximalMask[partition]',
    to: 'const mask = table.committedMask[partition]',
  },
  {
    name: 'high-watermark-without-min-isr',
    path: 'src/replication/high-watermark.ts',
    from: 'if (table.isUnderMinInSync(partition)) return -1',
    to: '',
  },
  {
    name: 'join-without-epoch-start',
    path: 'src/replication/in-sync-rules.ts',
    from: 'followerEndOffset >= highWatermark && followerEndOffset >= leaderEpochStartOffset',
    to: 'followerEndOffset >= highWatermark || leaderEpochStartOffset < 0',
  },
  {
    name: 'join-one-record-short',
    path: 'src/replication/in-sync-rules.ts',
    from: 'followerEndOffset >= highWatermark && followerEndOffset >= leaderEpochStartOffset',
    to: 'followerEndOffset >= highWatermark - 1 && followerEndOffset >= leaderEpochStartOffset - 1',
  },
  {
    name: 'proposal-without-broker-epoch',
    path: 'src/replication/controller/decide-alter-partition.ts',
    from: 'return brokerEpoch !== -1 && brokerEpoch !== image.broker(brokerId)?.brokerEpoch',
    to: 'return brokerEpoch < -1',
  },
  {
    name: 'proposal-of-old-partition-epoch',
    path: 'src/replication/controller/decide-alter-partition.ts',
    from: 'applies: ({ item, registration }) => item.partitionEpoch < registration.partitionEpoch,',
    to: 'applies: () => false,',
  },
  {
    name: 'fetch-before-reconciliation',
    path: 'src/workers/ring-followers.ts',
    from: 'if (board.followedEpoch(this.#reporter, partition) !== leaders.leaderEpoch(partition)) return',
    to: '',
  },
  {
    name: 'cursor-counts-as-written',
    path: 'src/workers/ring-followers.ts',
    from: 'if (endOffset > this.#reachedEndOffset[partition]!) return',
    to: 'if (endOffset < 0) return',
  },
  {
    name: 'reclaim-under-readers',
    path: 'src/workers/ring-followers.ts',
    from: 'if (unitsBetween(follower.walked, end) > 0) end = follower.walked',
    to: '',
  },
  {
    name: 'frames-of-another-epoch',
    path: 'src/workers/ring-poll.ts',
    from: 'if (baseOffset !== expected || !isSameEpoch) {',
    to: 'if (baseOffset !== expected) {',
  },
  {
    name: 'acknowledged-when-appended',
    path: 'src/workers/ring-intake.ts',
    from: 'if (acks === 1) acknowledger.acknowledge(slot, ticket, 0, baseOffset)',
    to: 'if (acks !== 0) acknowledger.acknowledge(slot, ticket, 0, baseOffset)',
  },
  {
    name: 'recovery-does-not-cut',
    path: 'src/log/log-recovery.ts',
    from: 'if (segment.sizeBytes < fileBytes) {',
    to: 'if (segment.sizeBytes < 0) {',
  },
  {
    name: 'same-leader-needs-no-truncation',
    path: 'src/workers/role-changes.ts',
    from: 'if (followed.leaderEpoch[index]! >= leaderEpoch) return',
    to: 'if (followed.leaderEpoch[index]! >= leaderEpoch || followed.leader[index] === leader) return',
  },
  {
    name: 'follows-without-reconciliation',
    path: 'src/workers/role-changes.ts',
    from: 'this.#reconcile(partition, leader, leaderEndOffset)',
    to: 'if (leaderEndOffset < 0) this.#reconcile(partition, leader, leaderEndOffset)',
  },
  {
    name: 'unclean-without-being-asked',
    path: 'src/replication/controller/election-rules.ts',
    from: "settings('unclean.leader.election.enable') === 'true' ? 'unclean' : 'online'",
    to: "settings('unclean.leader.election.enable') !== 'x' ? 'unclean' : 'online'",
  },
  {
    name: 'acts-before-it-is-registered',
    path: 'src/workers/controller-link.ts',
    from: 'if (this.#isRegistered || this.#brokerEpoch === -1) return this.#isRegistered',
    to: 'if (this.#brokerEpoch >= -1) return true',
  },
  {
    name: 'new-life-stays-in-sync',
    path: 'src/replication/controller/decide-broker.ts',
    from: 'return isClean ? changesOfLeaving(image, brokerId) : changesOfLosing(image, brokerId)',
    to: 'return isClean ? changesOfLeaving(image, brokerId) : []',
  },
  {
    name: 'told-before-it-is-committed',
    path: 'src/replication/controller/controller.ts',
    from: 'const baseOffset = this.#log.append(records)',
    to: 'const baseOffset = this.#log.endOffset',
  },
]
