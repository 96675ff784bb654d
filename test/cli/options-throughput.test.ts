import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { errorLine, throwUsageErrors } from '../../src/cli/exit.ts'
import {
  defineThroughputOptions,
  resolveThroughputOptions,
} from '../../src/cli/options-throughput.ts'

function parse(...args: string[]) {
  const command = defineThroughputOptions(throwUsageErrors(new Command('throughput')))
  command.parse(args, { from: 'user' })
  return resolveThroughputOptions(command.opts(), () => 42)
}

describe('options of throughput', () => {
  it('has the documented defaults', () => {
    expect(parse()).toEqual({
      brokers: 3,
      replicationFactor: 3,
      partitions: 1000,
      leaders: 'one',
      acks: 'all',
      recordBytes: 1024,
      batchBytes: 16_384,
      compression: 'none',
      input: null,
      flush: { kind: 'os' },
      dir: null,
      seed: 42,
      json: false,
      durationMs: 5000,
      maxBytes: 2e9,
      producers: 1,
      limit: true,
      rateBytesPerSec: 'max',
    })
  })

  it('takes what a sweep needs', () => {
    const args = '--no-limit --replication-factor 1 --brokers 1 --acks 0 --max-bytes 512MiB'
    expect(parse(...args.split(' '))).toMatchObject({
      limit: false,
      brokers: 1,
      replicationFactor: 1,
      acks: 0,
      maxBytes: 536_870_912,
    })
    expect(parse('--limit').limit).toBe(true)
    expect(parse('--rate', '200MB/s').rateBytesPerSec).toBe(200e6)
  })

  it.each([
    ['--producers 63', 'tidemark: --producers 63: must be from 1 to 62'],
    ['--partitions 0', 'tidemark: --partitions 0: must be from 1 to 10000'],
    ['--min-insync 2', 'tidemark: --min-insync: unknown option; --help lists what is allowed'],
  ])('refuses %s in one line', (args, line) => {
    let said: string | null = null
    try {
      parse(...args.split(' '))
    } catch (error) {
      said = errorLine(error)
    }
    expect(said).toBe(line)
  })
})
