/** What crosses between the supervisor and the threads it starts. Plain data and ports. */
import type { MessagePort } from 'node:worker_threads'
import type { ClusterConfig } from '../config.ts'
import type { BrokerEpoch, BrokerId } from '../ids.ts'
import type { ControllerEvent } from '../replication/controller/controller-events.ts'
import type { BrokerAnswer } from './broker-commands.ts'
import type { BrokerNews } from './broker-news.ts'
import type { ClusterMemory } from './cluster-memory.ts'
import type { BrokerIdentity } from './controller-link.ts'
import type { StoredOffsets } from './remembered-offsets.ts'

/** `topic-partition` and an offset, as Kafka's checkpoint files have them. */
export interface OffsetEntry {
  readonly topic: string
  readonly partition: number
  readonly offset: number
}

export interface BrokerThreadData {
  readonly identity: BrokerIdentity
  readonly memory: ClusterMemory
  readonly config: ClusterConfig
  readonly stored: StoredOffsets
  /** Of all brokers; that of broker `id` at `id - 1`. */
  readonly directories: readonly string[]
  readonly controllerPort: MessagePort
  readonly newsPort: MessagePort
  /** To whoever syncs files in the broker's stead. */
  readonly syncPort: MessagePort
  /** To whoever compacts logs in the broker's stead. */
  readonly cleaningPort: MessagePort
}

export type BrokerThreadMessage =
  | BrokerAnswer
  | { readonly type: 'news'; readonly news: BrokerNews }
  | { readonly type: 'cleanedOffsets'; readonly entries: readonly OffsetEntry[] }
  | { readonly type: 'highWatermarks'; readonly entries: readonly OffsetEntry[] }
  /** Its leaderships have moved away: it may be stopped. */
  | { readonly type: 'mayStop' }
  /** The broker's disk failed: the thread ends by itself. */
  | { readonly type: 'diskFailed'; readonly message: string }
  | {
      readonly type: 'stopped'
      /** Every log was flushed and closed without an error. */
      readonly isClean: boolean
      readonly highWatermarks: readonly OffsetEntry[]
      readonly recoveryPoints: readonly OffsetEntry[]
      readonly logStarts: readonly OffsetEntry[]
      readonly brokerEpoch: BrokerEpoch
    }

export interface ControllerThreadData {
  readonly memory: ClusterMemory
  readonly directory: string
  readonly clusterId: string
  readonly config: ClusterConfig
  readonly commandPort: MessagePort
}

export type ControllerCommand =
  /** A new connection; `broker` 0: a client. */
  | {
      readonly type: 'connect'
      readonly connection: number
      readonly broker: BrokerId | 0
      readonly port: MessagePort
    }
  | { readonly type: 'disconnect'; readonly connection: number }
  | { readonly type: 'stop' }

export type ControllerThreadMessage =
  | { readonly type: 'started'; readonly metadataEndOffset: number }
  | { readonly type: 'events'; readonly events: readonly ControllerEvent[] }
  | { readonly type: 'stopped' }
