/**
 * What the application's own thread notices while a cluster works: it sends a few records and reads
 * them, and its event loop is watched all the while.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Cluster } from '../../src/cluster.ts'

/** Of the monitor's timer: what it measures above it is delay. */
const resolutionMs = 1
const sendEveryMs = 10

export interface ApplicationMinute {
  readonly loopDelayMsMax: number
  /** From `send` to its promise. */
  readonly sendMs: readonly number[]
}

export class ApplicationWatch {
  readonly #loop = monitorEventLoopDelay({ resolution: resolutionMs })
  readonly #stopped = new AbortController()
  readonly #sender: Promise<void>
  readonly #reader: Promise<void>
  #sendMs: number[] = []
  #sent = 0
  #read = 0

  constructor(cluster: Cluster, topic: string) {
    this.#sender = this.#send(cluster, topic)
    this.#reader = this.#consume(cluster, topic)
    for (const work of [this.#sender, this.#reader]) work.catch(() => {})
    this.#loop.enable()
  }

  /** What was noticed since the last time. */
  take(): ApplicationMinute {
    const noticed = {
      loopDelayMsMax: Math.max(0, this.#loop.max / 1e6 - resolutionMs),
      sendMs: this.#sendMs,
    }
    this.#sendMs = []
    this.#loop.reset()
    return noticed
  }

  /** @throws what a send or the consumer threw, and when not everything sent was read */
  async close(): Promise<void> {
    this.#loop.disable()
    this.#stopped.abort()
    await this.#sender
    await this.#reader
    if (this.#read < this.#sent) throw new Error(`${this.#read} of ${this.#sent} records read`)
  }

  async #send(cluster: Cluster, topic: string): Promise<void> {
    const producer = cluster.producer()
    try {
      while (!this.#stopped.signal.aborted) {
        const startedMs = performance.now()
        await producer.send({ topic, value: `record ${this.#sent}` })
        this.#sent += 1
        this.#sendMs.push(performance.now() - startedMs)
        await new Promise((resolve) => setTimeout(resolve, sendEveryMs))
      }
    } finally {
      await producer.close()
    }
  }

  /** Until it is stopped and has everything that was sent. */
  async #consume(cluster: Cluster, topic: string): Promise<void> {
    const over = new AbortController()
    const stop = async (): Promise<void> => {
      await this.#sender.catch(() => {})
      const untilMs = performance.now() + 5_000
      while (this.#read < this.#sent && performance.now() < untilMs) {
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      over.abort()
    }
    this.#stopped.signal.addEventListener('abort', () => void stop(), { once: true })
    for await (const _ of cluster.consume({ topic, partition: 0, signal: over.signal })) {
      this.#read += 1
    }
  }
}
