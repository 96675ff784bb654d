import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { limits } from '../src/limits.ts'
import {
  filePaths,
  importsOf,
  isRelative,
  lineOf,
  parseSource,
  repository,
  resolveRelative,
  type SourceFile,
  type SyntaxNode,
  sourceFiles,
  walk,
} from './support/source-files.ts'

const fileLinesMax = 400
const functionLinesMax = 60
/** Of tests and tools, where a function may be a table or a scenario. */
const functionLinesElsewhereMax = 120
const lineWidthMax = 100

const source = sourceFiles('src')
const tests = sourceFiles('test')
const tools = [...sourceFiles('bench'), ...sourceFiles('scripts'), ...sourceFiles('bin')]
const everything = [...source, ...tests, ...tools]
const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
  readonly dependencies: Record<string, string>
  readonly exports: Record<string, string | { readonly import: string }>
}

/** Files that are started, not imported: what the package exports, the command, worker entries. */
const entries = new Set([...exportedFiles(), 'src/cli/main.ts', ...workerEntries(source)])

describe('every file', () => {
  it.each([
    ['is short', longFile],
    ['has short functions', longFunctions],
    ['keeps its comments to the line width', wideComments],
    ['has no reminder left in it', reminders],
    ['stays erasable, with named exports one by one', unwantedSyntax],
  ])('%s', (_, check) => {
    expect(everything.length).toBeGreaterThan(10)
    expect(everything.flatMap(check)).toEqual([])
  })

  it('has a name that says what it holds', () => {
    const nameless = /^(utils?|commons?|helpers?|misc|types)\./
    expect(everything.filter(({ path }) => nameless.test(basename(path)))).toEqual([])
  })
})

describe('tests', () => {
  it('are neither skipped, focused nor merely intended', () => {
    expect(tests.flatMap(inactiveTests)).toEqual([])
  })

  it('have an end by which they are found', () => {
    const strays = tests.filter(
      ({ path, text }) =>
        !path.endsWith('.test.ts') && /^ *(describe|it|test)(\.each)?\(['"`[]/m.test(text),
    )
    expect(strays.map(({ path }) => path)).toEqual([])
  })
})

describe('nothing lies about unused', () => {
  it('no source file that nobody imports', () => {
    const imported = new Set(
      source.flatMap((file) =>
        importsOf(file)
          .filter(({ specifier }) => isRelative(specifier))
          .map(({ specifier }) => resolveRelative(file, specifier)),
      ),
    )
    const unused = source.map(({ path }) => path)
    expect(unused.filter((path) => !imported.has(path) && !entries.has(path))).toEqual([])
  })

  it('no limit that nobody reads', () => {
    const readers = source.filter(({ path }) => path !== 'src/limits.ts')
    const unread = Object.keys(limits).filter(
      (name) => !readers.some(({ text }) => new RegExp(`\\blimits\\.${name}\\b`).test(text)),
    )
    expect(unread).toEqual([])
  })

  it('no dependency that no source file names', () => {
    const unnamed = Object.keys(manifest.dependencies).filter(
      (name) => !source.some(({ text }) => new RegExp(`['"\`]${name}(/|['"\`])`).test(text)),
    )
    expect(unnamed).toEqual([])
  })

  it('no fixture that no test names', () => {
    const folders = new Set(filePaths('test/fixtures').map((path) => path.split('/')[2]!))
    const unnamed = [...folders].filter((name) => !tests.some(({ text }) => text.includes(name)))
    expect(unnamed).toEqual([])
  })
})

describe('the checks themselves', () => {
  const parse = (text: string) => parseSource('src/x.ts', text)
  const filler = (lines: number) => 'x()\n'.repeat(lines)

  it.each([
    ['a long file', longFile, filler(fileLinesMax + 1)],
    ['a long function', longFunctions, `function f() {\n${filler(functionLinesMax)}}`],
    ['a long method', longFunctions, `class A { f() {\n${filler(functionLinesMax)}} }`],
    ['a long arrow', longFunctions, `const f = () => {\n${filler(functionLinesMax)}}`],
    ['a wide comment', wideComments, `// ${'x'.repeat(lineWidthMax)}`],
    ['a reminder', reminders, `// ${'TO'}${'DO'}: later`],
    ['a default export', unwantedSyntax, 'export default 1'],
    ['an export of everything', unwantedSyntax, `export * from './a.ts'`],
    ['an enum', unwantedSyntax, 'enum A { B }'],
    ['a namespace', unwantedSyntax, 'namespace A { export const b = 1 }'],
    ['a parameter property', unwantedSyntax, 'class A { constructor(private b: number) {} }'],
    ['a focused test', inactiveTests, 'it.only("x", () => {})'],
    ['a skipped suite', inactiveTests, 'describe.skip("x", () => {})'],
    ['an intended test', inactiveTests, 'test.todo("x")'],
    ['a chained skip', inactiveTests, 'it.concurrent.skip("x", () => {})'],
  ])('catch %s', (_, check, text) => {
    expect(check(parse(text))).toHaveLength(1)
  })

  it('leave a suite of short tests, and a skip decided at run time, alone', () => {
    const suite = `describe('x', () => {\n${'it("y", () => {\n\n})\n'.repeat(30)}})`
    expect(longFunctions(parse(suite))).toEqual([])
    expect(inactiveTests(parse('it("x", (ctx) => { ctx.skip("no Java") })'))).toEqual([])
  })
})

function longFile(file: SourceFile): string[] {
  const lines = file.text.split('\n').length - 1
  return lines > fileLinesMax ? [`${file.path}: ${lines} lines`] : []
}

/** A suite is a list of functions, not one; it counts as long as its longest test. */
function longFunctions(file: SourceFile): string[] {
  const suites = new Set<SyntaxNode>()
  const found: string[] = []
  const linesMax = file.path.startsWith('src/') ? functionLinesMax : functionLinesElsewhereMax
  walk(file.tree, (node) => {
    if (node.type === 'CallExpression' && /^describe\b/.test(file.text.slice(node.start))) {
      for (const argument of node.arguments as SyntaxNode[]) suites.add(argument)
    }
    if (!isFunction(node) || suites.has(node)) return
    const first = lineOf(file, node.start)
    const lines = lineOf(file, node.end) - first + 1
    if (lines > linesMax) found.push(`${file.path}:${first}: a function of ${lines} lines`)
  })
  return found
}

function isFunction(node: SyntaxNode): boolean {
  return (
    node.type === 'FunctionDeclaration' ||
    node.type === 'FunctionExpression' ||
    node.type === 'ArrowFunctionExpression'
  )
}

/** Code is the formatter's business; text in templates may be as wide as it has to be. */
function wideComments(file: SourceFile): string[] {
  return file.comments.flatMap(({ start, end }) => {
    const first = file.text.lastIndexOf('\n', start) + 1
    const line = lineOf(file, start)
    return file.text
      .slice(first, end)
      .split('\n')
      .map((text, index) => ({ at: `${file.path}:${line + index}`, width: text.length }))
      .filter(({ width }) => width > lineWidthMax)
      .map(({ at, width }) => `${at}: ${width} columns`)
  })
}

function reminders(file: SourceFile): string[] {
  const words = new RegExp(
    `\\b(${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X', 'HA' + 'CK'].join('|')})\\b`,
    'g',
  )
  return [...file.text.matchAll(words)].map(
    (match) => `${file.path}:${lineOf(file, match.index)}: ${match[0]}`,
  )
}

/** Configuration files of tools must export a default; none of them lies in these folders. */
function unwantedSyntax(file: SourceFile): string[] {
  const unwanted: Record<string, string> = {
    ExportDefaultDeclaration: 'a default export',
    ExportAllDeclaration: 'an export of everything',
    TSEnumDeclaration: 'an enum',
    TSModuleDeclaration: 'a namespace',
    TSParameterProperty: 'a parameter property',
  }
  const found: string[] = []
  walk(file.tree, (node) => {
    const what = unwanted[node.type]
    if (what !== undefined) found.push(`${file.path}:${lineOf(file, node.start)}: ${what}`)
  })
  return found
}

function inactiveTests(file: SourceFile): string[] {
  const found: string[] = []
  walk(file.tree, (node) => {
    if (node.type !== 'CallExpression') return
    const callee = node.callee as SyntaxNode
    const text = file.text.slice(callee.start, callee.end)
    if (/^(describe|it|test)\b.*\.(only|skip|todo|fails)$/s.test(text)) {
      found.push(`${file.path}:${lineOf(file, node.start)}: ${text}`)
    }
  })
  return found
}

function exportedFiles(): string[] {
  return Object.values(manifest.exports)
    .filter((target) => typeof target !== 'string')
    .map((target) => target.import.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts'))
}

/** A worker's entry is named beside the call that starts it: `workerEntry(…, 'broker-thread…')`. */
function workerEntries(files: readonly SourceFile[]): string[] {
  const named = /\bworkerEntry\(\s*[\w.]+,\s*['"`]([\w-]+)/g
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(named)].map((match) => `${dirname(path)}/${match[1]}.ts`),
  )
}
