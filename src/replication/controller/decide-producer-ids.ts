/** Blocks of producer ids, each given out once (Kafka: ProducerIdControlManager). Pure. */
import type { AllocateProducerIdsRequest, AllocateProducerIdsResponse } from '../messages.ts'
import type { Decision } from './decision.ts'
import type { MetadataImage } from './metadata-image.ts'

/** Kafka: ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE. */
const blockSize = 1_000
/** Of the application's thread, which is no broker and hands the ids to its producers. */
const noBroker = { brokerId: -1, brokerEpoch: -1 }

export function decideProducerIds(
  image: MetadataImage,
  { correlationId }: AllocateProducerIdsRequest,
): Decision<AllocateProducerIdsResponse> {
  const producerIdStart = image.nextProducerId
  const nextProducerId = producerIdStart + blockSize
  return {
    records: [{ type: 'producerIds', ...noBroker, nextProducerId }],
    response: {
      type: 'allocateProducerIdsResponse',
      correlationId,
      error: 'NONE',
      detail: '',
      producerIdStart,
      producerIdCount: blockSize,
    },
    events: [],
  }
}
