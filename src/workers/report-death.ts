/**
 * What the supervisor tells the controller of a broker that ended by itself: fence it now. In one
 * process its end is known; over a network the session would have to run out.
 */
import type { BrokerEpoch, BrokerId } from '../ids.ts'
import type { ControllerRequest } from '../replication/messages.ts'
import type { ControllerHost } from './controller-host.ts'

/**
 * Speaks for the dead in their own words: a heartbeat that asks to be fenced (Kafka:
 * `BrokerHeartbeatRequest.wantFence`). Of a life that was never registered there is nothing to say.
 * If the controller is away as well, the session ends as always.
 */
export function reportDeath(
  controller: ControllerHost,
  brokerId: BrokerId,
  brokerEpoch: BrokerEpoch,
): void {
  if (brokerEpoch === -1) return
  const { port, connection } = controller.connect(brokerId)
  port.once('message', () => {
    controller.disconnect(connection)
    port.close()
  })
  port.unref()
  const request: ControllerRequest = {
    type: 'brokerHeartbeat',
    correlationId: 1,
    brokerId,
    brokerEpoch,
    metadataOffset: 0,
    wantFence: true,
    wantShutDown: false,
  }
  port.postMessage(request)
  controller.wake()
}
