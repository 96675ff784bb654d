/**
 * Every bound of the system in one place. Names end in the unit. Relations between bounds are
 * asserted at load, below.
 */
import { invariant } from './invariant.ts'

const KiB = 1024
const MiB = 1024 * KiB

export const limits = {
  /** Broker ids run from 1 to this; shared arrays have a row for each. */
  brokersMax: 16,
  /** Replicas of one partition. */
  replicationFactorMax: 8,
  /** Partitions of a cluster for which shared words are laid out at open, unless configured. */
  partitionsDefaultMax: 16_384,
  /** Producers (threads or handles) that may claim ring space at the same time. */
  producersMax: 64,

  /** Smallest and largest shared ring of one broker. */
  ringBytesMin: 256 * KiB,
  ringBytesDefault: 64 * MiB,
  ringBytesMax: 1024 * MiB,
  /** A batch, and so a claim, may take this share of a ring at most. */
  ringClaimShareMax: 1 / 4,
  /** Acknowledgements a producer may have outstanding at one broker. */
  acksOutstandingMax: 16_384,

  /** Kafka's `max.message.bytes` default; a batch of a producer is refused above it. */
  batchBytesDefaultMax: 1_048_588,
  /** Largest batch that any reader believes in, whatever the file says. */
  batchBytesMax: 256 * MiB,
  /** The same of an end of a transaction, which is read apart; in fact they have 78 bytes. */
  controlBatchBytesMax: 64 * KiB,

  /** Bytes of batches that one append to a log alone may make, and memory kept for the next. */
  appendBytesMax: 512 * MiB,
  appendBytesKeptMax: 8 * MiB,
  /**
   * What an iterator over a log reads at once: the first time, and later. Larger pieces of memory
   * than this would come from the system one by one: at 256 KiB half the speed.
   */
  scanFirstReadBytes: 16 * KiB,
  scanChunkBytes: 64 * KiB,

  /** For the keys while a log alone is compacted; Kafka: `log.cleaner.dedupe.buffer.size`. */
  compactionMapBytes: 128 * MiB,

  /** What one broker thread does in one step before it looks elsewhere. */
  leaderRoundBytesMax: 4 * MiB,
  followerRoundBytesMax: 4 * MiB,
  /**
   * Of one call that writes batches. From 2 MiB on Linux backs a file by huge pages; a virtual
   * machine gives those back to its host as they become free, and fresh ones cost ten times the
   * write.
   */
  writeBytesMax: 1 * MiB,
  /** Producers of partitions that the follower is in sync in again wait for such a step. */
  catchUpReadBytesDefault: 512 * KiB,
  /** A read of less than this share of that is no reason to come again for the last batch. */
  catchUpSmallReadShare: 1 / 8,

  /** Logs of a broker that have rolled segments on their way to disk at the same time. */
  backgroundFlushesMax: 64,

  /**
   * Open segment files a broker thread keeps at most; those not used for long are closed. Three
   * brokers, each with 10,000 logs, so do with 18,000 of the 20,000 descriptors that a process
   * often has. An open log takes 6 to 8 KiB of memory, all of them about 200 MiB.
   */
  openFilesPerBrokerMax: 6_000,
  /** Pages of sealed segments' index files that a thread keeps for lookups. */
  indexPagesPerThreadBytesMax: 8 * MiB,
} as const

invariant(limits.ringBytesMin * limits.ringClaimShareMax >= 64 * KiB, 'a claim holds a batch')
invariant(3 * limits.openFilesPerBrokerMax <= 18_000, 'three brokers do with 20,000 descriptors')
invariant(limits.leaderRoundBytesMax < limits.ringBytesDefault / 4, 'a round is a part of the ring')
