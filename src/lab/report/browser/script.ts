/**
 * The report's script as text. The functions are type-checked and tested as ordinary code; their
 * own source goes to the page, which therefore needs no bundler.
 */
import * as draw from './draw.ts'
import * as page from './page.ts'

export function reportScript(): string {
  const functions = [...Object.values(draw), ...Object.values(page)]
  return `'use strict';(function(){\n${functions.map(String).join('\n')}\nstartPage()\n})()`
}
