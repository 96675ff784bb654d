import fs from 'node:fs'
import path from 'node:path'
import { TidemarkError } from '../../errors.ts'

/**
 * Makes sure, before a run of minutes, that its report can be written: creates the directory and
 * writes to it. Returns the absolute path.
 *
 * @throws {TidemarkError} INVALID_ARGUMENT, naming the path, when it is a file or not writable.
 */
export function prepareReportDirectory(directory: string): string {
  const absolute = path.resolve(directory)
  if (isFile(absolute)) throw refused(directory, 'is a file')
  try {
    makeDirectory(absolute)
    const probe = temporaryName(path.join(absolute, 'report'))
    fs.writeFileSync(probe, '')
    fs.rmSync(probe)
  } catch (error) {
    throw refused(directory, reasonOf(error), error)
  }
  return absolute
}

/**
 * Writes a whole file or nothing: a temporary name beside it first, then a rename.
 *
 * @throws {TidemarkError} KAFKA_STORAGE_ERROR naming the file, for example when the disk is full.
 */
export function writeAtomically(file: string, text: string): void {
  const temporary = temporaryName(file)
  try {
    fs.writeFileSync(temporary, text)
    fs.renameSync(temporary, file)
  } catch (error) {
    fs.rmSync(temporary, { force: true })
    throw new TidemarkError('KAFKA_STORAGE_ERROR', {
      detail: `cannot write ${file}: ${reasonOf(error)}`,
      cause: error,
    })
  }
}

function isFile(absolute: string): boolean {
  return fs.existsSync(absolute) && !fs.statSync(absolute).isDirectory()
}

/**
 * Step by step: Node's own recursion never ends where a file system says "no such directory" to
 * mkdir.
 */
function makeDirectory(absolute: string): void {
  if (fs.existsSync(absolute)) return
  makeDirectory(path.dirname(absolute))
  fs.mkdirSync(absolute)
}

function temporaryName(file: string): string {
  return `${file}.${process.pid}.tmp`
}

function refused(directory: string, reason: string, cause?: unknown): TidemarkError {
  return new TidemarkError('INVALID_ARGUMENT', {
    detail: `--report ${directory}: ${reason}; must be a directory that can be written`,
    cause,
  })
}

const reasons: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space left on the disk',
  EDQUOT: 'over the disk quota',
  ENOENT: 'cannot be made',
  ENOTDIR: 'a part of the path is a file',
  EEXIST: 'a part of the path is a file',
  ENAMETOOLONG: 'the name is too long',
}

function reasonOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code
  return (code !== undefined && reasons[code]) || (error as Error).message
}
