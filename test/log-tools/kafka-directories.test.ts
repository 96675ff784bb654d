/** Directories that Apache Kafka wrote are dumped as its own tool dumps them, and verify clean. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { verifyDirectories } from '../../src/log-tools/verify-directories.ts'
import { fixtureDirectory } from '../interop/fixture-files.ts'
import { repository } from '../support/source-files.ts'

describe('verify', () => {
  it('finds nothing wrong with a directory of Apache Kafka 4.4', () => {
    const { faults, checked } = verifyDirectories([fixtureDirectory])
    expect(faults).toEqual([])
    expect(checked.partitions).toBe(9)
  })
  it('finds nothing wrong with the formats of old', () => {
    const { faults, checked } = verifyDirectories([join(repository, 'test/fixtures/kafka-legacy')])
    expect(faults).toEqual([])
    expect(checked.records).toBe(75)
  })
})
