/** Does to a cluster what a fault says, and takes it back. */
import type { Cluster } from '../cluster.ts'
import type { Isolation } from '../cluster-faults.ts'
import type { Fault } from './faults.ts'

/** @throws {TidemarkError} what the cluster's methods throw */
export async function inflict(cluster: Cluster, fault: Fault): Promise<void> {
  const { kind, broker } = fault
  switch (kind) {
    case 'pause':
      return await cluster.pause(broker)
    case 'kill':
      return await cluster.kill(broker)
    case 'wipe':
      return await cluster.faults.wipe(broker)
    case 'throttle':
      return cluster.throttle(broker, fault.throttleBytesPerSec ?? 0)
    case 'isolate':
      return cluster.faults.isolate(broker, isolationOf(fault))
    case 'slow-disk':
      return cluster.faults.slowDisk(broker, fault.disk ?? {})
    case 'clock':
      return cluster.faults.shiftClock(broker, fault.clockOffsetMs ?? 0)
    case 'controller':
      return await cluster.killController(fault.forMs)
  }
}

/** @throws {TidemarkError} what the cluster's methods throw */
export async function relieve(cluster: Cluster, { kind, broker }: Fault): Promise<void> {
  switch (kind) {
    case 'pause':
      return cluster.resume(broker)
    case 'kill':
    case 'wipe':
      return await cluster.restart(broker)
    case 'throttle':
      return cluster.throttle(broker, 0)
    case 'isolate':
      return cluster.faults.heal(broker)
    case 'slow-disk':
      return cluster.faults.slowDisk(broker, {})
    case 'clock':
      return cluster.faults.shiftClock(broker, 0)
    case 'controller':
      // Its time away was told when it was killed; that another has started is an event.
      return
  }
}

function isolationOf({ isolation }: Fault): Isolation {
  if (isolation === null) return {}
  const { from, direction } = isolation
  return {
    ...(from === 'leader' ? {} : { controller: direction }),
    ...(from === 'controller' ? {} : { brokers: direction }),
  }
}
