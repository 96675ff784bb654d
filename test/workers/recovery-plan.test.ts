import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { realFileSystem } from '../../src/log/file-system.ts'
import { bytesToRecover, recoverLog } from '../../src/log/log-recovery.ts'
import { measureLogs, planTasks } from '../../src/workers/recovery-plan.ts'
import { appendBatches, openLog, smallConfig } from '../log/log-fixture.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const MiB = 1024 * 1024

function sized(bytes: readonly number[]) {
  return bytes.map((each, at) => {
    return { log: { directory: `d${at}`, recoveryPoint: 0, logStartOffset: 0 }, bytes: each }
  })
}

describe('the tasks of a recovery', () => {
  it('have every log once, few and small ones together, large ones alone and first', () => {
    const tasks = planTasks(sized([1, 900 * MiB, 2, 60 * MiB, 3 * MiB]))
    const names = tasks.map((logs) => logs.map(({ directory }) => directory))
    expect(names).toEqual([['d1'], ['d3', 'd4', 'd2', 'd0']])
    expect(planTasks(sized([]))).toEqual([])
    expect(
      planTasks(sized(Array.from({ length: 40 }, () => 1))).map((each) => each.length),
    ).toEqual([16, 16, 8])
    fc.assert(
      fc.property(fc.array(fc.nat(100 * MiB), { maxLength: 60 }), (bytes) => {
        const all = planTasks(sized(bytes)).flatMap((logs) =>
          logs.map(({ directory }) => directory),
        )
        expect(all.sort()).toEqual(bytes.map((_, at) => `d${at}`).sort())
      }),
    )
  })

  it('are measured by what lies past the recovery point', async () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory })
    while (log.segmentCount < 4) appendBatches(log, 1)
    const bases = fs.readdirSync(directory).filter((name) => name.endsWith('.log'))
    const sizes = bases.map((name) => fs.statSync(path.join(directory, name)).size)
    log.close()
    const total = sizes.reduce((sum, size) => sum + size, 0)
    const third = Number.parseInt(bases[2]!, 10)
    expect(bytesToRecover(realFileSystem, directory, 0)).toBe(total)
    expect(bytesToRecover(realFileSystem, directory, third)).toBe(sizes[2]! + sizes[3]!)
    expect(bytesToRecover(realFileSystem, directory, third - 1)).toBe(total - sizes[0]!)
    expect(bytesToRecover(realFileSystem, `${directory}/none`, 5)).toBe(0)
    const point = { directory, recoveryPoint: third, logStartOffset: 0 }
    const [measured] = await measureLogs([point])
    let scanned = 0
    const onScanned = (bytes: number) => {
      scanned += bytes
    }
    const summary = recoverLog(directory, { ...point, config: smallConfig, onScanned })
    expect([scanned, summary.bytesScanned]).toEqual([measured!.bytes, measured!.bytes])
    expect(summary.segmentsScanned).toBe(2)
  })
})
