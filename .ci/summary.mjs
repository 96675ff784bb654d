/**
 * Prints "N passed, N failed[, N skipped]" from Vitest's JSON report and exits with 0 only when tests
 * ran and none failed.
 *   node .ci/summary.mjs REPORT EXIT_CODE_OF_VITEST
 */
import { readFileSync } from 'node:fs'

const [report, exitCode] = process.argv.slice(2)

function readReport() {
  try {
    return JSON.parse(readFileSync(report, 'utf8'))
  } catch (error) {
    process.stderr.write(`ci: no test report: ${error.message}\n`)
    return undefined
  }
}

const {
  numPassedTests = 0,
  numFailedTests = 0,
  numPendingTests = 0,
  testResults = [],
} = readReport() ?? {}
// A file that does not load, or whose set-up fails, has no test that fails, and counts as one.
const brokenFiles = testResults.filter(
  ({ status, assertionResults }) =>
    status === 'failed' && assertionResults.every((result) => result.status !== 'failed'),
).length
let failed = numFailedTests + brokenFiles
if (numPassedTests === 0) process.stderr.write('ci: no test passed\n')
if (failed === 0 && (exitCode !== '0' || numPassedTests === 0)) failed = 1
const skipped = numPendingTests === 0 ? '' : `, ${numPendingTests} skipped`
process.stdout.write(`${numPassedTests} passed, ${failed} failed${skipped}\n`)
process.exitCode = failed === 0 ? 0 : 1
