/**
 * Entry of a broker's worker thread: builds a BrokerNode, steps it, parks when there is nothing to
 * do.
 */
import { type MessagePort, workerData } from 'node:worker_threads'
import { type Clock, systemClock } from '../clock.ts'
import { realFileSystem } from '../log/file-system.ts'
import type { ControllerRequest, ControllerResponse } from '../replication/messages.ts'
import { CommandTaker } from './broker-commands.ts'
import { BrokerNode } from './broker-node.ts'
import { type Channel, PortChannel } from './channel.ts'
import { clientSlot } from './cluster-memory.ts'
import { CutChannel } from './cut-channel.ts'
import { Doorbell, ringDoorbell } from './doorbell.ts'
import { FaultWords } from './fault-words.ts'
import { fileSystemSync } from './file-system-sync.ts'
import { LagReporter } from './lag-reporter.ts'
import { LagTable } from './lag-table.ts'
import { MessageCleaning } from './log-cleaning.ts'
import { PortSync } from './port-sync.ts'
import { brokerControl, brokerState, ProgressBoard } from './progress-board.ts'
import { slowFileSystem } from './slow-file-system.ts'
import { restBeforeEnd } from './thread-end.ts'
import type { BrokerThreadData, BrokerThreadMessage } from './thread-messages.ts'

/** Steps without a pause after which counters and news go out all the same. */
const stepsPerNews = 64

function run(data: BrokerThreadData): void {
  const { config, newsPort, syncPort } = data
  let { controllerPort } = data
  const { brokerId } = data.identity
  const post = (message: BrokerThreadMessage): void => newsPort.postMessage(message)
  const node = buildNode(data)
  const { board, leaders, sight } = node
  const table = new LagTable(data.memory.lags, brokerId)
  const lags = new LagReporter({ brokerId, table, image: node.link.image, leaders, sight })
  const doorbell = new Doorbell(board.words, board.doorbellBase(brokerId))
  const commands = new CommandTaker(node, newsPort, (port) => {
    controllerPort = reconnected(data, node, controllerPort, port)
  })
  let highWatermarksAtMs = 0
  let recoveryPointsAtMs = 0
  let busySteps = 0
  const shutDown = new ControlledShutDown(node, post)

  for (;;) {
    const control = board.control(brokerId)
    if (control === brokerControl.stop || control === brokerControl.abandon) break
    if (control === brokerControl.pause) {
      board.setState(brokerId, brokerState.paused)
      Atomics.wait(board.words, board.controlWord(brokerId), brokerControl.pause)
      board.setState(brokerId, lifeOf(node))
      continue
    }
    if (control === brokerControl.shutDown) shutDown.step()
    const bell = doorbell.read()
    commands.take(post)
    const isBusy = node.step() > 0
    if (node.failure !== undefined) break
    if (busySteps === 0) board.setState(brokerId, lifeOf(node))
    busySteps = isBusy ? busySteps + 1 : 0
    if (isBusy && busySteps % stepsPerNews !== 0) continue
    node.publishTally()
    lags.maybeServe(systemClock.nowMs())
    const news = node.takeNews()
    if (news !== undefined) post({ type: 'news', news })
    const cleaned = node.cleaning.takeCleanedOffsets()
    if (cleaned !== undefined) post({ type: 'cleanedOffsets', entries: cleaned })
    const nowMs = systemClock.nowMs()
    if (nowMs >= highWatermarksAtMs) {
      highWatermarksAtMs = nowMs + config['replica.high.watermark.checkpoint.interval.ms']
      post({ type: 'highWatermarks', entries: node.highWatermarks() })
    }
    if (nowMs >= recoveryPointsAtMs) {
      recoveryPointsAtMs = nowMs + config['log.flush.offset.checkpoint.interval.ms']
      node.writeRecoveryPoints()
    }
    if (!isBusy) doorbell.park(bell, node.idleMs(nowMs))
  }
  end(node, post)
  board.setState(brokerId, brokerState.stopped)
  controllerPort.close()
  newsPort.close()
  syncPort.close()
  data.cleaningPort.close()
  restBeforeEnd()
}

/** It counts for nothing before the metadata has come to its own registration. */
function lifeOf(node: BrokerNode): number {
  return node.link.isRegistered ? brokerState.running : brokerState.starting
}

/** Another controller took over: what was under way is sent again. @returns the port in use */
function reconnected(
  data: BrokerThreadData,
  node: BrokerNode,
  before: MessagePort,
  port: MessagePort,
): MessagePort {
  const nowMs = systemClock.nowMs()
  before.close()
  node.link.reconnect(controllerChannel(data, port), nowMs)
  node.leaders.onControllerLost(nowMs)
  return port
}

/** Asks to be let go, and tells when that is granted; the thread goes on until it is stopped. */
class ControlledShutDown {
  readonly #node: BrokerNode
  readonly #post: (message: BrokerThreadMessage) => void
  #stage: 'begin' | 'asked' | 'granted' = 'begin'

  constructor(node: BrokerNode, post: (message: BrokerThreadMessage) => void) {
    this.#node = node
    this.#post = post
  }

  step(): void {
    if (this.#stage === 'begin') {
      this.#node.link.beginShutDown(systemClock.nowMs())
      this.#stage = 'asked'
    } else if (this.#stage === 'asked' && this.#node.link.mayShutDown) {
      this.#post({ type: 'mayStop' })
      this.#stage = 'granted'
    }
  }
}

/** The node over ports, files and clocks, each of which can be made to misbehave. */
function buildNode(data: BrokerThreadData): BrokerNode {
  const { identity, memory, config, stored, directories, controllerPort } = data
  const { brokerId } = identity
  const faults = new FaultWords(new ProgressBoard(memory.board))
  const sleeper = new Int32Array(new SharedArrayBuffer(4))
  const wallClock: Clock = { nowMs: () => systemClock.nowMs() + faults.clockOffsetMs(brokerId) }
  return new BrokerNode({
    identity,
    memory,
    config,
    stored,
    brokerDirectory: (broker) => directories[broker - 1]!,
    channel: controllerChannel(data, controllerPort),
    clock: systemClock,
    wallClock,
    fs: slowFileSystem(realFileSystem, {
      delayMs: () => faults.diskDelayMs(brokerId),
      bytesPerSec: () => faults.diskBytesPerSec(brokerId),
      nowMs: () => systemClock.nowMs(),
      sleep: (ms) => Atomics.wait(sleeper, 0, 0, ms),
    }),
    findSync: fileSystemSync,
    syncPort: new PortSync(data.syncPort),
    cleaningPort: new MessageCleaning(data.cleaningPort),
  })
}

function controllerChannel(
  { identity, memory }: BrokerThreadData,
  controllerPort: MessagePort,
): Channel<ControllerRequest, ControllerResponse> {
  const board = new ProgressBoard(memory.board)
  const faults = new FaultWords(board)
  const bell = board.clientDoorbellBase(clientSlot.controller)
  const port = new PortChannel<ControllerRequest, ControllerResponse>(controllerPort, () => {
    ringDoorbell(board.words, bell)
  })
  return new CutChannel(port, () => faults.controllerCut(identity.brokerId))
}

/** Last words. Of a broker whose disk failed nothing is flushed: it can't be, and must not seem. */
function end(node: BrokerNode, post: (message: BrokerThreadMessage) => void): void {
  const { failure, board, brokerId } = node
  if (failure !== undefined) {
    const news = node.takeNews()
    if (news !== undefined) post({ type: 'news', news })
    post({ type: 'diskFailed', message: failure.message })
  }
  const flush = failure === undefined && board.control(brokerId) === brokerControl.stop
  post({
    type: 'stopped',
    isClean: node.close({ flush }),
    highWatermarks: node.highWatermarks(),
    recoveryPoints: node.recoveryPoints(),
    logStarts: node.store.logStarts.entries(),
    brokerEpoch: node.link.brokerEpoch,
  })
}

run(workerData as BrokerThreadData)
