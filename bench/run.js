#!/usr/bin/env node
/**
 * Compiles and runs the benches.
 *   npm run bench [-- [NAME…] [--full [--minutes N]] [--out FILE [--merge]]
 *                     [--compare FILE [--fail-on-slower]]]
 *   npm run bench -- --tables
 * Results go to bench/results/latest.json unless --out says otherwise; with --merge those of other
 * suites stay in the file. --tables writes the README's tables from bench/results/performance.json.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compileBenches, runNode } from './compile.js'

const compiled = await compileBenches()
const args = process.argv.slice(2)
const named = args.some((argument) => argument === '--out' || argument.startsWith('--out='))
const latest = fileURLToPath(new URL('results/latest.json', import.meta.url))
const out = named ? [] : ['--out', latest]
runNode(['--expose-gc', join(compiled, 'measure.js'), ...args, ...out])
