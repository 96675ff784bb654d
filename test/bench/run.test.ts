import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { readResults } from '../../bench/results-file.ts'
import { repository } from '../support/source-files.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

it('measures a latency beside its chain, and writes down what it found', {
  timeout: 120_000,
}, async () => {
  const out = path.join(temporaryDirectory(), 'found.json')
  const script = path.join(repository, 'bench/run.js')
  const args = [script, 'cluster/ack-latency-1', '--out', out]
  await promisify(execFile)(process.execPath, args, { timeout: 110_000, killSignal: 'SIGKILL' })
  const { runs } = readResults(out)
  expect(runs).toMatchObject([{ suite: 'cluster/ack-latency-1', full: false }])
  const { findings } = runs[0]!
  const byName = new Map(findings.map((finding) => [finding.name, finding]))
  expect(byName.size).toBe(4)
  for (const quantile of ['p50', 'p99']) {
    const ours = byName.get(`${quantile}, 1,000 records/s over 1`)!
    const chain = byName.get(`${quantile}, 1,000 records/s over 1, chain`)!
    expect(chain.median).toBeGreaterThan(0)
    expect(ours.samples).toBe(chain.samples)
    expect(ours.ratio!.to).toBe(chain.name)
  }
})
