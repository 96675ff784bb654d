import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'vite'

export const repository = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

/** A node as the ESTree standard has it: a type, a range of characters, and children. */
export interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

export interface SourceFile {
  /** From the repository, with forward slashes. */
  readonly path: string
  readonly text: string
  readonly tree: SyntaxNode
  readonly comments: readonly Comment[]
}

export interface Comment {
  readonly start: number
  readonly end: number
}

export interface ImportReference {
  /** As written: `./log.ts`, `node:fs`, `zod`. */
  readonly specifier: string
  readonly line: number
  /** Gone after compilation, so that no load order depends on it. */
  readonly typeOnly: boolean
}

/** Callees that load the module, or find the file, which their argument names. */
const loaders = /(^|\W)(require|createRequire\(.*\)|import\.meta\.resolve)(\.resolve)?$/s

/** The `.ts`, `.js` and `.mjs` files below a folder of the repository, parsed, in order of path. */
export function sourceFiles(folder: string): SourceFile[] {
  return filePaths(folder)
    .filter((path) => /\.(ts|js|mjs)$/.test(path) && !path.includes('/node_modules/'))
    .map((path) => {
      const text = readFileSync(join(repository, path), 'utf8')
      return parseSource(path, text)
    })
}

/** @throws {Error} when the text is not valid syntax */
export function parseSource(path: string, text: string): SourceFile {
  const { program, comments, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]!.message}`)
  return { path, text, tree: program as unknown as SyntaxNode, comments }
}

/** Paths of all files below a folder of the repository; none when there is no such folder. */
export function filePaths(folder: string): string[] {
  let entries: string[]
  try {
    entries = readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  return entries.map((entry) => join(folder, entry).split(sep).join('/')).sort()
}

/** Calls `visit` for every node, parents first. */
export function walk(node: SyntaxNode, visit: (node: SyntaxNode) => void): void {
  visit(node)
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) {
      for (const item of value) if (isNode(item)) walk(item, visit)
    } else if (isNode(value)) {
      walk(value, visit)
    }
  }
}

export function lineOf(file: SourceFile, position: number): number {
  let line = 1
  for (let at = file.text.indexOf('\n'); at !== -1 && at < position; ) {
    line += 1
    at = file.text.indexOf('\n', at + 1)
  }
  return line
}

/**
 * Static and dynamic imports, re-exports, what is loaded by `require` or looked up for it, and
 * files named by `new URL('…', import.meta.url)`.
 */
export function importsOf(file: SourceFile): ImportReference[] {
  const found: ImportReference[] = []
  walk(file.tree, (node) => {
    const source = importSource(file, node)
    if (source === undefined) return
    found.push({
      specifier: source,
      line: lineOf(file, node.start),
      typeOnly: node.importKind === 'type' || node.exportKind === 'type',
    })
  })
  return found
}

/** The repository path that a relative specifier names; a compiled name counts as its source. */
export function resolveRelative(from: SourceFile, specifier: string): string {
  const absolute = join(repository, dirname(from.path), specifier)
  const path = relative(repository, absolute).split(sep).join('/')
  return from.path.endsWith('.ts') ? path.replace(/\.js$/, '.ts') : path
}

export function isRelative(specifier: string): boolean {
  return specifier.startsWith('./') || specifier.startsWith('../')
}

function importSource(file: SourceFile, node: SyntaxNode): string | undefined {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
    case 'ImportExpression':
    case 'TSImportType':
      return literal(node.source)
    case 'NewExpression': {
      const callee = node.callee as SyntaxNode
      const args = node.arguments as SyntaxNode[]
      if (callee.type !== 'Identifier' || callee.name !== 'URL' || args.length !== 2) return
      const text = literal(args[0])
      return text !== undefined && /\.(ts|js)$/.test(text) && isRelative(text) ? text : undefined
    }
    case 'CallExpression': {
      const callee = node.callee as SyntaxNode
      const args = node.arguments as SyntaxNode[]
      return loaders.test(file.text.slice(callee.start, callee.end)) ? literal(args[0]) : undefined
    }
    default:
      return
  }
}

function literal(value: unknown): string | undefined {
  if (!isNode(value) || value.type !== 'Literal') return
  return typeof value.value === 'string' ? value.value : undefined
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}
