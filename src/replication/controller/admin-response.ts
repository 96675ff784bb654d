/** Answers to an administrator. Pure. */
import type { ErrorCode } from '../../errors.ts'
import type { AdminRequest, AdminResponse, PartitionResult } from '../messages.ts'
import type { ControllerEvent } from './controller-events.ts'
import type { Decision } from './decision.ts'
import type { MetadataRecord } from './metadata-records.ts'

type Correlated = Pick<AdminRequest, 'correlationId'>

export function refused(
  request: Correlated,
  error: ErrorCode,
  detail: string,
): Decision<AdminResponse> {
  return { records: [], response: failedAdmin(request, error, detail), events: [] }
}

export function failedAdmin(
  { correlationId }: Correlated,
  error: ErrorCode,
  detail: string,
): AdminResponse {
  return { type: 'adminResponse', correlationId, error, detail, results: [] }
}

export function done(
  { correlationId }: Correlated,
  records: readonly MetadataRecord[],
  events: readonly ControllerEvent[] = [],
  results: readonly PartitionResult[] = [],
): Decision<AdminResponse> {
  const response = { type: 'adminResponse', correlationId, error: 'NONE', detail: '' } as const
  return { records, response: { ...response, results }, events }
}
