/** The story's stage on Tidemark. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster } from '../../dist/index.js'

const pollMs = 20
const effectTimeoutMs = 90_000

export class TidemarkStage {
  name = 'Tidemark'
  #directory
  #cluster
  #producer
  #topics = []

  constructor(directory) {
    this.#directory = directory
  }

  get metadataDirectory() {
    return join(this.#directory, 'controller', '__cluster_metadata-0')
  }

  async open(settings) {
    this.#cluster = await Cluster.open({
      directory: this.#directory,
      brokers: 3,
      config: { ...settings, 'auto.leader.rebalance.enable': false },
    })
    this.#producer = this.#cluster.producer({ acks: 1 })
  }

  async close() {
    await this.#producer?.close()
    await this.#cluster?.close()
  }

  async createTopic(topic, replicas) {
    await this.#cluster.createTopic(topic, { assignments: [replicas] })
    this.#topics.push(topic)
  }

  async produce(topic, count) {
    const records = Array.from({ length: count }, (_, at) => ({ topic, value: `record ${at}` }))
    await Promise.all(records.map((record) => this.#producer.send(record)))
  }

  async until(condition) {
    const deadlineMs = performance.now() + effectTimeoutMs
    const holds = (topic) => {
      const { leader, inSyncReplicas } = this.#cluster.describe(topic, 0)
      return condition({ leader, isr: inSyncReplicas }, topic)
    }
    while (!this.#topics.every(holds)) {
      if (performance.now() > deadlineMs) throw new Error(`Tidemark: not in time: ${condition}`)
      await sleep(pollMs)
    }
  }

  async pause(id) {
    await this.#cluster.pause(id)
  }

  async resume(id) {
    this.#cluster.resume(id)
  }

  async stop(id) {
    await this.#cluster.stopBroker(id)
  }

  async kill(id) {
    await this.#cluster.kill(id)
  }

  async start(id) {
    await this.#cluster.restart(id)
  }

  async electPreferredLeaders() {
    await this.#cluster.admin.electLeaders('preferred')
  }
}
