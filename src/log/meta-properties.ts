/** `meta.properties`: whose directory it is (Kafka: `MetaProperties`, version 1). */
import { TidemarkError } from '../errors.ts'
import { readTextFile, replaceFile } from './checkpoint-file.ts'
import type { FileSystem } from './file-system.ts'

export interface MetaProperties {
  readonly clusterId: string
  readonly nodeId: number
  /** Base64 of 16 bytes; undefined in directories that predate it. */
  readonly directoryId: string | undefined
}

const currentVersion = '1'

/** @throws {TidemarkError} CORRUPT_FILE naming the file and what is missing. No file: undefined. */
export function readMetaProperties(fs: FileSystem, file: string): MetaProperties | undefined {
  const text = readTextFile(fs, file)
  if (text === undefined) return undefined
  const properties = parseProperties(text)
  const version = properties.get('version')
  if (version !== currentVersion) {
    throw new TidemarkError(
      'CORRUPT_FILE',
      `${file}: version '${version ?? ''}', expected '${currentVersion}'`,
    )
  }
  const clusterId = properties.get('cluster.id')
  const nodeIdText = properties.get('node.id') ?? ''
  if (clusterId === undefined || clusterId === '') {
    throw new TidemarkError('CORRUPT_FILE', `${file}: cluster.id is missing`)
  }
  if (!/^\d{1,10}$/.test(nodeIdText)) {
    throw new TidemarkError('CORRUPT_FILE', `${file}: node.id '${nodeIdText}' is not a number`)
  }
  return { clusterId, nodeId: Number(nodeIdText), directoryId: properties.get('directory.id') }
}

export function writeMetaProperties(
  fs: FileSystem,
  file: string,
  { clusterId, nodeId, directoryId }: MetaProperties,
): void {
  const lines = [`cluster.id=${clusterId}`, `node.id=${nodeId}`, `version=${currentVersion}`]
  if (directoryId !== undefined) lines.unshift(`directory.id=${directoryId}`)
  replaceFile(fs, file, `${lines.join('\n')}\n`, { durable: true })
}

/**
 * The part of Java's format that these files use: `key=value` lines, comments, escaped `=` and `:`.
 */
function parseProperties(text: string): Map<string, string> {
  const properties = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    const trimmed = line.trim()
    if (trimmed === '' || trimmed.startsWith('#') || trimmed.startsWith('!')) continue
    const equals = trimmed.indexOf('=')
    if (equals <= 0) continue
    const value = trimmed.slice(equals + 1).trim()
    properties.set(trimmed.slice(0, equals).trim(), value.replaceAll(/\\([=:#! \\])/g, '$1'))
  }
  return properties
}
