/** What befalls a cluster, and how often each of it. */
import type { SeededRandom } from '../../src/lab/statistics-random.ts'
import { pickWeighted, type Weighted } from '../crash/random-choices.ts'
import type { SimulatedBroker } from './simulated-broker.ts'
import type { SimulatedCluster } from './simulated-cluster.ts'

type Fault = (cluster: SimulatedCluster, random: SeededRandom, broker: SimulatedBroker) => void

const faults = {
  freeze: (_cluster, _random, broker) => {
    broker.isFrozen = true
  },
  thaw: ({ brokers }) => {
    for (const broker of brokers) broker.isFrozen = false
  },
  kill: (cluster, _random, { id }) => cluster.kill(id),
  killAndStart: (cluster, _random, { id }) => {
    cluster.kill(id)
    cluster.start(id)
  },
  crash: (cluster, random, { id }) => cluster.crash(id, random),
  crashAndStart: (cluster, random, { id }) => {
    cluster.crash(id, random)
    cluster.start(id)
  },
  wipe: (cluster, _random, { id }) => cluster.wipe(id),
  stopCleanly: (cluster, _random, { id }) => cluster.stopCleanly(id),
  start: (cluster) => {
    for (const { id } of cluster.brokers) cluster.start(id)
  },
  isolateToController: (_cluster, _random, { life }) => {
    if (life !== undefined) life.link.toController.isCut = true
  },
  isolateFromController: (_cluster, _random, { life }) => {
    if (life !== undefined) life.link.toBroker.isCut = true
  },
  isolate: (_cluster, _random, { life }) => {
    if (life === undefined) return
    life.link.toBroker.isCut = true
    life.link.toController.isCut = true
  },
  healNetwork: ({ brokers }) => {
    for (const { life } of brokers) {
      if (life === undefined) continue
      life.link.toBroker.isCut = false
      life.link.toController.isCut = false
    }
  },
  reconnect: (cluster, _random, { id }) => {
    if (cluster.controller.controller !== undefined) cluster.reconnect(id)
  },
  killController: (cluster) => cluster.killController(),
  crashController: (cluster, random) => cluster.killController(random),
  startController: (cluster) => cluster.startController(),
  failSync: (_cluster, random, { machine }) => {
    machine.goodSyncs = random.nextBelow(3)
  },
  fillDisk: (_cluster, random, { machine }) => {
    machine.roomBytes = random.nextBelow(400)
  },
  shortWrites: (_cluster, random, { machine }) => {
    machine.shortWriteOneOf = random.nextBelow(2) === 0 ? 0 : 1 + random.nextBelow(4)
  },
  badReads: (_cluster, random, { life }) => {
    if (life !== undefined) life.disk.badReads = 1 + random.nextBelow(3)
  },
  mendDisk: (_cluster, _random, { machine }) => machine.clearFaults(),
  slowDisk: (_cluster, random, broker) => {
    broker.diskMs = random.nextBelow(4)
  },
  jumpClock: (_cluster, random, broker) => {
    broker.skewMs += random.nextBelow(200)
  },
  checkpoint: (_cluster, _random, broker) => broker.checkpoint(),
  longPause: ({ clock }, random) => clock.advance(30 + random.nextBelow(150)),
} satisfies Record<string, Fault>

export type FaultName = keyof typeof faults

const weights: readonly Weighted<FaultName>[] = [
  [12, 'freeze'],
  [10, 'thaw'],
  [5, 'kill'],
  [5, 'killAndStart'],
  [3, 'crash'],
  [3, 'crashAndStart'],
  [2, 'wipe'],
  [2, 'stopCleanly'],
  [14, 'start'],
  [3, 'isolateToController'],
  [3, 'isolateFromController'],
  [4, 'isolate'],
  [8, 'healNetwork'],
  [3, 'reconnect'],
  [2, 'killController'],
  [1, 'crashController'],
  [6, 'startController'],
  [1, 'failSync'],
  [1, 'fillDisk'],
  [3, 'shortWrites'],
  [2, 'badReads'],
  [3, 'mendDisk'],
  [3, 'slowDisk'],
  [2, 'jumpClock'],
  [6, 'checkpoint'],
  [3, 'longPause'],
]

export function randomFault(cluster: SimulatedCluster, random: SeededRandom): void {
  const name = pickWeighted(weights, random)
  const broker = cluster.brokers[random.nextBelow(cluster.brokers.length)]
  cluster.coverage.count(`fault ${name}`)
  cluster.coverage.note(() => `  to broker ${broker.id}`)
  faults[name](cluster, random, broker)
}
