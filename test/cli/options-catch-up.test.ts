import { Command } from 'commander'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { errorLine, exitCodeOfError, throwUsageErrors } from '../../src/cli/exit.ts'
import { defineCatchUpOptions, resolveCatchUpOptions } from '../../src/cli/options-catch-up.ts'
import { requireReplayable } from '../../src/lab/catch-up-input.ts'
import type { CatchUpOptions } from '../../src/lab/result.ts'

function parse(...args: string[]): CatchUpOptions {
  const command = defineCatchUpOptions(throwUsageErrors(new Command('catch-up')))
  command.parse(args, { from: 'user' })
  return resolveCatchUpOptions(command.opts(), () => 42)
}

const noDetails = { throttleBytesPerSec: null, isolation: null, disk: null, clockOffsetMs: null }

function refusal(...args: string[]): string {
  try {
    parse(...args)
  } catch (error) {
    expect(exitCodeOfError(error)).toBe(2)
    return errorLine(error)!
  }
  throw new Error(`accepted: ${args.join(' ')}`)
}

describe('options of catch-up', () => {
  it('has the documented defaults', () => {
    expect(parse()).toEqual({
      brokers: 3,
      replicationFactor: 3,
      partitions: 1000,
      minInsync: 2,
      leaders: 'one',
      rateBytesPerSec: 'calibrated',
      recordBytes: 1024,
      batchBytes: 16_384,
      compression: 'none',
      input: null,
      replay: false,
      timeScale: 1,
      acks: 'all',
      fault: 'pause',
      throttleBytesPerSec: null,
      faults: [{ ...noDetails, atMs: 3000, forMs: 5000, kind: 'pause', broker: 3 }],
      follower: 3,
      outageMs: 5000,
      sessionTimeoutMs: 9000,
      replicaLagTimeMaxMs: 1000,
      expand: 'log-end-offset',
      policy: 'smallest-lag-first',
      catchUpLimitBytesPerSec: null,
      warmUpMs: 3000,
      settleMs: 3000,
      timeoutMs: 120_000,
      repeat: 1,
      flush: { kind: 'os' },
      dir: null,
      keep: false,
      seed: 42,
      report: 'tidemark-report/',
      json: false,
    })
  })

  it('takes every option', () => {
    const given = parse(
      ...'--brokers 5 --replication-factor 4 --partitions 7 --min-insync 3 --leaders spread'.split(
        ' ',
      ),
      ...'--record-bytes 100 --batch-bytes 64KB --compression lz4 --input data.log --replay'.split(
        ' ',
      ),
      ...'--time-scale 2.5 --acks 1 --fault throttle --throttle 20MB/s --follower 1'.split(' '),
      ...'--outage 2m --replica-lag-time-max 250ms --expand high-watermark'.split(' '),
      ...'--policy round-robin --catch-up-limit 1MiB/s --warm-up 0 --settle 1s'.split(' '),
      ...'--timeout 10s --repeat 5 --flush interval:50 --dir /tmp/data --keep --seed 7'.split(' '),
      ...'--report out --json'.split(' '),
    )
    expect(given).toEqual({
      brokers: 5,
      replicationFactor: 4,
      partitions: 7,
      minInsync: 3,
      leaders: 'spread',
      rateBytesPerSec: 'calibrated',
      recordBytes: 100,
      batchBytes: 64_000,
      compression: 'lz4',
      input: 'data.log',
      replay: true,
      timeScale: 2.5,
      acks: 1,
      fault: 'throttle',
      throttleBytesPerSec: 20e6,
      faults: [
        {
          ...noDetails,
          atMs: 0,
          forMs: 120_000,
          kind: 'throttle',
          broker: 1,
          throttleBytesPerSec: 20e6,
        },
      ],
      follower: 1,
      outageMs: 120_000,
      sessionTimeoutMs: 9000,
      replicaLagTimeMaxMs: 250,
      expand: 'high-watermark',
      policy: 'round-robin',
      catchUpLimitBytesPerSec: 1_048_576,
      warmUpMs: 0,
      settleMs: 1000,
      timeoutMs: 10_000,
      repeat: 5,
      flush: { kind: 'interval', ms: 50 },
      dir: '/tmp/data',
      keep: true,
      seed: 7,
      report: 'out',
      json: true,
    })
  })

  it('is frozen, and follows the last broker and the number of replicas', () => {
    const options = parse('--brokers', '2', '--replication-factor', '2')
    expect(Object.isFrozen(options)).toBe(true)
    expect(options).toMatchObject({ follower: 2, minInsync: 1 })
    expect(parse('--no-report').report).toBeNull()
    expect(parse('--rate', 'max').rateBytesPerSec).toBe('max')
    expect(parse('--rate', '100MB/s').rateBytesPerSec).toBe(100e6)
    expect(parse('--flush', 'interval:2s').flush).toEqual({ kind: 'interval', ms: 2000 })
  })

  it.each([
    ['--partitions 0', 'tidemark: --partitions 0: must be from 1 to 10000'],
    ['--partitions 10001', 'tidemark: --partitions 10001: must be from 1 to 10000'],
    ['--brokers 1', 'tidemark: --brokers 1: must be from 2 to 16'],
    ['--replication-factor 4', 'tidemark: --replication-factor 4: must be at most --brokers 3'],
    ['--brokers 2', 'tidemark: --replication-factor 3: must be at most --brokers 2'],
    ['--min-insync 4', 'tidemark: --min-insync 4: must be from 1 to --replication-factor 3'],
    ['--follower 4', 'tidemark: --follower 4: must be from 1 to 3'],
    [
      '--follower 1',
      'tidemark: --follower 1: must be from 2 to 3 or leader; broker 1 leads (see --leaders)',
    ],
    [
      '--fault melt',
      'tidemark: --fault melt: must be pause, kill, throttle, wipe, isolate, slow-disk, clock or controller',
    ],
    ['--fault throttle', 'tidemark: --fault throttle: needs --throttle with a rate such as 20MB/s'],
    ['--throttle 1MB/s', 'tidemark: --throttle 1MB/s: only with --fault throttle'],
    ['--acks 2', 'tidemark: --acks 2: must be 0, 1 or all'],
    ['--leaders two', 'tidemark: --leaders two: must be one or spread'],
    ['--compression zip', 'tidemark: --compression zip: must be none or lz4'],
    ['--record-bytes 32KiB', 'tidemark: --record-bytes 32KiB: must be at most --batch-bytes 16KiB'],
    ['--flush never', 'tidemark: --flush never: must be os, batch or interval:MS'],
    ['--replay', 'tidemark: --replay without --input: needs a Kafka .log segment as --input'],
    ['--time-scale 2', 'tidemark: --time-scale 2: only with --replay'],
    ['--repeat 0', 'tidemark: --repeat 0: must be from 1 to 100'],
  ])('refuses %s in one line', (args, line) => {
    expect(refusal(...args.split(' '))).toBe(line)
  })

  it.each([
    ['--outage 5', '--outage 5:'],
    ['--rate fast', '--rate fast:'],
    ['--batch-bytes 1', '--batch-bytes 1:'],
    ['--catch-up-limit max', '--catch-up-limit max:'],
    ['--seed -1', '--seed -1:'],
    ['--input x --replay --rate 1MB/s', '--rate 1MB/s: a replay has its own rate'],
    ['--input x --replay --time-scale 0', '--time-scale 0: must be a number from'],
    ['--no-such', '--no-such: unknown option'],
    ['--partition 3', '--partition: unknown option (did you mean --partitions?)'],
    ['--follower', '--follower: needs a value, <broker>'],
    ['extra', 'too many arguments'],
  ])('names the option and the value: %s', (args, part) => {
    const line = refusal(...args.split(' '))
    expect(line.startsWith('tidemark: ')).toBe(true)
    expect(line).toContain(part)
    expect(line).not.toContain('\n')
  })

  it('refuses an empty path, and a replay of text', () => {
    expect(refusal('--report', '')).toContain("--report '': must be a path")
    const options = parse('--input', 'words.txt', '--replay')
    expect(() => requireReplayable(options, 'text')).toThrow(/--input words\.txt: is text/)
    expect(() => requireReplayable(options, 'segment')).not.toThrow()
  })

  it('meets any text with a value or with one line', () => {
    const options = ['--partitions', '--rate', '--outage', '--flush', '--follower', '--time-scale']
    fc.assert(
      fc.property(fc.constantFrom(...options), fc.string(), (option, value) => {
        try {
          parse(`${option}=${value}`)
        } catch (error) {
          expect(exitCodeOfError(error)).toBe(2)
          expect(errorLine(error)).not.toContain('\n')
        }
      }),
    )
  })

  it('lists each option with its default in the help', () => {
    const help = defineCatchUpOptions(new Command('catch-up'))
      .helpInformation()
      .replace(/\s+/g, ' ')
    for (const part of ['--min-insync <n>', 'default: 1KiB', 'default: 5s', 'Fault and return:']) {
      expect(help).toContain(part)
    }
  })
})
