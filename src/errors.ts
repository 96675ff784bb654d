/**
 * One error class for everything the world can do to us. The code carries Apache Kafka's name and
 * number where Kafka has one; our own codes are negative below -1.
 */

interface ErrorKind {
  readonly number: number
  readonly retriable: boolean
  readonly message: string
}

function kind(number: number, retriable: boolean, message: string): ErrorKind {
  return { number, retriable, message }
}

export const errorKinds = {
  UNKNOWN_SERVER_ERROR: kind(-1, false, 'unexpected error'),
  OFFSET_OUT_OF_RANGE: kind(1, false, 'the offset is outside the log'),
  CORRUPT_MESSAGE: kind(2, true, 'a batch failed its checks'),
  UNKNOWN_TOPIC_OR_PARTITION: kind(3, true, 'no such topic or partition'),
  NOT_LEADER_OR_FOLLOWER: kind(6, true, 'this broker is not the leader, or not a replica'),
  REQUEST_TIMED_OUT: kind(7, true, 'the request timed out; its outcome is unknown'),
  RECORD_TOO_LARGE: kind(10, false, 'a record or batch is larger than allowed'),
  NETWORK_EXCEPTION: kind(13, true, 'the other side went away'),
  INVALID_TOPIC_EXCEPTION: kind(17, false, 'the topic name is not valid'),
  RECORD_LIST_TOO_LARGE: kind(18, false, 'the batch is larger than a segment'),
  NOT_ENOUGH_REPLICAS: kind(19, true, 'fewer in-sync replicas than min.insync.replicas'),
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: kind(
    20,
    true,
    'appended, but with fewer in-sync replicas than min.insync.replicas',
  ),
  INVALID_REQUIRED_ACKS: kind(21, false, 'acks must be 0, 1 or all'),
  CLUSTER_AUTHORIZATION_FAILED: kind(31, false, 'not authorized'),
  UNSUPPORTED_VERSION: kind(35, false, 'the version is not supported'),
  TOPIC_ALREADY_EXISTS: kind(36, false, 'the topic exists already'),
  INVALID_PARTITIONS: kind(37, false, 'the number of partitions is not valid'),
  INVALID_REPLICATION_FACTOR: kind(38, false, 'the replication factor is not valid'),
  INVALID_REPLICA_ASSIGNMENT: kind(39, false, 'the replica assignment is not valid'),
  INVALID_CONFIG: kind(40, false, 'a configuration value is not valid'),
  NOT_CONTROLLER: kind(41, true, 'this controller is not the active one'),
  INVALID_REQUEST: kind(42, false, 'the request is not valid'),
  OUT_OF_ORDER_SEQUENCE_NUMBER: kind(45, false, 'batches of the producer are missing before it'),
  INVALID_PRODUCER_EPOCH: kind(47, false, 'the producer has a newer epoch by now'),
  INVALID_TXN_STATE: kind(48, false, 'not possible while the producer has a transaction open'),
  TRANSACTION_COORDINATOR_FENCED: kind(52, false, 'the coordinator has a newer epoch by now'),
  POLICY_VIOLATION: kind(44, false, 'the request goes against a policy'),
  OPERATION_NOT_ATTEMPTED: kind(55, false, 'the operation was not attempted'),
  KAFKA_STORAGE_ERROR: kind(56, true, 'the log failed on disk'),
  FENCED_LEADER_EPOCH: kind(74, true, 'the leader epoch is older than the current one'),
  UNKNOWN_LEADER_EPOCH: kind(75, true, 'the leader epoch is newer than the current one'),
  STALE_BROKER_EPOCH: kind(77, false, 'the broker epoch is older than the registered one'),
  OFFSET_NOT_AVAILABLE: kind(78, true, 'the leader cannot tell the offset yet'),
  PREFERRED_LEADER_NOT_AVAILABLE: kind(80, true, 'the preferred leader is not available'),
  ELIGIBLE_LEADERS_NOT_AVAILABLE: kind(83, true, 'no eligible leader is available'),
  ELECTION_NOT_NEEDED: kind(84, true, 'no election is needed'),
  NO_REASSIGNMENT_IN_PROGRESS: kind(85, false, 'no reassignment is in progress'),
  INVALID_RECORD: kind(87, false, 'a record is not valid'),
  INVALID_UPDATE_VERSION: kind(95, false, 'the partition epoch is older than the current one'),
  UNKNOWN_TOPIC_ID: kind(100, true, 'no such topic id'),
  DUPLICATE_BROKER_REGISTRATION: kind(101, false, 'another incarnation of the broker is alive'),
  BROKER_ID_NOT_REGISTERED: kind(102, false, 'the broker is not registered'),
  INCONSISTENT_TOPIC_ID: kind(103, true, 'the topic id differs from the one on disk'),
  INCONSISTENT_CLUSTER_ID: kind(104, false, 'the cluster id differs'),
  INELIGIBLE_REPLICA: kind(107, false, 'a replica may not join the in-sync replicas now'),
  NEW_LEADER_ELECTED: kind(108, false, 'applied, and another broker leads now'),

  BROKER_CLOSED: kind(-2, false, 'the cluster or log is closed'),
  DIRECTORY_IN_USE: kind(-3, false, 'the directory is in use by another process'),
  INVALID_ARGUMENT: kind(-4, false, 'an argument is not valid'),
  CORRUPT_FILE: kind(-5, false, 'a file on disk is not what it should be'),
  BROKER_NOT_AVAILABLE: kind(-6, true, 'the broker is not running'),
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof errorKinds

/** 0 on the wire and in shared words: no error. */
export const errorNumberNone = 0

const codeByNumber = new Map<number, ErrorCode>(
  Object.entries(errorKinds).map(([code, { number }]) => [number, code as ErrorCode]),
)

export interface TidemarkErrorOptions {
  readonly detail?: string
  readonly cause?: unknown
}

/**
 * The error of every public call. `code` is Kafka's name, `number` Kafka's number, `retriable` says
 * whether the same call may succeed later.
 */
export class TidemarkError extends Error {
  override readonly name = 'TidemarkError'
  readonly code: ErrorCode
  readonly number: number
  readonly retriable: boolean

  constructor(code: ErrorCode, options: TidemarkErrorOptions | string = {}) {
    const { detail, cause } = typeof options === 'string' ? { detail: options } : options
    const { number, retriable, message } = errorKinds[code]
    super(detail === undefined ? message : detail, cause === undefined ? undefined : { cause })
    this.code = code
    this.number = number
    this.retriable = retriable
  }
}

export function errorNumber(code: ErrorCode): number {
  return errorKinds[code].number
}

/** The code with that number; total: a number nobody knows is an unexpected error. */
export function errorCodeOf(number: number): ErrorCode {
  return codeByNumber.get(number) ?? 'UNKNOWN_SERVER_ERROR'
}

export function isTidemarkError(value: unknown, code?: ErrorCode): value is TidemarkError {
  return value instanceof TidemarkError && (code === undefined || value.code === code)
}
