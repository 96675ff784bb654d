/** Requests of an administrator, each to its rule. Pure. */
import type { AdminRequest, AdminResponse } from '../messages.ts'
import { decideAlterConfigs } from './decide-config.ts'
import { decideElectLeaders } from './decide-election.ts'
import { decideCreatePartitions, decideDeleteTopic } from './decide-partitions.ts'
import { decideAlterReassignments } from './decide-reassignment.ts'
import type { TopicLimits } from './decide-topic.ts'
import type { Decision } from './decision.ts'
import type { MetadataImage } from './metadata-image.ts'

export function decideAdmin(
  image: MetadataImage,
  request: AdminRequest,
  limits: TopicLimits,
  nowMs: number,
): Decision<AdminResponse> {
  switch (request.type) {
    case 'createPartitions':
      return decideCreatePartitions(image, request, limits)
    case 'deleteTopic':
      return decideDeleteTopic(image, request)
    case 'alterConfigs':
      return decideAlterConfigs(image, request, nowMs)
    case 'electLeaders':
      return decideElectLeaders(image, request, nowMs)
    case 'alterReassignments':
      return decideAlterReassignments(image, request, nowMs)
  }
}
