/** What all pages have in common. Nothing is loaded from anywhere when one is opened. */
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { type Html, html, jsonForScript, trusted } from './html.ts'
import { styleSheet } from './style.ts'

/** Nothing but what the page itself holds may run or be shown. */
const contentPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"

const require = createRequire(import.meta.url)

export interface DocumentParts {
  readonly title: string
  /** Beside the name at the top: what kind of page it is. */
  readonly kind: string
  readonly body: readonly Html[]
  readonly footer: string
  /** Declarations that only this kind of page needs. */
  readonly style?: string
  /** Found by the script as JSON in the element `run-data`. */
  readonly data: object
  /** Our own source; uPlot is there before it. */
  readonly script: string
}

export function pageDocument(parts: DocumentParts): string {
  const { title, kind, body, footer, style = '', data, script } = parts
  const page = html`<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${contentPolicy}">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Tidemark">
<title>${title}</title>
<style>${trusted(inlined('uPlot.min.css'))}
${trusted(styleSheet())}
${trusted(style)}</style></head>
<body><a class="skip" href="#main">Skip to the report</a>
<div class="page"><header class="bar">${logo}<strong>Tidemark</strong><span>${kind}</span>
<button type="button" id="theme" aria-label="Switch between light and dark">◐</button></header>
<main id="main">${body}</main>
<footer>${footer}</footer></div>
<script type="application/json" id="run-data">${jsonForScript(data)}<\/script>
<script>${trusted(inlined('uPlot.iife.min.js'))}<\/script>
<script>${trusted(script)}<\/script></body></html>`
  return `<!doctype html>\n${page}\n`
}

const logo = trusted(
  '<svg width="22" height="22" viewBox="0 0 22 22" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" aria-hidden="true"><path d="M2 6h18" opacity=".45"/><path d="M2 12c3-3 6-3 9 0s6 3 9 0"/><path d="M2 18c3-3 6-3 9 0s6 3 9 0"/></svg>',
)

function inlined(name: string): string {
  return fs.readFileSync(require.resolve(`uplot/dist/${name}`), 'utf8')
}
