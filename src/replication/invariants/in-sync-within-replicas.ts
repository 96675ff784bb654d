/**
 * Invariant: in-sync and eligible replicas are replicas of the partition, each named once; the
 * leader is in sync; and somebody is always known to have all committed records.
 */
import type { BrokerId } from '../../ids.ts'
import { leaderNone, type PartitionRegistration } from '../registration.ts'

/** @returns what is broken; undefined: nothing */
export function inSyncFault(registration: PartitionRegistration): string | undefined {
  const { replicas, inSyncReplicas, eligibleLeaderReplicas, leader } = registration
  // Looked at after every step: what it says is put together only when something is broken.
  for (const holder of inSyncReplicas) {
    if (!replicas.includes(holder)) return `${holder} is no replica: ${told(registration)}`
  }
  for (const holder of eligibleLeaderReplicas) {
    if (!replicas.includes(holder)) return `${holder} is no replica: ${told(registration)}`
  }
  if (isAnyNamedTwice(inSyncReplicas, eligibleLeaderReplicas)) {
    return `named twice: ${told(registration)}`
  }
  if (leader !== leaderNone && !inSyncReplicas.includes(leader)) {
    return `leader ${leader} is not in sync: ${told(registration)}`
  }
  // With eligible replicas both may be empty: then the last known leader stands for them.
  const holders = inSyncReplicas.length + eligibleLeaderReplicas.length
  if (holders > 0 || registration.lastKnownLeader.length > 0) return undefined
  return `nobody has the committed records: ${told(registration)}`
}

function isAnyNamedTwice(inSync: readonly BrokerId[], eligible: readonly BrokerId[]): boolean {
  for (let at = 0; at < inSync.length; at++) {
    if (inSync.indexOf(inSync[at]!) !== at || eligible.includes(inSync[at]!)) return true
  }
  for (let at = 0; at < eligible.length; at++) {
    if (eligible.indexOf(eligible[at]!) !== at) return true
  }
  return false
}

function told(registration: PartitionRegistration): string {
  const { replicas, inSyncReplicas, eligibleLeaderReplicas } = registration
  return `replicas ${replicas}, in sync ${inSyncReplicas}, eligible ${eligibleLeaderReplicas}`
}
