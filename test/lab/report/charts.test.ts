import { describe, expect, it } from 'vitest'
import { along, chartsOf, latencyChart } from '../../../src/lab/report/charts.ts'
import { markersOf, phaseSpans } from '../../../src/lab/report/phases.ts'
import { sampleResult, sampleTimeline } from './sample-result.ts'

describe('charts', () => {
  it('are six, each series as long as the samples and with a colour of the palette', () => {
    const result = sampleResult()
    const charts = chartsOf(result)
    expect(charts.map(({ id }) => id)).toEqual([
      'lag-bytes',
      'offsets',
      'lag-time',
      'rate',
      'latency',
      'in-sync',
    ])
    for (const { series } of charts) {
      for (const { values, color } of series) {
        expect(values.length).toBe(result.series.length)
        expect([1, 2, 3, 4]).toContain(color)
      }
    }
  })

  it('have a predicted line only when there is a prediction', () => {
    const labels = (changes: object) =>
      chartsOf(sampleResult(changes))[0]!.series.map(({ label }) => label)
    expect(labels({})).toEqual(['Measured', 'Predicted', 'In records'])
    expect(labels({ predicted: null })).toEqual(['Measured', 'In records'])
  })

  it('keep zeros off the logarithmic axis', () => {
    const result = sampleResult()
    const rows = result.series.map((row) => ({ ...row, ackP50Ms: 0 }))
    const p50 = latencyChart({ ...result, series: rows }).series[0]!
    expect(p50.values.every((value) => value === null)).toBe(true)
    expect(p50.rest).toBe('peak –')
  })

  it('read the trajectory at the instants of the samples', () => {
    const rows = [0, 10, 15, 20, 30, 31].map((atMs) => ({ atMs }))
    const points = [
      { atMs: 10, lagBytes: 100 },
      { atMs: 20, lagBytes: 50 },
      { atMs: 30, lagBytes: 0 },
    ]
    expect(along(rows, points)).toEqual([null, 100, 75, 50, 0, null])
    expect(along(rows, [])).toEqual([null, null, null, null, null, null])
  })
})

describe('phases and markers', () => {
  it('cover the run without gap or overlap', () => {
    const { series } = sampleResult()
    const spans = phaseSpans(series)
    expect(spans.map(({ phase }) => phase)).toEqual([
      'warm-up',
      'steady',
      'awaiting-eviction',
      'out-of-sync',
      'catching-up',
      'settle',
    ])
    for (let i = 1; i < spans.length; i++) expect(spans[i]!.startMs).toBe(spans[i - 1]!.endMs)
    expect(spans[0]!.startMs).toBe(0)
    expect(spans.at(-1)!.endMs).toBe(series.at(-1)!.atMs)
    expect(phaseSpans([])).toEqual([])
  })

  it('number named events in order of time, or else what the harness did', () => {
    const timeline = sampleTimeline()
    const named = markersOf({ timeline: [...timeline].reverse() })
    expect(named.map(({ label }) => label).slice(0, 2)).toEqual(['pause', 'lapsed'])
    expect(named.map(({ number }) => number)).toEqual(named.map((_, i) => i + 1))
    const unnamed = timeline.map(({ marker: _, ...event }) => event)
    expect(markersOf({ timeline: unnamed }).map(({ label }) => label)).toEqual([
      'Follower paused',
      'Follower resumed',
      'Read back and compared',
    ])
  })
})
