import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  importsOf,
  isRelative,
  parseSource,
  repository,
  resolveRelative,
  type SourceFile,
  sourceFiles,
} from './support/source-files.ts'

interface Layer {
  readonly name: string
  readonly files: RegExp[]
  readonly mayImport: ReadonlySet<string>
  readonly packages: ReadonlySet<string>
  readonly nodeModules: ReadonlySet<string>
}

const layers = readLayers(readFileSync(join(repository, 'ARCHITECTURE.md'), 'utf8'))
const files = sourceFiles('src')
const dependencies = Object.keys(
  JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')).dependencies as object,
)

describe('the table of layers', () => {
  it('names layers in an order in which each imports only those before it', () => {
    const before = new Set<string>()
    for (const layer of layers) {
      expect([...layer.mayImport].filter((name) => !before.has(name))).toEqual([])
      before.add(layer.name)
    }
    expect(before.size).toBe(layers.length)
    expect(layers.length).toBeGreaterThan(1)
  })

  it('gives every source file exactly one layer', () => {
    expect(files.length).toBeGreaterThan(0)
    const misplaced = files
      .map(({ path }) => ({ path, layers: layers.filter((layer) => covers(layer, path)).length }))
      .filter((file) => file.layers !== 1)
    expect(misplaced).toEqual([])
  })

  it('gives every dependency of the package a place, and names no other', () => {
    const placed = new Set(layers.flatMap((layer) => [...layer.packages]))
    expect([...placed].sort()).toEqual([...dependencies].sort())
  })
})

describe('imports in src', () => {
  it('follow the table', () => {
    expect(files.flatMap(violations)).toEqual([])
  })

  it('have no cycle that a load order could depend on', () => {
    expect(importCycle(files)).toBeUndefined()
  })
})

describe('the check itself', () => {
  const check = (path: string, text: string) => violations(parseSource(path, text))

  it.each([
    ['a relative import upwards', `import { Cluster } from '../cluster.ts'`],
    ['a type-only import upwards', `import type { Cluster } from '../cluster.ts'`],
    ['a re-export upwards', `export { Cluster } from '../cluster.ts'`],
    ['a dynamic import upwards', `await import('../cluster.ts')`],
    ['a worker entry upwards', `new Worker(new URL('../workers/x.js', import.meta.url))`],
    ['a package of another layer', `import { z } from 'zod'`],
    ['a path inside a package of another layer', `import { z } from 'zod/mini'`],
    ['a development package', `import { bench } from 'mitata'`],
    ['a package that is loaded by require', `createRequire(import.meta.url)('zod')`],
    ['a file of a package that is looked up', `require.resolve('uplot/dist/uPlot.min.css')`],
    ['a Node module of another layer', `import { Worker } from 'node:worker_threads'`],
    ['a Node module without its prefix', `import { readSync } from 'fs'`],
    ['a file outside src', `import { x } from '../../test/x.ts'`],
  ])('catches %s', (_, text) => {
    expect(check('src/log/partition-log.ts', text)).toHaveLength(1)
  })

  it('accepts what the table allows', () => {
    const text = [
      `import { readSync } from 'node:fs'`,
      `import { open } from 'node:fs/promises'`,
      `import { crc32c } from '@node-rs/crc32'`,
      `import { invariant } from '../invariant.ts'`,
      `import { Segment } from './segment.ts'`,
    ].join('\n')
    expect(check('src/log/partition-log.ts', text)).toEqual([])
  })

  it('finds a cycle, and not one of types alone', () => {
    const a = parseSource('src/log/a.ts', `import { b } from './b.ts'`)
    const b = parseSource('src/log/b.ts', `import { a } from './a.ts'`)
    const typesOnly = parseSource('src/log/b.ts', `import type { A } from './a.ts'`)
    expect(importCycle([a, b])).toEqual(['src/log/a.ts', 'src/log/b.ts', 'src/log/a.ts'])
    expect(importCycle([a, typesOnly])).toBeUndefined()
  })
})

function violations(file: SourceFile): string[] {
  const layer = layers.find((candidate) => covers(candidate, file.path))
  if (layer === undefined) return [`${file.path}: in no layer`]
  return importsOf(file).flatMap(({ specifier, line }) => {
    const reason = refusal(layer, file, specifier)
    return reason === undefined ? [] : [`${file.path}:${line}: ${specifier}: ${reason}`]
  })
}

function refusal(layer: Layer, file: SourceFile, specifier: string): string | undefined {
  if (isRelative(specifier)) {
    const path = resolveRelative(file, specifier)
    const target = layers.find((candidate) => covers(candidate, path))
    if (target === undefined) return `${path} is in no layer`
    if (target === layer || layer.mayImport.has(target.name)) return undefined
    return `${layer.name} may not import ${target.name}`
  }
  if (specifier.startsWith('node:')) {
    const name = specifier.slice('node:'.length).split('/')[0]!
    if (layer.nodeModules.has('*') || layer.nodeModules.has(name)) return undefined
    return `${layer.name} may not use that Node module`
  }
  return layer.packages.has(packageName(specifier)) ? undefined : `no package of ${layer.name}`
}

function packageName(specifier: string): string {
  const parts = specifier.split('/')
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : parts[0]!
}

/** The first cycle of imports that survive compilation, as the paths along it. */
function importCycle(all: readonly SourceFile[]): string[] | undefined {
  const byPath = new Map(all.map((file) => [file.path, file]))
  const done = new Set<string>()
  const trail: string[] = []
  const visit = (path: string): string[] | undefined => {
    const file = byPath.get(path)
    if (file === undefined || done.has(path)) return
    const met = trail.indexOf(path)
    if (met !== -1) return [...trail.slice(met), path]
    trail.push(path)
    for (const { specifier, typeOnly } of importsOf(file)) {
      if (typeOnly || !isRelative(specifier)) continue
      const cycle = visit(resolveRelative(file, specifier))
      if (cycle !== undefined) return cycle
    }
    trail.pop()
    done.add(path)
    return
  }
  for (const { path } of all) {
    const cycle = visit(path)
    if (cycle !== undefined) return cycle
  }
  return
}

function readLayers(markdown: string): Layer[] {
  const section = /<!-- layers:[^>]*-->([\s\S]*?)<!-- \/layers -->/.exec(markdown)?.[1]
  if (section === undefined) throw new Error('ARCHITECTURE.md: no table between the layers markers')
  const rows = section.split('\n').filter((line) => line.startsWith('|'))
  return rows.slice(2).map((row) => {
    const cells = row.split('|').slice(1, -1)
    if (cells.length !== 5) throw new Error(`ARCHITECTURE.md: 5 cells wanted in: ${row}`)
    const [name, patterns, mayImport, packages, nodeModules] = cells.map((cell) => cell.trim())
    return {
      name: name!,
      files: quoted(patterns!).map(globPattern),
      mayImport: new Set(mayImport === '' ? [] : mayImport!.split(/,\s*/)),
      packages: new Set(quoted(packages!)),
      nodeModules: new Set(quoted(nodeModules!)),
    }
  })
}

function quoted(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]!)
}

/** Knows `**`, `*` and `{a,b}`. */
function globPattern(glob: string): RegExp {
  const source = glob
    .replace(/[.+^$()|[\]\\]/g, '\\$&')
    .replace(/\{([^}]*)\}/g, (_, names: string) => `(?:${names.replaceAll(',', '|')})`)
    .replaceAll('**', '\0')
    .replaceAll('*', '[^/]*')
    .replaceAll('\0', '.*')
  return new RegExp(`^${source}$`)
}

function covers(layer: Layer, path: string): boolean {
  return layer.files.some((pattern) => pattern.test(path))
}
