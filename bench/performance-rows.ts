/** What the README's tables of performance tell, row by row, and which findings it comes from. */

export interface NamedFinding {
  /** Said before the figure. */
  readonly label?: string
  readonly name: string
}

export interface PerformanceRow {
  readonly what: string
  readonly suite: string
  readonly got: readonly NamedFinding[]
  /** What the figures' ratios are told to be of. */
  readonly ratioOf?: string
  /** Other findings of the suite, told beside. */
  readonly beside?: readonly NamedFinding[]
}

export interface PerformanceTable {
  readonly title: string
  readonly rows: readonly PerformanceRow[]
}

const limit = 'of the physical limit'
const chain = 'times a chain of sleeping threads with the same writes'

function throughput(suite: string, what: string): PerformanceRow {
  return { what, suite: `cluster/throughput-${suite}`, got: [{ name: what }], ratioOf: limit }
}

function latency(suite: string, what: string): PerformanceRow {
  return {
    what: `acknowledged, ${what} partitions`,
    suite: `cluster/ack-latency-${suite}`,
    got: [
      { label: 'p50', name: `p50, ${what}` },
      { label: 'p99', name: `p99, ${what}` },
    ],
    ratioOf: chain,
  }
}

const log: PerformanceRow[] = [
  ...[1, 8, 64].map((count) => ({
    what: `append of ready 16 KiB batches, ${count} at once`,
    suite: 'log/append',
    got: [{ name: `append, ${count} x 16 KiB` }],
    ratioOf: 'of a bare `writev` of the same bytes',
  })),
  ...['no sync', 'each batch synced'].map((durability) => ({
    what: `100 B records in batches of 1,000, ${durability}`,
    suite: 'log/stores',
    got: [{ name: `tidemark, ${durability}` }],
    beside: [
      { label: 'lmdb', name: `lmdb, ${durability}` },
      { label: 'better-sqlite3', name: `better-sqlite3, ${durability}` },
      { label: 'classic-level', name: `classic-level, ${durability}` },
      { label: 'bare write', name: `write, ${durability}` },
    ],
  })),
  {
    what: 'scan of 100 B records, CRC checked, decoded',
    suite: 'log/scan',
    got: [{ name: 'scan 100 B records, CRC checked and decoded' }],
    beside: [{ label: 'by batches, CRC checked', name: 'scan batches, CRC checked' }],
  },
  {
    what: 'one record in 1 GB of them, by offset',
    suite: 'log/lookup',
    got: [{ name: 'record by offset in 1 GB of 100 B records' }],
    beside: [{ label: 'by time', name: 'offset by timestamp in 1 GB of 100 B records' }],
  },
  ...[4, 16, 128].map((size) => ({
    what: `recovery, batches of ${size} KiB`,
    suite: 'log/recovery',
    got: [{ name: `recovery, batches of ${size} KiB` }],
    ratioOf: 'of reading and CRC-checking the same bytes',
  })),
  {
    what: 'opening a log of 10 GiB',
    suite: 'log/open-large',
    got: [{ name: 'open a log of 10 GiB' }],
  },
  {
    what: 'opening 10,000 logs',
    suite: 'log/open-many',
    got: [{ name: 'open 10000 logs' }],
    beside: [{ label: '30,000', name: 'open 30000 logs' }],
  },
]

export const performanceTables: readonly PerformanceTable[] = [
  {
    title: 'Three brokers in one process, three replicas, `acks=all`, no fsync',
    rows: [
      throughput('16k-100', '1 KiB records, 16 KiB batches, 100 partitions'),
      throughput('16k-1000', '1 KiB records, 16 KiB batches, 1,000 partitions'),
      throughput('64k-100', '1 KiB records, 64 KiB batches, 100 partitions'),
      throughput('64k-1000', '1 KiB records, 64 KiB batches, 1,000 partitions'),
      throughput('small-records', '100 B records, 16 KiB batches, 1,000 partitions'),
      throughput('single-records', 'one record of 1 KiB a batch, 1,000 partitions'),
      throughput('lz4', 'JSON lines, LZ4, 64 KiB batches, 100 partitions'),
      latency('1', '1,000 records/s over 1'),
      latency('1000', '1,000 records/s over 1,000'),
      latency('100mb', '100 MB/s over 100'),
      latency('200mb', '200 MB/s over 100'),
      latency('100mb-tmpfs', '100 MB/s over 100, tmpfs'),
      latency('200mb-tmpfs', '200 MB/s over 100, tmpfs'),
    ],
  },
  { title: 'The log alone', rows: log },
]
