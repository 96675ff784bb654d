/** Registrations of brokers, as the metadata log's records left them. */
import { TidemarkError } from '../../errors.ts'
import type { BrokerEpoch, BrokerId } from '../../ids.ts'
import type { BrokerRegistration } from '../registration.ts'
import {
  type BrokerRegistrationChangeRecord,
  controlledShutdownChanges,
  type FenceBrokerRecord,
  fencingChanges,
  type RegisterBrokerRecord,
  type UnfenceBrokerRecord,
  type UnregisterBrokerRecord,
} from './metadata-records.ts'

interface BrokerEntry {
  readonly registration: BrokerRegistration
  /** As it came: endpoints and the like are only carried. */
  readonly record: RegisterBrokerRecord
}

type BrokerRecord =
  | RegisterBrokerRecord
  | UnregisterBrokerRecord
  | BrokerRegistrationChangeRecord
  | FenceBrokerRecord
  | UnfenceBrokerRecord

type Change = Partial<Pick<BrokerRegistration, 'fenced' | 'inControlledShutdown'>>

export class BrokerTable {
  readonly #brokers = new Map<BrokerId, BrokerEntry>()

  get(broker: BrokerId): BrokerRegistration | undefined {
    return this.#brokers.get(broker)?.registration
  }

  all(): BrokerRegistration[] {
    return Array.from(this.#brokers.values(), ({ registration }) => registration)
  }

  /** @throws {TidemarkError} CORRUPT_MESSAGE when no broker is registered with that epoch. */
  apply(record: BrokerRecord, offset: number): void {
    switch (record.type) {
      case 'registerBroker':
        this.#register(record)
        break
      case 'unregisterBroker':
        this.#entry(record.brokerId, record.brokerEpoch, offset)
        this.#brokers.delete(record.brokerId)
        break
      case 'brokerRegistrationChange':
        this.#change(record, offset)
        break
      case 'fenceBroker':
      case 'unfenceBroker':
        this.#set(record.id, record.epoch, offset, { fenced: record.type === 'fenceBroker' })
    }
  }

  #register(record: RegisterBrokerRecord): void {
    const { brokerId, brokerEpoch, incarnationId, fenced } = record
    const inControlledShutdown = record.inControlledShutdown ?? false
    const registration = { brokerId, brokerEpoch, incarnationId, fenced, inControlledShutdown }
    this.#brokers.set(brokerId, { registration, record })
  }

  #change(record: BrokerRegistrationChangeRecord, offset: number): void {
    const { brokerId, brokerEpoch, fenced, inControlledShutdown } = record
    this.#set(brokerId, brokerEpoch, offset, {
      ...(fenced === undefined ? {} : { fenced: fenced === fencingChanges.fence }),
      ...(inControlledShutdown === controlledShutdownChanges.begin
        ? { inControlledShutdown: true }
        : {}),
    })
  }

  #set(broker: BrokerId, epoch: BrokerEpoch, offset: number, change: Change): void {
    const { registration, record } = this.#entry(broker, epoch, offset)
    this.#brokers.set(broker, { registration: { ...registration, ...change }, record })
  }

  /** What would make the same table. */
  records(): RegisterBrokerRecord[] {
    return Array.from(this.#brokers.values(), ({ registration, record }) => {
      const { fenced, inControlledShutdown } = registration
      const { inControlledShutdown: _, ...carried } = record
      return inControlledShutdown
        ? { ...carried, fenced, inControlledShutdown }
        : { ...carried, fenced }
    })
  }

  clear(): void {
    this.#brokers.clear()
  }

  #entry(broker: BrokerId, epoch: BrokerEpoch, offset: number): BrokerEntry {
    const entry = this.#brokers.get(broker)
    if (entry?.registration.brokerEpoch === epoch) return entry
    throw new TidemarkError(
      'CORRUPT_MESSAGE',
      `metadata at offset ${offset}: broker ${broker} with epoch ${epoch} is unknown`,
    )
  }
}
