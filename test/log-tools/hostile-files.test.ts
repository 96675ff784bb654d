/** Files of any content are dumped and verified without a crash, a hang or an untyped error. */
import path from 'node:path'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { isTidemarkError } from '../../src/errors.ts'
import { decodeProducerSnapshot } from '../../src/log/producers/producer-snapshot.ts'
import {
  parseEpochCheckpoint,
  parseOffsetCheckpoint,
} from '../../src/log-tools/checkpoint-lines.ts'
import { dumpFile } from '../../src/log-tools/dump-file.ts'
import { fileKindOf } from '../../src/log-tools/file-kind.ts'
import { verifyDirectories } from '../../src/log-tools/verify-directories.ts'
import { fixtureDirectory } from '../interop/fixture-files.ts'
import { repository } from '../support/source-files.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { writeBroker } from './broker-directory.ts'
import { MemoryFiles } from './memory-files.ts'

/** Inputs in all; more by TIDEMARK_FUZZ_INPUTS. */
const inputs = Number(process.env.TIDEMARK_FUZZ_INPUTS ?? 4_000)
const change = fc.tuple(fc.nat(), fc.nat(255))
const changes = fc.array(change, { minLength: 1, maxLength: 6 })

let damaged: (readonly [MemoryFiles, string])[]
let broker: string
let files: MemoryFiles

beforeAll(() => {
  const directories = [fixtureDirectory, path.join(repository, 'test/fixtures/kafka-legacy')]
  damaged = directories.flatMap((directory) => {
    const all = new MemoryFiles(directory)
    const known = all.paths.filter((file) => fileKindOf(file) !== undefined)
    return known.map((file) => [all, file] as const)
  })
})

/** Bytes changed, perhaps cut or with some put in. */
function mutate(bytes: Uint8Array, edits: readonly (readonly [number, number])[]): Uint8Array {
  const result = Buffer.from(bytes)
  if (result.length === 0) return result
  for (const [at, value] of edits) result[at % result.length] = value
  const [at, kind] = edits[0]!
  const cut = at % result.length
  if (kind % 8 === 0) return result.subarray(0, cut)
  if (kind % 8 === 1)
    return Buffer.concat([result.subarray(0, cut), Buffer.of(kind), result.subarray(cut)])
  return result
}

describe('hostile files', () => {
  it('are dumped', () => {
    fc.assert(
      fc.property(fc.nat(), changes, (which, edits) => {
        const [all, file] = damaged[which % damaged.length]!
        const original = all.bytes(file)
        all.replace(file, mutate(original, edits))
        try {
          const lines = [...dumpFile(file, { records: true, fs: all.fs })]
          expect(lines.at(-1)!.type).toBe('end')
        } finally {
          all.replace(file, original)
        }
      }),
      { numRuns: inputs },
    )
  })

  it('are verified', () => {
    broker = temporaryDirectory()
    writeBroker({ directory: broker })
    files = new MemoryFiles(broker)
    fc.assert(
      fc.property(fc.nat(), changes, (which, edits) => {
        const file = files.paths[which % files.paths.length]!
        const original = files.bytes(file)
        files.replace(file, mutate(original, edits))
        try {
          verifyDirectories([broker], { fs: files.fs })
        } finally {
          files.replace(file, original)
        }
      }),
      { numRuns: inputs / 4 },
    )
  })

  it('of any bytes at all are decoded, or cost one typed error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        parseEpochCheckpoint(bytes)
        parseOffsetCheckpoint(bytes)
        try {
          decodeProducerSnapshot(bytes)
        } catch (error) {
          if (!isTidemarkError(error, 'CORRUPT_FILE')) throw error
        }
      }),
      { numRuns: inputs },
    )
  })
})
