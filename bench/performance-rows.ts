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

function latency(suite: string, what: string, told = `${what} partitions`): PerformanceRow {
  return {
    what: `acknowledged, ${told}`,
    suite: `cluster/ack-latency-${suite}`,
    got: [
      { label: 'p50', name: `p50, ${what}` },
      { label: 'p99', name: `p99, ${what}` },
    ],
    ratioOf: chain,
  }
}

function endToEnd(suite: string, what: string): PerformanceRow {
  return {
    what: `from send to consumer, ${what} partitions`,
    suite: `cluster/end-to-end-${suite}`,
    got: [
      { label: 'p50', name: `end to end p50, ${what}` },
      { label: 'p99', name: `end to end p99, ${what}` },
    ],
    ratioOf: 'times the acknowledgement of the same load',
  }
}

const scaled: PerformanceRow[] = [
  ...(['create', 'first record to each of', 'stop', 'open'] as const).map((what) => ({
    what: `${what} 10,000 partitions`,
    suite: 'cluster/scale',
    got: [{ name: `${what} 10000 partitions` }],
    ratioOf: 'times the system calls it takes',
  })),
  {
    what: '10,000 partitions: idle; resident',
    suite: 'cluster/scale',
    got: [{ name: 'idle, 10000 partitions' }, { name: 'resident memory, 10000 partitions' }],
  },
  {
    what: 'open 100 partitions, first record acknowledged',
    suite: 'cluster/start',
    got: [{ name: 'open 100 partitions and send a record, warm process' }],
    beside: [{ label: 'new process', name: 'open 100 partitions and send a record, new process' }],
  },
]

const outages: PerformanceRow[] = [
  {
    what: 'a follower that lacks 2 GB catches up',
    suite: 'cluster/catch-up',
    got: [{ name: 'a follower that catches up' }],
    ratioOf: 'of one thread that copies the same files',
  },
  {
    what: 'meanwhile, acknowledged p99',
    suite: 'cluster/catch-up',
    got: [{ name: 'acknowledged p99, during' }],
    ratioOf: 'times that before',
  },
  {
    what: 'from the log end to in sync, 1,000 partitions',
    suite: 'cluster/admission',
    got: [
      { label: 'p50', name: 'from the log end to in sync, p50' },
      { label: 'p99', name: 'from the log end to in sync, p99' },
    ],
  },
  {
    what: 'a frozen follower is detached, acknowledged p99 in that second',
    suite: 'cluster/detach',
    got: [{ name: 'acknowledged p99, the second of the detach' }],
    ratioOf: 'times that before',
  },
]

function sustained(what: string): PerformanceRow {
  return {
    what: `${what}, last tenth of the time`,
    suite: 'cluster/sustained',
    got: [{ name: `${what}, last tenth` }],
    ratioOf: 'of the first tenth',
  }
}

function kafka(name: string, what: string): PerformanceRow {
  return {
    what,
    suite: `kafka/${name}`,
    got: [{ name: what }],
    ratioOf: 'times Kafka',
    beside: [{ label: 'which takes', name: `Apache Kafka: ${what}` }],
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
    title:
      'Against Apache Kafka, in turn: the same records, batches, partitions, replicas, acks, disk',
    rows: [
      kafka('16k-100', '1 KiB records, 16 KiB batches, 100 partitions'),
      kafka('64k-100', '1 KiB records, 64 KiB batches, 100 partitions'),
      kafka('16k-1000', '1 KiB records, 16 KiB batches, 1,000 partitions'),
      kafka('64k-1000', '1 KiB records, 64 KiB batches, 1,000 partitions'),
      kafka('small-records', '100 B records, 16 KiB batches, 1,000 partitions'),
      {
        what: 'acknowledged, 1,000 records/s over 1 partition',
        suite: 'kafka/latency',
        got: [
          { label: 'p50', name: 'p50, 1,000 records/s over 1' },
          { label: 'p99', name: 'p99, 1,000 records/s over 1' },
        ],
        beside: [
          { label: 'Kafka p50', name: 'Apache Kafka: p50, 1,000 records/s over 1' },
          { label: 'p99', name: 'Apache Kafka: p99, 1,000 records/s over 1' },
        ],
      },
    ],
  },
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
      {
        what: 'leaders spread over the brokers, 16 KiB batches, 100 partitions',
        suite: 'cluster/leaders',
        got: [{ name: 'leaders spread' }],
        ratioOf: 'of one leader',
      },
      {
        what: '1 to 10,000 partitions, 16 KiB batches',
        suite: 'cluster/partitions-curve',
        got: [1, 10, 100, 1_000, 10_000].map((partitions) => {
          const count = partitions.toLocaleString('en')
          return { label: `${count}:`, name: `1 KiB records, 16 KiB batches over ${count}` }
        }),
        beside: [
          {
            label: 'memory of a partition',
            name: '1 KiB records, 16 KiB batches over 10,000, memory of each',
          },
        ],
      },
      endToEnd('slow', '1,000 records/s over 1'),
      endToEnd('busy', '100 MB/s over 100'),
      latency('1', '1,000 records/s over 1', '1,000 records/s over 1 partition'),
      latency('1000', '1,000 records/s over 1,000'),
      latency('100mb', '100 MB/s over 100'),
      latency('200mb', '200 MB/s over 100'),
      latency('100mb-tmpfs', '100 MB/s over 100, tmpfs', '100 MB/s over 100 partitions on tmpfs'),
      latency('200mb-tmpfs', '200 MB/s over 100, tmpfs', '200 MB/s over 100 partitions on tmpfs'),
    ],
  },
  { title: 'Many partitions, and start', rows: scaled },
  { title: 'A follower that was away', rows: outages },
  {
    title: 'Minutes at 0.8 of what the disk takes',
    rows: [
      sustained('acknowledged p50'),
      sustained('acknowledged p99'),
      sustained('resident memory'),
      {
        what: "longest delay of the application's event loop, median of hundredths",
        suite: 'cluster/sustained',
        got: [{ name: 'longest delay of the event loop in each hundredth' }],
        beside: [{ label: 'load', name: 'payload acknowledged' }],
      },
    ],
  },
  { title: 'The log alone', rows: log },
]
