import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { performanceScript } from '../../../bench/page/browser.ts'
import { curvesOf } from '../../../bench/page/curves.ts'
import { performancePage } from '../../../bench/page/performance-page.ts'
import type { SuiteRun } from '../../../bench/results-file.ts'
import { type Finding, findingOf, ratioOf } from '../../../bench/trial.ts'

const machine = { cpu: 'Some <CPU>', cpus: 2, node: 'v20.0.0', fileSystem: 'ext4 (rw)' }
const about = { date: '2026-01-02T03:04:05Z', commit: 'abc', machine, full: true }
const name = '1 KiB records, 16 KiB batches over'
const curveFindings: Finding[] = [
  findingOf(`${name} 1`, 'MB/s', [300, 310, 320]),
  findingOf(`${name} 1, CPU`, 's/GB', [6]),
  findingOf(`${name} 1,000`, 'MB/s', [500]),
  findingOf(`${name} 1,000, CPU`, 's/GB', [3.5]),
  findingOf(`${name} 1,000, memory of each`, 'bytes', [67_000]),
]

it('draws each curve over the numbers of partitions that were measured', () => {
  const curves = curvesOf(curveFindings)
  expect(curves.map(({ id, partitions, medians }) => [id, partitions, medians])).toEqual([
    ['rate', [1, 1_000], [310e6, 500e6]],
    ['cpu', [1, 1_000], [6_000, 3_500]],
  ])
  expect(curves[0]).toMatchObject({ p25: [305e6, 500e6], p75: [315e6, 500e6] })
})

it('tells the ratio to the limit, with its spread, and every figure', () => {
  const limit = findingOf('writes, limit', 'MB/s', [1_000, 1_000, 1_000])
  const ratio = ratioOf(limit.name, [500, 600, 700], [1_000, 1_000, 1_000])
  const ours = { ...findingOf('writes', 'MB/s', [500, 600, 700]), ratio }
  const runs: SuiteRun[] = [
    { suite: 'cluster/throughput-x', ...about, findings: [limit, ours] },
    { suite: 'cluster/partitions-curve', ...about, findings: curveFindings },
  ]
  const page = performancePage(runs)
  expect(page).toContain('--w:60.0%;--from:55.0%;--wide:10.0%')
  for (const { name } of [limit, ours, ...curveFindings]) expect(page).toContain(name)
  expect(page).toContain('2 cores (Some &lt;CPU&gt;), ext4, Node 20.0.0')
  expect(page).not.toContain('src="')
})

it('has a page without a ratio and without a curve too', () => {
  const page = performancePage([{ suite: 'log/crc32c', ...about, findings: [] }])
  expect(page).toContain('log/crc32c')
  expect(page).not.toContain('id="limit"')
})

it('hands a script to the page that draws all curves with nothing but what it brings', () => {
  const drawn: { options: Record<string, unknown>; columns: number[][] }[] = []
  const node = {
    clientWidth: 500,
    textContent: JSON.stringify({ curves: curvesOf(curveFindings) }),
    addEventListener() {},
    getAttribute: () => null,
  }
  runInNewContext(performanceScript(), {
    document: { getElementById: () => node, documentElement: node },
    location: { search: '' },
    matchMedia: () => node,
    addEventListener() {},
    ResizeObserver: class {
      observe(): void {}
    },
    uPlot: class {
      constructor(options: Record<string, unknown>, columns: number[][]) {
        drawn.push({ options, columns })
      }
    },
  })
  expect(drawn.map(({ columns }) => columns[3])).toEqual([
    [310e6, 500e6],
    [6_000, 3_500],
  ])
})
