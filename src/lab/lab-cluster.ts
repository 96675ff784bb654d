/**
 * LabCluster: the cluster that a run of the laboratory works on: its directory, its topic, its
 * clean-up.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Cluster } from '../cluster.ts'
import type { ClusterEventListener } from '../cluster-events.ts'
import type { ClusterConfigInput, TopicConfigInput } from '../config.ts'
import type { PartitionIndex } from '../ids.ts'
import { failureIn } from './cluster-failure.ts'
import type { FlushPolicy, LoadOptions } from './result.ts'

export interface LabClusterOptions {
  readonly load: Pick<
    LoadOptions,
    'brokers' | 'replicationFactor' | 'partitions' | 'leaders' | 'flush' | 'dir'
  >
  /** Where a temporary directory is made; default the system's. */
  readonly base?: string
  readonly config: ClusterConfigInput
  readonly minInsync: number
  readonly keep: boolean
  readonly onEvent?: ClusterEventListener
}

export class LabCluster {
  readonly cluster: Cluster
  readonly topic: string
  readonly partitions: readonly PartitionIndex[]
  readonly directory: string
  readonly #removes: boolean
  #failure: Error | undefined

  private constructor(cluster: Cluster, topic: string, directory: string, removes: boolean) {
    this.cluster = cluster
    this.topic = topic
    this.partitions = cluster.partitionsOf(topic)!
    this.directory = directory
    this.#removes = removes
    cluster.onEvent((event) => {
      this.#failure ??= failureIn(event)
    })
  }

  /** A thread that ended by itself, or a log that failed, if there was one. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /**
   * A directory that was given stays; one of our own is removed at `close`, and when this fails.
   */
  static async open(options: LabClusterOptions): Promise<LabCluster> {
    const { load } = options
    const directory = load.dir ?? (await mkdtemp(path.join(options.base ?? tmpdir(), 'tidemark-')))
    const removes = load.dir === null && !options.keep
    let cluster: Cluster | undefined
    try {
      cluster = await Cluster.open({
        directory,
        brokers: load.brokers,
        config: options.config,
        checkInvariants: true,
        ...(options.onEvent === undefined ? {} : { onEvent: options.onEvent }),
      })
      const topic = freeTopicName(cluster.topics())
      await cluster.createTopic(topic, {
        partitions: load.partitions,
        replicationFactor: load.replicationFactor,
        leaders: load.leaders,
        config: { 'min.insync.replicas': options.minInsync, ...flushConfig(load.flush) },
      })
      return new LabCluster(cluster, topic, directory, removes)
    } catch (error) {
      await cluster?.close().catch(() => {})
      if (removes) await remove(directory)
      throw error
    }
  }

  async close(): Promise<void> {
    try {
      await this.cluster.close({ flush: !this.#removes })
    } finally {
      if (this.#removes) await remove(this.directory)
    }
  }
}

async function remove(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true, maxRetries: 3 })
}

function freeTopicName(taken: readonly string[]): string {
  for (let run = 1; ; run++) {
    const name = run === 1 ? 'study' : `study-${run}`
    if (!taken.includes(name)) return name
  }
}

function flushConfig(flush: FlushPolicy): TopicConfigInput {
  if (flush.kind === 'batch') return { 'flush.messages': 1 }
  return flush.kind === 'interval' ? { 'flush.ms': flush.ms } : {}
}
