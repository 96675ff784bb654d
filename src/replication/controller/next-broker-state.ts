/**
 * States of a broker's life and how a heartbeat moves them (Kafka: BrokerHeartbeatManager). Pure.
 */

export type BrokerState = 'fenced' | 'unfenced' | 'controlledShutdown' | 'shutdownNow'

export interface HeartbeatFacts {
  readonly current: Exclude<BrokerState, 'shutdownNow'>
  readonly wantFence: boolean
  readonly wantShutDown: boolean
  /** The broker has applied its own registration record. */
  readonly isCaughtUp: boolean
  /** Asked only where it matters: it looks at all partitions. */
  readonly leadsAny: () => boolean
  /** All active brokers have seen its leaderships moved. */
  readonly othersCaughtUp: boolean
}

export function nextBrokerState(facts: HeartbeatFacts): BrokerState {
  const { current, wantFence, wantShutDown } = facts
  switch (current) {
    case 'fenced':
      if (wantShutDown) return 'shutdownNow'
      return !wantFence && facts.isCaughtUp ? 'unfenced' : 'fenced'
    case 'unfenced':
      if (wantFence) return wantShutDown ? 'shutdownNow' : 'fenced'
      if (!wantShutDown) return 'unfenced'
      return facts.leadsAny() ? 'controlledShutdown' : 'shutdownNow'
    case 'controlledShutdown':
      return !facts.leadsAny() && facts.othersCaughtUp ? 'shutdownNow' : 'controlledShutdown'
  }
}
