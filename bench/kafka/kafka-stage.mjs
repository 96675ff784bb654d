/** The story's stage on Apache Kafka: three brokers on loopback, node 1 also the controller. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { KafkaCluster } from '../../scripts/kafka/kafka-cluster.mjs'

const pollMs = 300
const effectTimeoutMs = 90_000

export class KafkaStage {
  name = 'Kafka'
  #directory
  #timelineOf
  #cluster
  #topics = []

  /** `timelineOf`: what a metadata log's directory says, as `tidemark log timeline --json`. */
  constructor(directory, timelineOf) {
    this.#directory = directory
    this.#timelineOf = timelineOf
  }

  get metadataDirectory() {
    return join(this.#cluster.logDirectory(1), '__cluster_metadata-0')
  }

  async open(settings) {
    this.#cluster = await KafkaCluster.start({
      directory: this.#directory,
      brokers: 3,
      clusterId: Buffer.from('tidemark-storybok').toString('base64url').slice(0, 22),
      properties: {
        ...settings,
        'auto.leader.rebalance.enable': false,
        'metadata.max.idle.interval.ms': 0,
      },
    })
  }

  async close() {
    await this.#cluster?.stop()
  }

  async createTopic(topic, replicas) {
    this.#cluster.tool('topics', [
      ...['--create', '--topic', topic, '--replica-assignment', replicas.join(':')],
    ])
    this.#topics.push(topic)
  }

  /** With acks=1: a frozen follower holds nobody up. */
  async produce(topic, count) {
    const input = Array.from({ length: count }, (_, at) => `record ${at}\n`).join('')
    const args = ['--topic', topic, '--request-required-acks', '1']
    this.#cluster.tool('console-producer', args, { input })
  }

  async until(condition) {
    const deadlineMs = performance.now() + effectTimeoutMs
    while (performance.now() < deadlineMs) {
      const { partitions } = this.#timelineOf(this.metadataDirectory)
      const holds = ({ topic, changes }) => {
        const { leader, inSyncReplicas } = changes.at(-1)
        return condition({ leader, isr: inSyncReplicas }, topic)
      }
      const ours = partitions.filter(({ topic }) => this.#topics.includes(topic))
      if (ours.length === this.#topics.length && ours.every(holds)) return
      await sleep(pollMs)
    }
    throw new Error(`Kafka: nothing of the sort within ${effectTimeoutMs} ms: ${condition}`)
  }

  async pause(node) {
    this.#cluster.pauseNode(node)
  }

  async resume(node) {
    this.#cluster.resumeNode(node)
  }

  async stop(node) {
    await this.#cluster.stopNode(node)
  }

  async kill(node) {
    await this.#cluster.killNode(node)
  }

  async start(node) {
    this.#cluster.startNode(node)
    await this.#cluster.waitForBrokers(3)
  }

  async electPreferredLeaders() {
    this.#cluster.tool('leader-election', [
      '--election-type',
      'preferred',
      '--all-topic-partitions',
    ])
  }
}
