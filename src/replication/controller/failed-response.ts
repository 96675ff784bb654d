/** The answer to a request that failed as a whole. */
import type { ErrorCode } from '../../errors.ts'
import type {
  ControllerRequest,
  ControllerResponse,
  SubscribeMetadataRequest,
} from '../messages.ts'
import { failedAdmin } from './admin-response.ts'

export function failedResponse(
  request: Exclude<ControllerRequest, SubscribeMetadataRequest>,
  error: ErrorCode,
): ControllerResponse {
  const { correlationId } = request
  switch (request.type) {
    case 'alterPartition':
      return { type: 'alterPartitionResponse', correlationId, error, items: [] }
    case 'registerBroker':
      return { type: 'registerBrokerResponse', correlationId, error, brokerEpoch: -1 }
    case 'createTopic': {
      const detail = `topic '${request.topic}' was not created`
      return { type: 'createTopicResponse', correlationId, error, detail, topicId: '' }
    }
    case 'createPartitions':
    case 'deleteTopic':
    case 'alterConfigs':
    case 'electLeaders':
    case 'alterReassignments':
      return failedAdmin(request, error, 'the metadata log failed: nothing was changed')
    case 'allocateProducerIds': {
      const nothing = { producerIdStart: -1, producerIdCount: 0 }
      const detail = 'no producer ids were given out'
      return { type: 'allocateProducerIdsResponse', correlationId, error, detail, ...nothing }
    }
    case 'brokerHeartbeat':
      return {
        type: 'brokerHeartbeatResponse',
        correlationId,
        error,
        isCaughtUp: false,
        isFenced: true,
        shouldShutDown: false,
      }
  }
}
