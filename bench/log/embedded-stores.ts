/** The stores of `bench/stores`, behind one interface; each as fast as it can be set. */
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** Of 100-byte values under ascending numbers. */
export interface EmbeddedStore {
  /** One batch, as one transaction; durable when it returns if the store was opened so. */
  append(values: readonly Uint8Array[]): void | Promise<void>
  count(): number | Promise<number>
  close(): void | Promise<void>
}

export interface StoreOptions {
  readonly directory: string
  /** Whether each batch waits for the disk; without it nothing does. */
  readonly durable: boolean
}

interface Sqlite {
  pragma(text: string): unknown
  exec(text: string): void
  prepare(text: string): {
    run(...values: unknown[]): void
    pluck(): { get(): number }
  }
  transaction<T>(action: (argument: T) => void): (argument: T) => void
  close(): void
}

interface Lmdb {
  transactionSync(action: () => void): void
  putSync(key: number, value: Uint8Array, options: { append: boolean }): void
  getCount(): number
  close(): Promise<void>
}

interface Level {
  open(): Promise<void>
  batch(): {
    put(key: Uint8Array, value: Uint8Array): void
    write(options: { sync: boolean }): Promise<void>
  }
  keys(): { all(): Promise<unknown[]> }
  close(): Promise<void>
}

const packages = new URL('../../../../bench/stores/package.json', import.meta.url)

/** undefined: they are not installed. */
export function loadStores() {
  const require = createRequire(packages)
  try {
    const sqlite = require('better-sqlite3') as new (file: string) => Sqlite
    const lmdb = require('lmdb') as { open(options: object): Lmdb }
    const level = require('classic-level') as {
      ClassicLevel: new (directory: string, options: object) => Level
    }
    return {
      'better-sqlite3': (options: StoreOptions) => openSqlite(sqlite, options),
      lmdb: (options: StoreOptions) => openLmdb(lmdb.open, options),
      'classic-level': (options: StoreOptions) => openLevel(level.ClassicLevel, options),
    }
  } catch {
    return undefined
  }
}

function openSqlite(
  Database: new (file: string) => Sqlite,
  { directory, durable }: StoreOptions,
): EmbeddedStore {
  const database = new Database(join(directory, 'store.sqlite'))
  database.pragma('journal_mode = WAL')
  database.pragma(`synchronous = ${durable ? 'FULL' : 'OFF'}`)
  database.exec('CREATE TABLE records (number INTEGER PRIMARY KEY, value BLOB)')
  const insert = database.prepare('INSERT INTO records VALUES (?, ?)')
  let next = 0
  const append = database.transaction((values: readonly Uint8Array[]) => {
    for (const value of values) insert.run(next++, value)
  })
  const count = database.prepare('SELECT count(*) FROM records').pluck()
  return { append, count: () => count.get(), close: () => database.close() }
}

function openLmdb(
  open: (options: object) => Lmdb,
  { directory, durable }: StoreOptions,
): EmbeddedStore {
  const path = join(directory, 'store.lmdb')
  const store = open({
    path,
    encoding: 'binary',
    keyEncoding: 'uint32',
    noSync: !durable,
    noMetaSync: !durable,
    overlappingSync: false,
    mapSize: 8 * 1024 ** 3,
  })
  let next = 0
  return {
    append: (values) =>
      store.transactionSync(() => {
        for (const value of values) store.putSync(next++, value, { append: true })
      }),
    count: () => store.getCount(),
    close: () => store.close(),
  }
}

async function openLevel(
  ClassicLevel: new (directory: string, options: object) => Level,
  { directory, durable }: StoreOptions,
): Promise<EmbeddedStore> {
  const options = { keyEncoding: 'buffer', valueEncoding: 'buffer', compression: false }
  const level = new ClassicLevel(join(directory, 'store.level'), options)
  await level.open()
  let next = 0
  return {
    // One `put` a call: an array of operations is five times slower.
    append: (values) => {
      const batch = level.batch()
      for (const value of values) {
        const key = Buffer.allocUnsafe(4)
        key.writeUInt32BE(next++)
        batch.put(key, value)
      }
      return batch.write({ sync: durable })
    },
    count: async () => (await level.keys().all()).length,
    close: () => level.close(),
  }
}
