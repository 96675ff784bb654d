/**
 * Records of 100 bytes in batches of 1,000: ours, the bare write of the same bytes, and the
 * embedded stores of npm, in turns and at the same durability: nobody waits for the disk, or all do
 * after each batch.
 */
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  fdatasyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Log } from '../../src/log/log.ts'
import { expectEqual } from '../bench.ts'
import { alternate, type Contender, type Finding, type TrialOptions } from '../trial.ts'
import { sampleValue } from './batches.ts'
import { type EmbeddedStore, loadStores } from './embedded-stores.ts'

const recordsPerBatch = 1_000
const recordBytes = 100
const values = Array.from({ length: recordsPerBatch }, () => Buffer.from(sampleValue(recordBytes)))

interface Work {
  readonly root: string
  readonly durable: boolean
  readonly batches: number
}

export async function storesTrial({ full }: TrialOptions): Promise<Finding[]> {
  let stores = loadStores()
  if (stores === undefined && full) {
    const directory = fileURLToPath(new URL('../../../../bench/stores', import.meta.url))
    execFileSync('npm', ['ci', '--prefix', directory, '--no-audit', '--no-fund'], {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    stores = loadStores()
  }
  if (stores === undefined) {
    process.stdout.write('  other stores are left out: npm ci --prefix bench/stores\n')
  }
  const findings: Finding[] = []
  for (const durable of [false, true]) {
    const root = mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
    try {
      const work = { root, durable, batches: (full ? 300 : 50) / (durable ? 10 : 1) }
      const contenders = [raw(work), await ours(work)]
      for (const [name, open] of Object.entries(stores ?? {})) {
        const directory = join(root, name)
        mkdirSync(directory)
        contenders.push(storeContender(name, await open({ directory, durable }), work))
      }
      const amount = (work.batches * recordsPerBatch) / 1e6
      const options = { rounds: full ? 15 : 5, amount, unit: 'M records/s' }
      findings.push(...(await alternate(contenders, options)))
    } finally {
      rmSync(root, { recursive: true })
    }
  }
  return findings
}

function nameOf(what: string, { durable }: Work): string {
  return `${what}, ${durable ? 'each batch synced' : 'no sync'}`
}

function raw(work: Work): Contender {
  const bytes = Buffer.concat(values)
  const file = openSync(join(work.root, 'raw'), 'w')
  let position = 0
  return {
    name: nameOf('write', work),
    round: () => {
      for (let left = work.batches; left > 0; left -= 1) {
        position += writeSync(file, bytes, 0, bytes.length, position)
        if (work.durable) fdatasyncSync(file)
      }
    },
    check: () => expectEqual('whole batches', position % bytes.length, 0),
    close: () => closeSync(file),
  }
}

async function ours(work: Work): Promise<Contender> {
  const config = { 'flush.messages': work.durable ? 1 : 0 } as const
  const log = await Log.open(join(work.root, 'records-0'), config)
  const records = values.map((value) => ({ value }))
  let appended = 0
  return {
    name: nameOf('tidemark', work),
    round: () => {
      for (let left = work.batches; left > 0; left -= 1) log.append(records)
      appended += work.batches * recordsPerBatch
    },
    check: () => {
      expectEqual('records', log.logEndOffset, appended)
      expectEqual('recovery point', log.recoveryPoint === appended, work.durable)
    },
    close: () => log.close(),
  }
}

function storeContender(name: string, store: EmbeddedStore, work: Work): Contender {
  let appended = 0
  return {
    name: nameOf(name, work),
    round: async () => {
      for (let left = work.batches; left > 0; left -= 1) {
        const promise = store.append(values)
        if (promise instanceof Promise) await promise
      }
      appended += work.batches * recordsPerBatch
    },
    check: async () => expectEqual('records', await store.count(), appended),
    close: () => store.close(),
  }
}
