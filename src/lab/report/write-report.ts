import path from 'node:path'
import type { CatchUpResult } from '../result.ts'
import { reportPage } from './page.ts'
import { writeAtomically } from './report-directory.ts'
import { seriesCsv } from './series-csv.ts'

export interface ReportFiles {
  readonly html: string
  readonly json: string
  readonly csv: string
}

/**
 * Writes `report.html`, `result.json` and `series.csv` into a directory that
 * `prepareReportDirectory` has made, the page last: where it is, the numbers are too.
 *
 * @throws {TidemarkError} KAFKA_STORAGE_ERROR naming the file that could not be written.
 */
export function writeReport(directory: string, result: CatchUpResult): ReportFiles {
  const files = {
    html: path.join(directory, 'report.html'),
    json: path.join(directory, 'result.json'),
    csv: path.join(directory, 'series.csv'),
  }
  writeAtomically(files.json, `${JSON.stringify(result, null, 2)}\n`)
  writeAtomically(files.csv, seriesCsv(result.series))
  writeAtomically(files.html, reportPage(result))
  return files
}
