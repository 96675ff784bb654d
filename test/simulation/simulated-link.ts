/**
 * The network between a broker and the controller. What it may do: messages of a kind stay in
 * order and come late; kinds overtake each other; heartbeats and their answers get lost; requests
 * that a controller must know again come twice. Anything else that is lost is a broken connection:
 * both sides learn of it, and the broker asks for the metadata from where it is.
 */
import type { SeededRandom } from '../../src/lab/statistics-random.ts'
import type { ControllerRequest, ControllerResponse } from '../../src/replication/messages.ts'
import type { Channel } from '../../src/workers/channel.ts'

/** Chances from 0 to 1; changes as time goes on. */
export interface NetworkWeather {
  latencyMsMax: number
  lossOfHeartbeat: number
  duplication: number
}

interface Underway<T> {
  readonly message: T
  readonly dueMs: number
}

type Message = ControllerRequest | ControllerResponse

/** Kinds between which there is no order. */
const laneOf: Readonly<Partial<Record<Message['type'], number>>> = {
  subscribeMetadata: 0,
  metadataUpdate: 0,
  metadataSnapshot: 0,
  registerBroker: 0,
  registerBrokerResponse: 0,
  brokerHeartbeat: 1,
  brokerHeartbeatResponse: 1,
}
const laneOfOthers = 2
const lanes = 3

class Direction<T extends Message> {
  /** Nothing arrives. */
  isCut = false
  #lanes: Underway<T>[][] = Array.from({ length: lanes }, () => [])
  readonly #weather: NetworkWeather
  readonly #random: SeededRandom
  readonly #nowMs: () => number

  constructor(weather: NetworkWeather, random: SeededRandom, nowMs: () => number) {
    this.#weather = weather
    this.#random = random
    this.#nowMs = nowMs
  }

  send(message: T): void {
    const { type } = message
    const isHeartbeat = type === 'brokerHeartbeat' || type === 'brokerHeartbeatResponse'
    if (isHeartbeat && this.#random.next() < this.#weather.lossOfHeartbeat) return
    this.#queue(message)
    const mayRepeat = isHeartbeat || type === 'alterPartition' || type === 'registerBroker'
    if (mayRepeat && this.#random.next() < this.#weather.duplication) this.#queue(message)
  }

  receive(): T | undefined {
    if (this.isCut) return undefined
    for (const lane of this.#lanes) {
      if (lane.length > 0 && lane[0].dueMs <= this.#nowMs()) return lane.shift()!.message
    }
    return undefined
  }

  clear(): void {
    this.#lanes = Array.from({ length: lanes }, () => [])
  }

  get isEmpty(): boolean {
    return this.#lanes.every((lane) => lane.length === 0)
  }

  #queue(message: T): void {
    const { latencyMsMax } = this.#weather
    const latencyMs = latencyMsMax === 0 ? 0 : this.#random.nextBelow(latencyMsMax + 1)
    const lane = this.#lanes[laneOf[message.type] ?? laneOfOthers]
    lane.push({ message, dueMs: this.#nowMs() + latencyMs })
  }
}

export class SimulatedLink {
  readonly toController: Direction<ControllerRequest>
  readonly toBroker: Direction<ControllerResponse>
  /** Number of the connection at the controller; another after each break. */
  connection: number
  #isSubscribed = false

  constructor(
    connection: number,
    weather: NetworkWeather,
    random: SeededRandom,
    nowMs: () => number,
  ) {
    this.connection = connection
    this.toController = new Direction(weather, random, nowMs)
    this.toBroker = new Direction(weather, random, nowMs)
  }

  /** The broker's end. @param isOver the broker's thread has ended */
  brokerEnd(isOver: () => boolean): Channel<ControllerRequest, ControllerResponse> {
    return {
      send: (message) => {
        if (isOver()) return
        if (message.type === 'subscribeMetadata') this.#isSubscribed = true
        this.toController.send(message)
      },
      receive: () => (isOver() ? undefined : this.toBroker.receive()),
    }
  }

  /** Everything under way is lost; the new connection goes on from `metadataOffset`. */
  reconnect(connection: number, metadataOffset: number): void {
    this.connection = connection
    this.toController.clear()
    this.toBroker.clear()
    if (!this.#isSubscribed) return
    this.toController.send({ type: 'subscribeMetadata', fromOffset: metadataOffset })
  }
}
