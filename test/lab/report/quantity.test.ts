import { describe, expect, it } from 'vitest'
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatShortCount,
  formatSignedPercent,
  formatSizeOption,
  plural,
  quantityOf,
} from '../../../src/lab/report/quantity.ts'

describe('quantities of the report', () => {
  it.each([
    [formatBytes(425_000_000), '425 MB'],
    [formatBytes(null), '–'],
    [formatDuration(0), '0 ms'],
    [formatDuration(2314), '2.31 s'],
    [formatDuration(Number.NaN), '–'],
    [formatCount(1_357_050), '1,357,050'],
    [formatShortCount(9_999), '9,999'],
    [formatShortCount(82_900), '82.9 k'],
    [formatSignedPercent(0.0588), '+5.9 %'],
    [formatSignedPercent(-0.1234), '−12 %'],
    [formatSignedPercent(0.0001), '0.0 %'],
    [formatSignedPercent(null), '–'],
    [formatSizeOption(16_384), '16 KiB'],
    [plural(1, 'time'), '1 time'],
    [plural(0, 'time'), '0 times'],
  ])('%s', (text, expected) => {
    expect(text.replaceAll('\u00a0', ' ')).toBe(expected)
  })

  it('sets number and unit apart', () => {
    expect(quantityOf(formatDuration(2314))).toEqual({ number: '2.31', unit: 's' })
    expect(quantityOf('never')).toEqual({ number: 'never', unit: '' })
    expect(quantityOf(formatCount(7))).toEqual({ number: '7', unit: '' })
  })
})
