/** What a producer may be told, with its defaults and ranges. */
import { TidemarkError } from '../errors.ts'
import { type Compression, compressions } from '../log/batch-header.ts'

export interface ProducerOptions {
  /** `'all'`: every in-sync replica has it (default); 1: the leader has it; 0: handed over. */
  readonly acks?: 0 | 1 | 'all'
  /**
   * Whether each record is in the log exactly once, in the order of `send`, however often its batch
   * must be sent (Kafka: `enable.idempotence`). Needs acks `'all'`, and is the default then.
   */
  readonly idempotent?: boolean
  /**
   * How long a batch waits for more records, ms (default 0: until the end of this turn of the event
   * loop).
   */
  readonly lingerMs?: number
  /** A batch is sent when it has this many bytes (default 16384). */
  readonly batchBytes?: number
  readonly compression?: Compression
  /** Leader's time for an acks=all batch, ms (default 30000). */
  readonly requestTimeoutMs?: number
  /** Refused batches are sent again for so long, ms (default 120000). */
  readonly deliveryTimeoutMs?: number
  /** `send` waits while so many bytes are buffered (default 32 MiB). */
  readonly bufferBytes?: number
}

const defaults: Required<ProducerOptions> = {
  acks: 'all',
  idempotent: true,
  lingerMs: 0,
  batchBytes: 16_384,
  compression: 'none',
  requestTimeoutMs: 30_000,
  deliveryTimeoutMs: 120_000,
  bufferBytes: 32 * 1024 * 1024,
}

/** Largest time a timer and a frame's header word hold. */
const int32Max = 2 ** 31 - 1

/**
 * Options that were left out, or are undefined, have their defaults.
 *
 * @throws {TidemarkError} INVALID_ARGUMENT, INVALID_REQUIRED_ACKS naming option, value and what is
 *   allowed
 */
export function checkedProducerOptions(
  options: ProducerOptions,
  batchBytesMax: number,
): Required<ProducerOptions> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  const unknown = given.find(([name]) => !Object.hasOwn(defaults, name))
  if (unknown !== undefined) {
    const allowed = Object.keys(defaults).join(', ')
    throw invalid(`${unknown[0]}: unknown producer option; allowed are ${allowed}`)
  }
  const checked: Required<ProducerOptions> = { ...defaults, ...Object.fromEntries(given) }
  const { acks } = checked
  if (acks !== 0 && acks !== 1 && acks !== 'all') {
    const detail = `acks = ${String(acks)}: allowed are 0, 1, all`
    throw new TidemarkError('INVALID_REQUIRED_ACKS', detail)
  }
  if (typeof checked.idempotent !== 'boolean') {
    throw invalid(`idempotent = ${String(checked.idempotent)}: allowed are true, false`)
  }
  if (checked.idempotent && acks !== 'all') {
    if (options.idempotent === true)
      throw invalid(`idempotent: true needs acks = 'all', not ${acks}`)
    return checkedNumbers({ ...checked, idempotent: false }, batchBytesMax)
  }
  return checkedNumbers(checked, batchBytesMax)
}

function checkedNumbers(
  checked: Required<ProducerOptions>,
  batchBytesMax: number,
): Required<ProducerOptions> {
  const { compression } = checked
  if (!compressions.includes(compression)) {
    throw invalid(`compression = ${String(compression)}: allowed are ${compressions.join(', ')}`)
  }
  checkRange('lingerMs', checked.lingerMs, 0, int32Max)
  checkRange('batchBytes', checked.batchBytes, 0, batchBytesMax)
  checkRange('requestTimeoutMs', checked.requestTimeoutMs, 0, int32Max)
  checkRange('deliveryTimeoutMs', checked.deliveryTimeoutMs, 0, int32Max)
  checkRange('bufferBytes', checked.bufferBytes, 1, Number.MAX_SAFE_INTEGER)
  return checked
}

function checkRange(name: string, value: unknown, min: number, max: number): void {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return
  throw invalid(
    `${name} = ${String(value)}: allowed are whole numbers from ${min} to at most ${max}`,
  )
}

function invalid(detail: string): TidemarkError {
  return new TidemarkError('INVALID_ARGUMENT', detail)
}
