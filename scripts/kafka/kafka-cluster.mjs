/**
 * A real Apache Kafka on loopback, in KRaft mode: node 1 is the controller and a broker, the others
 * are brokers. Ends exactly the processes it began.
 */
import { spawn, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { javaArguments } from './kafka-home.mjs'

const toolTimeoutMs = 120_000
const startTimeoutMs = 90_000
const stopTimeoutMs = 40_000

const toolClasses = {
  topics: 'org.apache.kafka.tools.TopicCommand',
  configs: 'org.apache.kafka.tools.ConfigCommand',
  'dump-log': 'org.apache.kafka.tools.DumpLogSegments',
  'console-consumer': 'org.apache.kafka.tools.consumer.ConsoleConsumer',
  'console-producer': 'org.apache.kafka.tools.ConsoleProducer',
  'get-offsets': 'org.apache.kafka.tools.GetOffsetShell',
  'leader-election': 'org.apache.kafka.tools.LeaderElectionCommand',
  'producer-perf': 'org.apache.kafka.tools.ProducerPerformance',
  'broker-api-versions': 'org.apache.kafka.tools.BrokerApiVersionsCommand',
  storage: 'kafka.tools.StorageTool',
}

/**
 * Runs one of Kafka's command line tools and returns what it wrote to standard output, and on
 * request what it wrote to standard error after it.
 *
 * @throws {Error} with all that it wrote when its exit code is not 0
 */
export function runTool(name, args, { input = '', withErrors = false, java } = {}) {
  const result = spawnSync('java', [...javaArguments(toolClasses[name], java), ...args], {
    input,
    encoding: 'utf8',
    maxBuffer: 1 << 30,
    timeout: toolTimeoutMs,
  })
  if (result.error !== undefined) throw result.error
  if (result.status !== 0) {
    throw new Error(`kafka ${name} ended with ${result.status}:\n${result.stdout}${result.stderr}`)
  }
  return withErrors ? `${result.stdout}\n${result.stderr}` : result.stdout
}

export class KafkaCluster {
  #directory
  #ports
  #java
  #nodes = new Map()

  /**
   * `properties`: server properties for every node, beside those that a small cluster needs;
   * `java`: as `javaArguments` takes it.
   */
  static async start({ directory, brokers, clusterId, properties = {}, java = { heap: '384m' } }) {
    mkdirSync(directory, { recursive: true })
    const cluster = new KafkaCluster(directory, await freePorts(brokers + 1), java)
    try {
      for (let node = 1; node <= brokers; node += 1) {
        cluster.#writeProperties(node, brokers, properties)
        runTool('storage', ['format', '-t', clusterId, '-c', cluster.#propertiesFile(node)])
        cluster.startNode(node)
      }
      await cluster.waitForBrokers(brokers)
    } catch (error) {
      await cluster.stop()
      throw error
    }
    return cluster
  }

  constructor(directory, ports, java) {
    this.#java = java
    this.#directory = directory
    this.#ports = ports
  }

  get bootstrapServer() {
    return `127.0.0.1:${this.#ports[1]}`
  }

  logDirectory(node) {
    return join(this.#directory, `node-${node}`)
  }

  /** Runs a tool against this cluster. */
  tool(name, args, options) {
    return runTool(name, ['--bootstrap-server', this.bootstrapServer, ...args], options)
  }

  startNode(node) {
    const output = openSync(join(this.#directory, `node-${node}.out`), 'a')
    const args = [...javaArguments('kafka.Kafka', this.#java), this.#propertiesFile(node)]
    const child = spawn('java', args, { stdio: ['ignore', output, output] })
    closeSync(output)
    const ended = new Promise((resolve) => child.once('exit', resolve))
    this.#nodes.set(node, { child, ended })
  }

  async waitForBrokers(count) {
    const deadline = Date.now() + startTimeoutMs
    while (Date.now() < deadline) {
      try {
        const answer = this.tool('broker-api-versions', [])
        if (answer.split('\n').filter((line) => line.includes('id: ')).length >= count) return
      } catch {
        // Not listening yet.
      }
      await sleep(500)
    }
    throw new Error(`${count} brokers did not answer, see ${this.#directory}/node-*.out`)
  }

  pauseNode(node) {
    this.#nodes.get(node).child.kill('SIGSTOP')
  }

  resumeNode(node) {
    this.#nodes.get(node).child.kill('SIGCONT')
  }

  /** A clean stop: the broker cuts its index files to size and leaves its clean-shutdown marker. */
  async stopNode(node) {
    const { child, ended } = this.#nodes.get(node)
    this.#nodes.delete(node)
    child.kill('SIGCONT')
    child.kill('SIGTERM')
    const killer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
    await ended
    clearTimeout(killer)
  }

  /** Without warning, and without a word to the controller. */
  async killNode(node) {
    const { child, ended } = this.#nodes.get(node)
    this.#nodes.delete(node)
    child.kill('SIGKILL')
    await ended
  }

  /** Brokers first: a clean stop needs the controller, which is node 1. */
  async stop() {
    for (const node of [...this.#nodes.keys()].sort((a, b) => b - a)) await this.stopNode(node)
  }

  #propertiesFile(node) {
    return join(this.#directory, `node-${node}.properties`)
  }

  #writeProperties(node, brokers, extra) {
    const broker = `PLAINTEXT://127.0.0.1:${this.#ports[node]}`
    const controller = `127.0.0.1:${this.#ports[0]}`
    const lines = Object.entries({
      'process.roles': node === 1 ? 'broker,controller' : 'broker',
      'node.id': node,
      'controller.quorum.voters': `1@${controller}`,
      'controller.listener.names': 'CONTROLLER',
      listeners: node === 1 ? `${broker},CONTROLLER://${controller}` : broker,
      'advertised.listeners': broker,
      'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
      'inter.broker.listener.name': 'PLAINTEXT',
      'log.dirs': this.logDirectory(node),
      'offsets.topic.replication.factor': brokers,
      'offsets.topic.num.partitions': 1,
      'transaction.state.log.replication.factor': 1,
      'transaction.state.log.min.isr': 1,
      'transaction.state.log.num.partitions': 1,
      ...extra,
    }).map(([name, value]) => `${name}=${value}\n`)
    writeFileSync(this.#propertiesFile(node), lines.join(''))
  }
}

async function freePorts(count) {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise((resolve, reject) => {
          const server = createServer()
          server.once('error', reject)
          server.listen(0, '127.0.0.1', () => resolve(server))
        }),
    ),
  )
  const ports = servers.map((server) => server.address().port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
