import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { crc32c, crc32cPortable } from '../../src/log/crc32c.ts'

describe('CRC-32C', () => {
  it.each([
    ['123456789', 0xe3069283],
    ['', 0],
    ['a', 0xc1d04330],
  ])("of '%s' is the published value", (text, value) => {
    const bytes = Buffer.from(text)
    expect(crc32c(bytes, 0, bytes.length)).toBe(value)
    expect(crc32cPortable(bytes, 0, bytes.length)).toBe(value)
  })

  it('is the same with and without the native module, in shared memory too', () => {
    const range = fc.tuple(fc.uint8Array({ maxLength: 200 }), fc.nat(40), fc.nat(40))
    fc.assert(
      fc.property(range, ([content, before, after]) => {
        const shared = new Uint8Array(new SharedArrayBuffer(content.length + before + after))
        shared.set(content, before)
        const native = crc32c(shared, before, before + content.length)
        expect(crc32cPortable(shared, before, before + content.length)).toBe(native)
        expect(crc32c(content, 0, content.length)).toBe(native)
      }),
    )
  })
})
