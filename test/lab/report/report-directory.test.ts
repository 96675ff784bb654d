import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isTidemarkError } from '../../../src/errors.ts'
import {
  prepareReportDirectory,
  writeAtomically,
} from '../../../src/lab/report/report-directory.ts'
import { seriesColumns, seriesCsv } from '../../../src/lab/report/series-csv.ts'
import { writeReport } from '../../../src/lab/report/write-report.ts'
import { sampleResult } from './sample-result.ts'

let root: string

beforeEach(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-report-'))
})
afterEach(() => {
  fs.rmSync(root, { recursive: true, force: true })
})

function refusal(directory: string): string {
  try {
    prepareReportDirectory(directory)
  } catch (error) {
    expect(isTidemarkError(error, 'INVALID_ARGUMENT')).toBe(true)
    return (error as Error).message
  }
  throw new Error(`accepted ${directory}`)
}

describe('the directory of a report', () => {
  it('is made with its parents, and left empty', () => {
    const directory = prepareReportDirectory(path.join(root, 'a/b'))
    expect(fs.readdirSync(directory)).toEqual([])
    expect(prepareReportDirectory(directory)).toBe(directory)
  })

  it('is refused when it is a file, or below one', () => {
    const file = path.join(root, 'file')
    fs.writeFileSync(file, 'x')
    expect(refusal(file)).toBe(
      `--report ${file}: is a file; must be a directory that can be written`,
    )
    expect(refusal(path.join(file, 'below'))).toContain('a part of the path is a file')
    expect(fs.readFileSync(file, 'utf8')).toBe('x')
  })

  it('is refused when the system does not let it be made', () => {
    expect(refusal('/proc/tidemark-report')).toMatch(/^--report \/proc\/tidemark-report: /)
  })
})

describe('writing', () => {
  it('replaces a file whole, and leaves no temporary one when it fails', () => {
    const file = path.join(root, 'result.json')
    writeAtomically(file, 'one')
    writeAtomically(file, 'two')
    expect(fs.readdirSync(root)).toEqual(['result.json'])
    expect(fs.readFileSync(file, 'utf8')).toBe('two')
    fs.mkdirSync(path.join(root, 'taken/inside'), { recursive: true })
    expect(() => writeAtomically(path.join(root, 'taken'), 'x')).toThrow(/cannot write .*taken/)
    expect(fs.readdirSync(root).sort()).toEqual(['result.json', 'taken'])
  })

  it('puts page, document and series side by side', () => {
    const result = sampleResult()
    const files = writeReport(root, result)
    expect(fs.readdirSync(root).sort()).toEqual(['report.html', 'result.json', 'series.csv'])
    expect(JSON.parse(fs.readFileSync(files.json, 'utf8'))).toEqual(result)
    const lines = fs.readFileSync(files.csv, 'utf8').trimEnd().split('\n')
    expect(lines.length).toBe(result.series.length + 1)
  })
})

describe('series as CSV', () => {
  it('has a column for every key of a row, and nothing where there is no value', () => {
    const row = { ...sampleResult().series[0]!, ackP50Ms: null, lagTimeMs: 1.23456 }
    expect([...seriesColumns].sort()).toEqual(Object.keys(row).sort())
    const [head, line] = seriesCsv([row]).split('\n')
    const cells = Object.fromEntries(head!.split(',').map((name, i) => [name, line!.split(',')[i]]))
    expect(cells).toMatchObject({ ackP50Ms: '', lagTimeMs: '1.235', phase: 'warm-up', atMs: '0' })
  })
})
