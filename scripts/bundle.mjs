#!/usr/bin/env node
/**
 * Puts each entry of the compiled package together with all of ours that it imports. A thread that
 * loads a hundred small modules takes four times as long to start as one that loads a single file.
 * Entries are replaced where they stand; the modules they were made of stay beside them.
 *   node scripts/bundle.mjs [FOLDER]     FOLDER: what `tsc` made of `src`, default `dist`
 */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { isAbsolute, join, posix, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RolldownMagicString, rolldown } from 'rolldown'

/** What programs and the command line load: modules that several of them need are shared. */
const publicEntries = ['index', 'log/index', 'cli/main']

/** Each is loaded by a thread of its own, and so is one file. */
export const threadEntries = [
  ...['workers/broker-thread', 'workers/controller-thread'],
  ...['workers/recovery-task', 'workers/cleaning-task', 'workers/timestamp-task'],
  ...['lab/load-thread', 'lab/limit-writer', 'lab/verify', 'lab/disk-rate-task'],
]

/** Where the modules lie that several public entries need. */
const sharedFolder = 'shared'

/** Stands for a module's address until it is known which file it comes to be in. */
const addressOf = '__addressOfModule'
const addressPattern = new RegExp(`${addressOf}\\("([^"]+)"\\)`, 'g')

/** @param folder what the compiler made of `src` */
export async function bundle(folder) {
  const root = resolve(folder)
  const groups = [publicEntries, ...threadEntries.map((name) => [name])]
  // Nothing is written before all is read: an entry may be a module of another one, too.
  const builds = await Promise.all(groups.map((names) => buildOf(root, names)))
  rmSync(join(root, sharedFolder), { recursive: true, force: true })
  for (const build of builds) {
    await build.write({
      dir: root,
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: `${sharedFolder}/[name]-[hash].js`,
      sourcemap: true,
      comments: false,
    })
    await build.close()
  }
}

async function buildOf(root, names) {
  const build = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, join(root, `${name}.js`)])),
    platform: 'node',
    external: staysApart,
    plugins: [modulesStandWhereTheyStood(root)],
  })
  await build.generate()
  return build
}

/**
 * Packages are what the package manager installed. The report prints functions of its browser
 * folder into its page, and so needs them by the names that they have.
 */
function staysApart(id) {
  const isPackage = !id.startsWith('.') && !isAbsolute(id)
  return isPackage || id.includes('/report/browser/') || id.startsWith('./browser/')
}

/** Modules keep their source map, and find what lies beside them by their own address. */
function modulesStandWhereTheyStood(root) {
  return {
    name: 'modules-stand-where-they-stood',
    load(file) {
      const code = readFileSync(file, 'utf8')
      const own = relative(root, file).replaceAll(sep, '/')
      return {
        code: code.replaceAll('import.meta.url', `${addressOf}(${JSON.stringify(own)})`),
        map: existsSync(`${file}.map`) ? readFileSync(`${file}.map`, 'utf8') : undefined,
      }
    },
    renderChunk(code, { fileName }) {
      const text = new RolldownMagicString(code)
      for (const { 0: address, 1: own, index } of code.matchAll(addressPattern)) {
        const way = JSON.stringify(posix.relative(posix.dirname(fileName), own))
        text.overwrite(index, index + address.length, `new URL(${way}, import.meta.url).href`)
      }
      return { code: text }
    },
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundle(process.argv[2] ?? 'dist')
