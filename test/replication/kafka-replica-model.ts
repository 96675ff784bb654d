/**
 * Kafka's rules for one follower of one partition as they stand (`Replica.updateFetchStateOrThrow`,
 * `resetReplicaState`), applied at every fetch: what the product's scheme is measured against.
 */
export class ModelReplica {
  logEndOffset = -1
  lastFetchLeaderLogEndOffset = 0
  lastFetchTimeMs = 0
  lastCaughtUpTimeMs = 0
  brokerEpoch: number | undefined
  /** Case that the last fetch met, and whether a fetch came before it in this leader epoch. */
  lastCase: 0 | 1 | 2 = 0
  lastGapMs = Number.POSITIVE_INFINITY
  hasFetchedSinceReset = false

  fetch(offset: number, leaderEndOffset: number, timeMs: number, brokerEpoch = -1): void {
    this.lastCase = 0
    if (offset >= leaderEndOffset) {
      this.lastCase = 1
      this.lastCaughtUpTimeMs = Math.max(this.lastCaughtUpTimeMs, timeMs)
    } else if (offset >= this.lastFetchLeaderLogEndOffset) {
      this.lastCase = 2
      this.lastCaughtUpTimeMs = Math.max(this.lastCaughtUpTimeMs, this.lastFetchTimeMs)
    }
    const infinite = Number.POSITIVE_INFINITY
    this.lastGapMs = this.hasFetchedSinceReset ? timeMs - this.lastFetchTimeMs : infinite
    this.hasFetchedSinceReset = true
    this.logEndOffset = offset
    this.lastFetchLeaderLogEndOffset = Math.max(leaderEndOffset, this.lastFetchLeaderLogEndOffset)
    this.lastFetchTimeMs = timeMs
    this.brokerEpoch = brokerEpoch
  }

  reset(isNewLeader: boolean, leaderEndOffset: number, isInSync: boolean, nowMs: number): void {
    this.hasFetchedSinceReset = false
    this.lastCaughtUpTimeMs = isInSync ? nowMs : 0
    if (isNewLeader) {
      this.logEndOffset = -1
      this.lastFetchLeaderLogEndOffset = -1
      this.lastFetchTimeMs = 0
      this.brokerEpoch = undefined
    } else {
      this.lastFetchLeaderLogEndOffset = leaderEndOffset
      this.lastFetchTimeMs = isInSync ? nowMs : 0
    }
  }
}
