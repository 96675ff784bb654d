import vm from 'node:vm'
import { describe, expect, it } from 'vitest'
import { valueText } from '../../../src/lab/report/browser/draw.ts'
import { rangeOf } from '../../../src/lab/report/browser/page.ts'
import { reportScript } from '../../../src/lab/report/browser/script.ts'
import { inSyncChart, lagBytesChart } from '../../../src/lab/report/charts.ts'
import { reportPage } from '../../../src/lab/report/page.ts'
import { styleSheet, themeNames } from '../../../src/lab/report/style.ts'
import { sampleResult, sampleScenario } from './sample-result.ts'

const page = reportPage(sampleResult())

describe('the page', () => {
  it('loads nothing from anywhere', () => {
    const loads = /<(link|img|iframe|object|embed)\b|\b(src|href)="(?!#)|@import|url\((?!#)/g
    expect(page.match(loads) ?? []).toEqual([])
    expect(page.includes('content="default-src &#39;none&#39;;')).toBe(true)
  })

  it('has the sections, figures and numbers that a reader looks for', () => {
    for (const text of [
      'Converged in 2.31',
      'The run in numbers',
      'Over time',
      'Who decided, on what numbers, and how it travelled',
      'How to read this',
      'Scenario and machine in full',
      '1,357,050',
      'id="figure-lag-bytes"',
      'id="figure-in-sync"',
    ]) {
      expect(page.replaceAll('\u00a0', ' ')).toContain(text)
    }
    expect(page.match(/<h1/g)).toHaveLength(1)
    expect(page.match(/<figure/g)).toHaveLength(6)
  })

  it('gives every chart words for those who cannot see it, and every id once', () => {
    const descriptions = [...page.matchAll(/aria-description="([^"]*)"/g)].map(([, text]) => text!)
    expect(descriptions).toHaveLength(6)
    for (const text of descriptions) expect(text.length).toBeGreaterThan(60)
    const ids = [...page.replace(/<script[\s\S]*?<\/script>/g, '').matchAll(/ id="([^"]+)"/g)]
    expect(new Set(ids.map(([, id]) => id)).size).toBe(ids.length)
  })

  it('closes every element it opens', () => {
    const markup = page.replace(/<(script|style)[\s\S]*?<\/\1>/g, '')
    const open: string[] = []
    for (const [, end, name, rest] of markup.matchAll(/<(\/?)([a-z0-9]+)([^>]*)>/gi)) {
      if (['meta', 'br'].includes(name!) || rest!.endsWith('/')) continue
      if (end === '') open.push(name!)
      else expect(open.pop()).toBe(name)
    }
    expect(open).toEqual([])
  })

  it('shows names from outside as text', () => {
    const evil = '<img src=x onerror=alert(1)>"</script>'
    const result = sampleResult({
      scenario: { ...sampleScenario, input: evil, dir: evil },
      timeline: [
        { atMs: 1, actor: 'leader', step: evil, partitions: 1, detail: evil, marker: evil },
      ],
    })
    const shown = reportPage(result)
    expect(shown.includes('<img')).toBe(false)
    expect(shown.match(/<script/g)).toHaveLength(3)
    expect(shown).toContain('&lt;img src=x onerror=alert(1)&gt;')
  })

  it.each([
    [
      'diverges',
      { outcome: 'diverges', catchUpMs: null, predictionError: null, admissionMs: null },
    ],
    ['timed out', { outcome: 'timed-out', catchUpMs: null, predictionError: null }],
    ['interrupted at once', { interrupted: true, series: [], timeline: [], predicted: null }],
    ['never evicted', { evictedAfterMs: null, admissionMs: null }],
    ['a record lost', { records: { ...sampleResult().records, lost: 3 } }],
  ] as const)('has something true to say when the run: %s', (_, changes) => {
    const shown = reportPage(sampleResult(changes))
    const text = shown.replace(/<(script|style)[\s\S]*?<\/\1>/g, '')
    expect(text.match(/.{20}(null|undefined|NaN|Infinity)/g) ?? []).toEqual([])
    expect(text.includes('class="card verdict good"')).toBe(_ === 'never evicted')
  })

  it('folds a long timeline and keeps the marked steps in sight', () => {
    const { timeline } = sampleResult()
    const many = Array.from({ length: 400 }, (_, i) => ({ ...timeline[4]!, atMs: 7000 + i }))
    const shown = reportPage(sampleResult({ timeline: [...timeline, ...many] }))
    expect(shown).toContain('<summary>All 414 steps</summary>')
    expect(page).not.toContain('<summary>All')
  })
})

describe('the style sheet', () => {
  it('defines every colour in both themes, and every colour that is used', () => {
    const [light, dark] = themeNames
    expect(dark).toEqual(light)
    const local = ['tone', 'soft', 'fill', 'w', 'grow']
    for (const [, name] of `${styleSheet()}${page}`.matchAll(/var\(--([a-z0-9-]+)/g)) {
      expect([...light, ...local]).toContain(name)
    }
  })
})

describe('the script', () => {
  it('is whole: parses, and calls only what it defines', () => {
    const script = reportScript()
    expect(() => new vm.Script(script)).not.toThrow()
    expect(script).not.toMatch(/\bimport\b|__vi_|__vite/)
    for (const name of ['startPage', 'drawMarkers', 'valueText', 'zoomTo', 'followTheme']) {
      expect(script).toContain(`function ${name}(`)
    }
  })

  it.each([
    [425_000_000, 'bytes', '425 MB'],
    [1_000, 'bytes', '1 kB'],
    [82_900, 'recordsPerSec', '82.9 k/s'],
    [0, 'bytes', '0'],
    [0.05, 'ms', '50 µs'],
    [1500, 'ms', '1.5 s'],
    [2.3456, 'replicas', '2.35'],
    [1_360_000, 'count', '1.36 M'],
    [null, 'ms', '–'],
  ])('says %s of %s as %s', (value, format, text) => {
    expect(valueText(value, format)).toBe(text)
  })

  it('leaves room above lines, and has a range even for a flat one', () => {
    const range = rangeOf(lagBytesChart(sampleResult()))
    expect(range({} as never, 0, 100)).toEqual([0, 106])
    expect(range({} as never, 0, 0)).toEqual([0, 1])
    const inSync = rangeOf(inSyncChart(sampleResult()))
    expect(inSync({} as never, 2, 3)).toEqual([0, 3.5])
  })
})
