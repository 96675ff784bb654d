import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { printJson, summarizeCatchUp, summarizeThroughput } from '../../src/cli/output.ts'
import { sampleResult } from '../lab/report/sample-result.ts'
import { sampleThroughput } from '../lab/report/sample-throughput.ts'

describe('summary of a catch-up run', () => {
  it('says what happened, in sentences and aligned numbers', () => {
    const text = summarizeCatchUp(sampleResult(), { reportFile: 'tidemark-report/report.html' })
    expect(text).toContain('Converged in 2.31 s\n')
    expect(text).toContain('Follower 3 was paused for 5 s under load.')
    expect(text).toContain('predicted              2.19 s, error +5.9 %; naive 1.7 s')
    expect(text).toContain('1,357,050 of 1,357,050 acknowledged records')
    expect(text.endsWith('Report: tidemark-report/report.html\n')).toBe(true)
    expect(text).not.toContain('\u00a0')
  })

  it('keeps sentences within the terminal', () => {
    const lines = summarizeCatchUp(sampleResult(), { columns: 60 }).split('\n')
    const sentences = lines.filter((line) => !line.startsWith('  '))
    expect(Math.max(...sentences.map((line) => line.length))).toBeLessThanOrEqual(60)
  })

  it('tells the truth when it did not work out', () => {
    const lost = { ...sampleResult().records, lost: 2 }
    expect(summarizeCatchUp(sampleResult({ records: lost }))).toContain(
      'Converged in 2.31 s, but 2 records lost',
    )
    const never = sampleResult({
      outcome: 'timed-out',
      catchUpMs: null,
      admissionMs: null,
      predicted: null,
      predictionError: null,
      evictedAfterMs: null,
    })
    const text = summarizeCatchUp(never)
    expect(text).toContain('Not caught up after 2 min')
    expect(text).toMatch(/caught up after {2,}not reached/)
    expect(text).not.toMatch(/null|NaN|undefined/)
  })

  it('gives the interval of several repetitions', () => {
    const interval = { median: 2300, low: 2100, high: 2500, values: [2100, 2300, 2500] }
    const text = summarizeCatchUp(
      sampleResult({
        repetitions: {
          count: 3,
          catchUpMs: interval,
          predictionError: interval,
          evictedAfterMs: interval,
        },
      }),
    )
    expect(text).toMatch(/over 3 repetitions {2,}median 2\.3 s, 95 % from 2\.1 s to 2\.5 s/)
  })
})

describe('summary of a throughput run', () => {
  it('gives the rate, the limit and the latencies', () => {
    const text = summarizeThroughput(sampleThroughput())
    expect(text).toContain('3,912,004 records/s, 391 MB/s of payload')
    expect(text).toContain('70 % of the physical limit of 560 MB/s on ext4')
    expect(text).toMatch(/acknowledged +6\.1 ms +14\.8 ms +22\.3 ms +31\.9 ms/)
  })

  it('leaves out what was not measured', () => {
    const text = summarizeThroughput(
      sampleThroughput({ limit: null, ratioToLimit: null, endToEndMs: null }),
    )
    expect(text).not.toMatch(/limit|end to end|null|NaN/)
  })
})

it('prints exactly one JSON document', () => {
  const written: string[] = []
  const stream = new Writable({
    write: (chunk, _, done) => {
      written.push(String(chunk))
      done()
    },
  })
  printJson(stream, sampleResult())
  expect(JSON.parse(written.join(''))).toEqual(sampleResult())
})
