/**
 * The life of brokers: registration, heartbeats, fencing of the silent (Kafka:
 * ClusterControlManager.registerBroker, ReplicationControlManager.processBrokerHeartbeat and
 * maybeFenceOneStaleBroker). Pure.
 */
import type { BrokerEpoch, BrokerId } from '../../ids.ts'
import { limits } from '../../limits.ts'
import type {
  BrokerHeartbeatRequest,
  BrokerHeartbeatResponse,
  RegisterBrokerRequest,
  RegisterBrokerResponse,
} from '../messages.ts'
import type { BrokerRegistration } from '../registration.ts'
import {
  changesOfLeaving,
  changesOfLosing,
  changesOfReturning,
  leadsAny,
} from './broker-effects.ts'
import { type ControllerEvent, electedEvents, inSyncChanges } from './controller-events.ts'
import type { Decision } from './decision.ts'
import type { MetadataImage } from './metadata-image.ts'
import {
  type BrokerRegistrationChangeRecord,
  controlledShutdownChanges,
  fencingChanges,
  type PartitionChangeRecord,
} from './metadata-records.ts'
import { type BrokerState, nextBrokerState } from './next-broker-state.ts'
import { parseUuid } from './uuid.ts'

export interface RegistrationFacts {
  readonly clusterId: string
  /** The broker's session, if it has one, hasn't ended. */
  readonly sessionAlive: boolean
  readonly nowMs: number
}

/**
 * A new incarnation gets the offset of its registration record as epoch and starts fenced.
 * Whatever its former life was in sync with, it isn't. Unless it can name the epoch of a former
 * life that ended cleanly, it may also have lost what it hadn't flushed, and isn't eligible to lead
 * any more (KIP-966, KAFKA-18635).
 */
export function decideRegistration(
  image: MetadataImage,
  request: RegisterBrokerRequest,
  facts: RegistrationFacts,
): Decision<RegisterBrokerResponse> {
  const { brokerId } = request
  const incarnationId = parseUuid(request.incarnationId)
  const existing = image.broker(brokerId)
  if (request.clusterId !== facts.clusterId) {
    return refuseRegistration(request, 'INCONSISTENT_CLUSTER_ID', facts)
  }
  if (incarnationId === undefined || !isBrokerId(brokerId)) {
    return refuseRegistration(request, 'INVALID_REQUEST', facts)
  }
  if (existing?.incarnationId === incarnationId) {
    // The answer to the first request was lost; everything stays as it is.
    return { records: [], response: registered(request, existing.brokerEpoch), events: [] }
  }
  if (existing !== undefined && facts.sessionAlive && !request.previousIncarnationEnded) {
    return refuseRegistration(request, 'DUPLICATE_BROKER_REGISTRATION', facts)
  }

  const changes = existing === undefined ? [] : changesOfReturnAs(image, existing, request)
  const brokerEpoch = image.endOffset + changes.length
  const detail = { brokerEpoch, previousBrokerEpoch: existing?.brokerEpoch ?? -1 }
  return {
    records: [
      ...changes,
      { type: 'registerBroker', brokerId, incarnationId, brokerEpoch, fenced: true },
    ],
    response: registered(request, brokerEpoch),
    events: eventsOf(image, changes, {
      atMs: facts.nowMs,
      kind: 'registered',
      brokerId,
      partitions: inSyncChanges(image, changes),
      detail,
    }),
  }
}

function changesOfReturnAs(
  image: MetadataImage,
  { brokerId, brokerEpoch }: BrokerRegistration,
  { previousBrokerEpoch }: RegisterBrokerRequest,
): PartitionChangeRecord[] {
  const isClean = previousBrokerEpoch === brokerEpoch
  return isClean ? changesOfLeaving(image, brokerId) : changesOfLosing(image, brokerId)
}

function isBrokerId(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= limits.brokersMax
}

function registered(
  { correlationId }: RegisterBrokerRequest,
  brokerEpoch: BrokerEpoch,
): RegisterBrokerResponse {
  return { type: 'registerBrokerResponse', correlationId, error: 'NONE', brokerEpoch }
}

function refuseRegistration(
  { brokerId, correlationId }: RegisterBrokerRequest,
  error: 'INCONSISTENT_CLUSTER_ID' | 'INVALID_REQUEST' | 'DUPLICATE_BROKER_REGISTRATION',
  { nowMs }: RegistrationFacts,
): Decision<RegisterBrokerResponse> {
  return {
    records: [],
    response: { type: 'registerBrokerResponse', correlationId, error, brokerEpoch: -1 },
    events: [{ atMs: nowMs, kind: 'rejected', brokerId, partitions: [], error, detail: {} }],
  }
}

export interface HeartbeatSession {
  /** See `BrokerSessions`: -1 unless the broker is in controlled shutdown. */
  readonly shutdownOffset: number
  readonly lowestActiveOffset: number
  readonly nowMs: number
}

export interface HeartbeatDecision extends Decision<BrokerHeartbeatResponse> {
  /** The broker's state from now on; undefined: the request was refused. */
  readonly next?: BrokerState
}

/** The caller has looked up the session of a broker whose epoch is right, see `isStaleBroker`. */
export function decideHeartbeat(
  image: MetadataImage,
  request: BrokerHeartbeatRequest,
  session: HeartbeatSession,
): HeartbeatDecision {
  const { brokerId, brokerEpoch, correlationId, metadataOffset } = request
  // The epoch is the offset of the registration's record.
  const isCaughtUp = metadataOffset > brokerEpoch
  const fenced = image.broker(brokerId)?.fenced === true
  const current =
    session.shutdownOffset >= 0 ? 'controlledShutdown' : fenced ? 'fenced' : 'unfenced'
  const next = nextBrokerState({
    current,
    wantFence: request.wantFence,
    wantShutDown: request.wantShutDown,
    isCaughtUp,
    leadsAny: () => leadsAny(image, brokerId),
    othersCaughtUp: session.shutdownOffset <= session.lowestActiveOffset,
  })
  const response: BrokerHeartbeatResponse = {
    type: 'brokerHeartbeatResponse',
    correlationId,
    error: 'NONE',
    isCaughtUp,
    isFenced: next === 'fenced' || next === 'shutdownNow',
    shouldShutDown: next === 'shutdownNow',
  }
  if (next === current) return { records: [], response, events: [], next }
  const change = { brokerId, brokerEpoch, atMs: session.nowMs }
  return { ...moveTo(image, next, change, { metadataOffset }), response, next }
}

interface BrokerChange {
  readonly brokerId: BrokerId
  readonly brokerEpoch: BrokerEpoch
  readonly atMs: number
}

function moveTo(
  image: MetadataImage,
  next: BrokerState,
  change: BrokerChange,
  detail: Readonly<Record<string, number>>,
): Pick<Decision<never>, 'records' | 'events'> {
  switch (next) {
    case 'fenced':
    case 'shutdownNow':
      return fence(image, change, detail)
    case 'unfenced':
      return unfence(image, change, detail)
    case 'controlledShutdown':
      return beginShutdown(image, change, detail)
  }
}

/** Fencing of a broker that was silent for too long: same records as if it had asked. */
export function decideFencing(
  image: MetadataImage,
  brokerId: BrokerId,
  { silentMs, timeoutMs, nowMs }: { silentMs: number; timeoutMs: number; nowMs: number },
): Pick<Decision<never>, 'records' | 'events'> {
  const brokerEpoch = image.broker(brokerId)?.brokerEpoch ?? -1
  const detail = { silentMs, sessionTimeoutMs: timeoutMs }
  return fence(image, { brokerId, brokerEpoch, atMs: nowMs }, detail)
}

/** A fenced broker that is told to shut down is fenced already: nothing more to record. */
function fence(
  image: MetadataImage,
  { brokerId, brokerEpoch, atMs }: BrokerChange,
  detail: Readonly<Record<string, number>>,
): Pick<Decision<never>, 'records' | 'events'> {
  if (image.broker(brokerId)?.fenced === true) return { records: [], events: [] }
  const changes = changesOfLeaving(image, brokerId)
  const partitions = inSyncChanges(image, changes)
  const record = registrationChange(brokerId, brokerEpoch, { fenced: fencingChanges.fence })
  return {
    records: [...changes, record],
    events: eventsOf(image, changes, { atMs, kind: 'fenced', brokerId, partitions, detail }),
  }
}

function unfence(
  image: MetadataImage,
  { brokerId, brokerEpoch, atMs }: BrokerChange,
  detail: Readonly<Record<string, number>>,
): Pick<Decision<never>, 'records' | 'events'> {
  const changes = changesOfReturning(image, brokerId)
  const record = registrationChange(brokerId, brokerEpoch, { fenced: fencingChanges.unfence })
  return {
    records: [record, ...changes],
    events: eventsOf(image, changes, { atMs, kind: 'unfenced', brokerId, partitions: [], detail }),
  }
}

/** The broker stays unfenced and goes on serving what it leads until it is moved. */
function beginShutdown(
  image: MetadataImage,
  { brokerId, brokerEpoch, atMs }: BrokerChange,
  detail: Readonly<Record<string, number>>,
): Pick<Decision<never>, 'records' | 'events'> {
  const changes = changesOfLeaving(image, brokerId)
  const partitions = inSyncChanges(image, changes)
  const inControlledShutdown = controlledShutdownChanges.begin
  const isMarked = image.broker(brokerId)?.inControlledShutdown === true
  const marks = isMarked
    ? []
    : [registrationChange(brokerId, brokerEpoch, { inControlledShutdown })]
  return {
    records: [...marks, ...changes],
    events: eventsOf(image, changes, { atMs, kind: 'shuttingDown', brokerId, partitions, detail }),
  }
}

function registrationChange(
  brokerId: BrokerId,
  brokerEpoch: BrokerEpoch,
  change: Pick<BrokerRegistrationChangeRecord, 'fenced' | 'inControlledShutdown'>,
): BrokerRegistrationChangeRecord {
  return { type: 'brokerRegistrationChange', brokerId, brokerEpoch, ...change }
}

function eventsOf(
  image: MetadataImage,
  changes: readonly PartitionChangeRecord[],
  event: ControllerEvent,
): ControllerEvent[] {
  return [event, ...electedEvents(image, changes, event.brokerId, event.atMs)]
}
