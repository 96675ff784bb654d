import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { html, jsonForScript, trusted } from '../../../src/lab/report/html.ts'

describe('html', () => {
  it('escapes what is filled in, in text and attributes, and nests', () => {
    const evil = `"><script>alert('1')</script>&`
    const inner = html`<b title="${evil}">${evil}</b>`
    const safe = '&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;'
    expect(html`<p>${[inner, 7]}</p>`.text).toBe(`<p><b title="${safe}">${safe}</b>7</p>`)
    expect(html`${trusted('<i>')}`.text).toBe('<i>')
  })

  it('never lets a text open an element', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(html`${text}`.text).not.toMatch(/[<>"']/)
      }),
    )
  })

  it('keeps JSON inside its script element', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (texts) => {
        const json = jsonForScript(['</script>', '<!--', '\u2028', ...texts]).text
        expect(json).not.toMatch(/[<\u2028\u2029]/)
        expect(JSON.parse(json)).toEqual(['</script>', '<!--', '\u2028', ...texts])
      }),
    )
  })
})
