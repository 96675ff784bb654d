/** Directories that live as long as a test. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'

/** A fresh, empty directory, removed when the running test ends. */
export function temporaryDirectory(): string {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-test-'))
  onTestFinished(() => fs.rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** A copy of a directory with all in it, removed when the running test ends. */
export function copyDirectory(directory: string): string {
  const copy = temporaryDirectory()
  fs.cpSync(directory, copy, { recursive: true })
  return copy
}
