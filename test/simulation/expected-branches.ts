/** The branches of the rules that a simulation must take, and how often. */

/** In a hundred thousand histories. */
const timesMin = 100
const historiesMin = 100_000

const branches = [
  'leader: shrinkProposed',
  'leader: shrinkCommitted',
  'leader: expandProposed',
  'leader: expandCommitted',
  'leader: reachedLogEnd',
  'leader: rejected, awaitingMetadata',
  'leader: rejected, reverted',
  'expand in case 0',
  'expand in case 1',
  'expand in case 2',
  'committed by proposal via response',
  'committed by proposal via metadata',
  'committed by controller via metadata',
  'controller: rejected FENCED_LEADER_EPOCH',
  'controller: rejected INVALID_UPDATE_VERSION',
  'controller: rejected INELIGIBLE_REPLICA',
  'controller: rejected STALE_BROKER_EPOCH',
  'controller: registered',
  'controller: fenced',
  'controller: unfenced',
  'elected clean',
  'elected unclean',
  'elected nobody',
  'truncated',
  'attached',
  'detached',
  'catch-up read',
  'recovery cut a tail',
  'start failed',
  'the last in-sync replica lost data',
  'log failed: KAFKA_STORAGE_ERROR',
  'killed',
  'killed inside a step',
  'crashed',
  'wiped',
  'stopped cleanly',
  'controller killed',
  'controller killed inside a step',
  'controller crashed',
  'acks=-1 NONE',
  'acks=-1 NOT_ENOUGH_REPLICAS',
  'acks=-1 NOT_LEADER_OR_FOLLOWER',
  'acks=-1 REQUEST_TIMED_OUT',
  'acks=-1 NETWORK_EXCEPTION',
  'acks=-1 KAFKA_STORAGE_ERROR',
  'acks=1 NONE',
  'claim backPressured',
  'claim leaderNotAvailable',
  'claim leaderUnknown',
] as const

/** @returns those that were taken too seldom, with their count */
export function quietBranches(
  counts: readonly (readonly [string, number])[],
  histories: number,
): string[] {
  const byName = new Map(counts)
  const wanted = Math.max(1, Math.floor((timesMin * histories) / historiesMin))
  return branches
    .filter((branch) => (byName.get(branch) ?? 0) < wanted)
    .map((branch) => `${branch} (${byName.get(branch) ?? 0} of ${wanted})`)
}
