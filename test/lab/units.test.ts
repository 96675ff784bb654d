import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isTidemarkError } from '../../src/errors.ts'
import {
  formatBytes,
  formatBytesExactly,
  formatCount,
  formatDuration,
  formatRate,
  parseBytes,
  parseCount,
  parseDuration,
  parseRate,
  parseThrottle,
} from '../../src/lab/units.ts'

function messageOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    expect(isTidemarkError(error, 'INVALID_ARGUMENT')).toBe(true)
    return (error as Error).message
  }
  throw new Error('nothing was thrown')
}

describe('parse', () => {
  test.each([
    ['512', 512],
    ['512B', 512],
    ['64KB', 64_000],
    ['64kb', 64_000],
    ['16KiB', 16_384],
    ['1MB', 1_000_000],
    ['1.5 GB', 1_500_000_000],
    ['2GiB', 2_147_483_648],
    ['0', 0],
  ])('size %s', (text, bytes) => {
    expect(parseBytes('--batch-bytes', text)).toBe(bytes)
  })

  test.each([
    ['250ms', 250],
    ['5s', 5000],
    ['2m', 120_000],
    ['1.5s', 1500],
    ['1h', 3_600_000],
    ['0', 0],
  ])('duration %s', (text, ms) => {
    expect(parseDuration('--outage', text)).toBe(ms)
  })

  test.each([
    ['100MB/s', 1e8],
    ['64KiB/s', 65_536],
    ['1GB/sec', 1e9],
    ['max', 'max'],
    ['MAX', 'max'],
  ])('rate %s', (text, rate) => {
    expect(parseRate('--rate', text)).toBe(rate)
  })

  test.each(['', ' ', 'x', '-1', '1e3', '1,000', '1QB', '12 34', '1..2', '.5', '9'.repeat(50)])(
    'refused everywhere: %j',
    (text) => {
      expect(messageOf(() => parseBytes('--a', text))).toMatch(/^--a .*: must be a size such as /)
      expect(messageOf(() => parseDuration('--a', text))).toMatch(/: must be a duration such as /)
      expect(messageOf(() => parseRate('--a', text))).toMatch(/: must be a rate such as .*or max$/)
      expect(messageOf(() => parseCount('--a', text, { min: 0 }))).toMatch(/: must be /)
    },
  )

  test('a duration has a unit, a rate is per second and above 0, a throttle is never max', () => {
    messageOf(() => parseDuration('--outage', '5'))
    messageOf(() => parseRate('--rate', '100MB'))
    messageOf(() => parseRate('--rate', '0MB/s'))
    messageOf(() => parseThrottle('--throttle', 'max'))
    expect(parseThrottle('--throttle', '5MB/s')).toBe(5e6)
  })

  test('out of range names option, value and what is allowed', () => {
    const range = { min: 1, max: 10_000 }
    expect(messageOf(() => parseCount('--partitions', '0', range))).toBe(
      '--partitions 0: must be from 1 to 10000',
    )
    expect(messageOf(() => parseCount('--partitions', '1.5', range))).toBe(
      '--partitions 1.5: must be a whole number from 1 to 10000',
    )
    expect(messageOf(() => parseCount('--n', '-3'))).toBe('--n -3: must be at least 0')
    expect(messageOf(() => parseBytes('--batch-bytes', '1', { min: 1024 }))).toBe(
      '--batch-bytes 1: must be at least 1KiB',
    )
    expect(messageOf(() => parseDuration('--outage', '2h', { max: 3_600_000 }))).toBe(
      '--outage 2h: must be at most 60 min',
    )
    expect(messageOf(() => parseRate('--rate', '1B/s', { min: 1e6 }))).toBe(
      '--rate 1B/s: must be at least 1 MB/s',
    )
  })

  test('the error stays on one line whatever the value holds', () => {
    const message = messageOf(() => parseBytes('--a', `1\n2\u001b[31m${'z'.repeat(500)}`))
    expect(message).toMatch(/^--a 1\\u000a2\\u001b\[31mz+…: must be/)
    expect(message.length).toBeLessThan(280)
    expect(messageOf(() => parseBytes('--a', ''))).toMatch(/^--a '': /)
  })
})

describe('format', () => {
  test.each([
    [0, '0 B'],
    [999, '999 B'],
    [999.7, '1 kB'],
    [1234, '1.23 kB'],
    [123_456_789, '123 MB'],
    [2e9, '2 GB'],
    [-5000, '-5 kB'],
    [Number.POSITIVE_INFINITY, 'unlimited'],
  ])('bytes %d', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text)
  })

  test.each([
    [0, '0 s'],
    [0.85, '850 µs'],
    [0.9999, '1 ms'],
    [12.34, '12.3 ms'],
    [999.9, '1 s'],
    [4560, '4.56 s'],
    [119_990, '2 min'],
    [125_000, '2 min 5 s'],
    [12_000_000, '3 h 20 min'],
    [-4560, '-4.56 s'],
    [Number.POSITIVE_INFINITY, 'never'],
  ])('duration %d ms', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })

  test('counts and rates', () => {
    expect(formatCount(950)).toBe('950')
    expect(formatCount(1_234_567)).toBe('1.23 M')
    expect(formatRate(1e8)).toBe('100 MB/s')
    expect(formatRate('max')).toBe('max')
  })

  test('an exact size is read back as itself', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 2 ** 31 - 1 }),
        fc.constantFrom(1, 1000, 1024, 1e6),
        (n, factor) => {
          const bytes = n * factor
          expect(parseBytes('--a', formatBytesExactly(bytes))).toBe(bytes)
        },
      ),
    )
  })
})
