/**
 * Entry of a broker's worker thread: builds a BrokerNode, steps it, parks when there is nothing to
 * do.
 */
import { workerData } from 'node:worker_threads'
import { systemClock } from '../clock.ts'
import type { ControllerRequest, ControllerResponse } from '../replication/messages.ts'
import { BrokerNode } from './broker-node.ts'
import { PortChannel } from './channel.ts'
import { clientSlot } from './cluster-memory.ts'
import { Doorbell, ringDoorbell } from './doorbell.ts'
import { brokerControl, brokerState } from './progress-board.ts'
import type { BrokerThreadData, BrokerThreadMessage } from './thread-messages.ts'

/** Steps without a pause after which counters and news go out all the same. */
const stepsPerNews = 64

function run(data: BrokerThreadData): void {
  const { identity, memory, config, stored, directories, controllerPort, newsPort } = data
  const { brokerId } = identity
  const post = (message: BrokerThreadMessage): void => newsPort.postMessage(message)
  const node = new BrokerNode({
    identity,
    memory,
    config,
    stored,
    brokerDirectory: (broker) => directories[broker - 1]!,
    channel: new PortChannel<ControllerRequest, ControllerResponse>(controllerPort, () => {
      ringDoorbell(node.board.words, node.board.clientDoorbellBase(clientSlot.controller))
    }),
    clock: systemClock,
  })
  const { board } = node
  const doorbell = new Doorbell(board.words, board.doorbellBase(brokerId))
  let highWatermarksAtMs = 0
  let recoveryPointsAtMs = 0
  let busySteps = 0

  board.setState(brokerId, brokerState.running)
  for (;;) {
    const control = board.control(brokerId)
    if (control === brokerControl.stop || control === brokerControl.abandon) break
    if (control === brokerControl.pause) {
      board.setState(brokerId, brokerState.paused)
      Atomics.wait(board.words, board.controlWord(brokerId), brokerControl.pause)
      board.setState(brokerId, brokerState.running)
      continue
    }
    const bell = doorbell.read()
    const isBusy = node.step() > 0
    busySteps = isBusy ? busySteps + 1 : 0
    if (isBusy && busySteps % stepsPerNews !== 0) continue
    node.publishTally()
    const news = node.takeNews()
    if (news !== undefined) post({ type: 'news', news })
    const nowMs = systemClock.nowMs()
    if (nowMs >= highWatermarksAtMs) {
      highWatermarksAtMs = nowMs + config['replica.high.watermark.checkpoint.interval.ms']
      post({ type: 'highWatermarks', entries: node.highWatermarks() })
    }
    if (nowMs >= recoveryPointsAtMs) {
      recoveryPointsAtMs = nowMs + config['log.flush.offset.checkpoint.interval.ms']
      node.store.writeRecoveryPoints()
    }
    if (!isBusy) doorbell.park(bell, node.idleMs(nowMs))
  }
  const flush = board.control(brokerId) === brokerControl.stop
  post(closed(node, flush))
  board.setState(brokerId, brokerState.stopped)
  controllerPort.close()
  newsPort.close()
}

function closed(node: BrokerNode, flush: boolean): BrokerThreadMessage {
  return {
    type: 'stopped',
    isClean: node.close({ flush }),
    highWatermarks: node.highWatermarks(),
    recoveryPoints: node.recoveryPoints(),
    brokerEpoch: node.link.brokerEpoch,
  }
}

run(workerData as BrokerThreadData)
