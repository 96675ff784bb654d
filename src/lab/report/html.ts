/** Text that is already HTML; everything else is escaped when it is put into a template. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toString(): string {
    return this.text
  }
}

export type HtmlPart = Html | string | number | null | readonly HtmlPart[]

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character]!)
}

/**
 * Template tag: what is filled in is escaped, in text and in quoted attributes; `null` is nothing.
 */
export function html(texts: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  let text = texts[0]!
  for (let i = 0; i < parts.length; i++) text += render(parts[i]!) + texts[i + 1]!
  return new Html(text)
}

/** Vouches for `text`: for style sheets and scripts of our own, never for anything from outside. */
export function trusted(text: string): Html {
  return new Html(text)
}

/** JSON that may stand inside a script element whatever strings it holds. */
export function jsonForScript(value: unknown): Html {
  const text = JSON.stringify(value)
  return new Html(
    text
      .replace(/</g, '\\u003c')
      .replace(/\u2028/g, '\\u2028')
      .replace(/\u2029/g, '\\u2029'),
  )
}

function render(part: HtmlPart | null): string {
  if (part === null) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'string') return escapeHtml(part)
  if (typeof part === 'number') return String(part)
  return part.map(render).join('')
}
