/**
 * Where a thread's code is. A worker's entry must be JavaScript: from the built package that is the
 * file beside this one; from the sources (tests) it is the one that the last build made of it.
 */
export function workerEntry(moduleUrl: string, name: string): URL {
  const url = new URL(`./${name}`, moduleUrl)
  if (!url.pathname.endsWith('.ts')) return url
  return new URL(url.href.replace('/src/', '/dist/').replace(/\.ts$/, '.js'))
}

/** The ending that this module's own file has: `.ts` in the sources, `.js` when built. */
export const moduleSuffix = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
