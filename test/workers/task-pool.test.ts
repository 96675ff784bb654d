import path from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { RecoveryProgress } from '../../src/workers/recovery-plan.ts'
import { TaskPool } from '../../src/workers/task-pool.ts'
import { appendBatches, openLog } from '../log/log-fixture.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

it('recovers logs side by side and tells how far it is', async () => {
  const root = temporaryDirectory()
  const logs = Array.from({ length: 40 }, (_, at) => {
    const directory = path.join(root, `t-${at}`)
    const log = openLog({ directory })
    appendBatches(log, 3 + at)
    log.close({ flush: false })
    return { directory, recoveryPoint: 0, logStartOffset: 0 }
  })
  const pool = new TaskPool()
  onTestFinished(() => pool.close())
  const told: RecoveryProgress[] = []
  const results = await pool.recover(logs, (progress) => told.push(progress))
  expect(results.map(({ directory }) => directory).sort()).toEqual(
    logs.map(({ directory }) => directory).sort(),
  )
  for (const { directory, summary } of results) {
    const at = Number(path.basename(directory).slice(2))
    expect(summary).toMatchObject({ logEndOffset: 2 * (3 + at), truncatedBytes: 0 })
  }
  const totalBytes = results.reduce((sum, { summary }) => sum + summary.bytesScanned, 0)
  expect(told.at(-1)).toEqual({ done: 40, total: 40, doneBytes: totalBytes, totalBytes })
  expect(told.filter(({ done }) => done === 40)).toHaveLength(1)
  const sorted = [...told].sort((one, other) => one.done - other.done)
  expect(told).toEqual(sorted)
})
