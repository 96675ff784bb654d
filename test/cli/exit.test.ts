import { EventEmitter } from 'node:events'
import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import {
  errorLine,
  exitCodeOfCatchUp,
  exitCodeOfError,
  exitCodeOfThroughput,
  throwUsageErrors,
} from '../../src/cli/exit.ts'
import { watchInterrupts } from '../../src/cli/exit-interrupt.ts'
import { TidemarkError } from '../../src/errors.ts'
import { sampleResult } from '../lab/report/sample-result.ts'
import { sampleThroughput } from '../lab/report/sample-throughput.ts'

describe('exit codes', () => {
  const records = sampleResult().records

  it.each([
    ['converged, all kept', {}, 0],
    ['diverges', { outcome: 'diverges' }, 1],
    ['timed out', { outcome: 'timed-out' }, 1],
    ['a record lost', { records: { ...records, lost: 1 } }, 1],
    ['a record twice', { records: { ...records, duplicated: 1 } }, 1],
    ['not all verified', { records: { ...records, verified: records.verified - 1 } }, 1],
    ['an invariant broken', { invariants: { checked: 5, violations: 1 } }, 1],
    ['high watermark back', { highWatermark: { advances: 1, stalledMs: 0, wentBack: 1 } }, 1],
    ['interrupted', { interrupted: true }, 1],
  ] as const)('of a catch-up: %s', (_, changes, code) => {
    expect(exitCodeOfCatchUp(sampleResult(changes))).toBe(code)
  })

  it('of a throughput run', () => {
    const result = sampleThroughput()
    expect(exitCodeOfThroughput(result)).toBe(0)
    const lost = { ...result.records, lost: 1 }
    expect(exitCodeOfThroughput({ ...result, records: lost })).toBe(1)
    const none = { produced: 0, acknowledged: 0, verified: 0, lost: 0 }
    expect(exitCodeOfThroughput({ ...result, records: none })).toBe(1)
    const scenario = { ...result.scenario, acks: 0 as const }
    expect(exitCodeOfThroughput({ ...result, scenario, records: none })).toBe(1)
    const sent = { ...none, produced: 5 }
    expect(exitCodeOfThroughput({ ...result, scenario, records: sent })).toBe(0)
    expect(exitCodeOfThroughput({ ...result, records: sent })).toBe(1)
  })

  it('of errors: bad input 2, the world 1, our own 1 with a stack', () => {
    expect(exitCodeOfError(new TidemarkError('INVALID_ARGUMENT', 'x'))).toBe(2)
    expect(exitCodeOfError(new TidemarkError('DIRECTORY_IN_USE', 'x'))).toBe(2)
    expect(exitCodeOfError(new TidemarkError('KAFKA_STORAGE_ERROR', 'disk full'))).toBe(1)
    expect(errorLine(new TidemarkError('KAFKA_STORAGE_ERROR', 'disk\nfull'))).toBe(
      'tidemark: disk full',
    )
    expect(exitCodeOfError(new TypeError('x'))).toBe(1)
    expect(errorLine(new TypeError('x'))).toContain('TypeError: x')
  })

  it('of help and version: 0, and no error line', () => {
    for (const flag of ['--help', '--version']) {
      let thrown: unknown
      const command = throwUsageErrors(new Command('tidemark')).version('1.2.3')
      command.configureOutput({ writeOut: () => {} })
      try {
        command.parse([flag], { from: 'user' })
      } catch (error) {
        thrown = error
      }
      expect(exitCodeOfError(thrown)).toBe(0)
      expect(errorLine(thrown)).toBeNull()
    }
  })
})

describe('Ctrl-C', () => {
  it('asks first, ends at the second, and lets go of the signals', () => {
    const exits: number[] = []
    const written: string[] = []
    const host = Object.assign(new EventEmitter(), {
      exit: (code: number) => exits.push(code),
      stderr: { write: (text: string) => written.push(text) > 0 },
    })
    const interrupt = watchInterrupts(host as never)
    expect(interrupt.signal.aborted).toBe(false)
    host.emit('SIGINT')
    expect(interrupt.signal.aborted).toBe(true)
    expect(exits).toEqual([])
    expect(written.join('')).toContain('Ctrl-C again')
    host.emit('SIGINT')
    expect(exits).toEqual([130])
    interrupt.dispose()
    expect(host.listenerCount('SIGINT') + host.listenerCount('SIGTERM')).toBe(0)
  })
})
