#!/usr/bin/env node
// Runs before anything of ours can be trusted to load, so it speaks the oldest syntax that will do.
import { existsSync } from 'node:fs'

const neededMajor = 20
const neededMinor = 19
const main = new URL('../dist/cli/main.js', import.meta.url)

function fail(message) {
  process.stderr.write(`tidemark: ${message}\n`)
  process.exit(2)
}

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < neededMajor || (major === neededMajor && minor < neededMinor)) {
  fail(`Node ${process.versions.node} is too old, ${neededMajor}.${neededMinor} or newer is needed`)
}
if (!existsSync(main)) fail('not built yet, run: npm run build')

await import(main.href)
