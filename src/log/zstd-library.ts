/**
 * Zstandard itself: Node's own where it has one (from 22.15), else its C sources compiled to
 * WebAssembly. The latter needs no compiler at install, decompresses at 0.8 GB/s, and whatever the
 * input does to it stays within its own memory.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import zlib from 'node:zlib'
import { loadCodec } from './codec-bytes.ts'

export interface ZstdLibrary {
  compress(input: Uint8Array): Uint8Array
  /** The input must be whole frames that hold at most `capacityBytes`. */
  decompress(input: Uint8Array, capacityBytes: number): Uint8Array
}

/** Kafka's default, and the library's. */
const level = 3
/** A heap that grew beyond this for one large batch is given back. */
const heapKeptBytes = 64 * 1024 * 1024

let kept: ZstdLibrary | undefined

/** @throws {TidemarkError} UNSUPPORTED_VERSION */
export function zstdLibrary(): ZstdLibrary {
  kept ??= nodeZstd() ?? loadCodec('zstd', () => new WasmZstd())
  return kept
}

interface NodeZstd {
  readonly zstdCompressSync?: (input: Uint8Array) => Uint8Array
  readonly zstdDecompressSync?: (
    input: Uint8Array,
    options: { readonly maxOutputLength: number },
  ) => Uint8Array
}

/** undefined: this Node has none. */
export function nodeZstd(): ZstdLibrary | undefined {
  const { zstdCompressSync, zstdDecompressSync } = zlib as NodeZstd
  if (zstdCompressSync === undefined || zstdDecompressSync === undefined) return undefined
  return {
    compress: (input) => zstdCompressSync(input),
    decompress: (input, maxOutputLength) => zstdDecompressSync(input, { maxOutputLength }),
  }
}

/** The part of the language's standard that is used here; Node's types for it are not loaded. */
interface WebAssemblyEngine {
  readonly Module: new (code: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => object
}

/** What the package's glue code offers; pointers and sizes are plain numbers. */
interface ZstdModule {
  instantiateWasm: (imports: object, receive: (instance: object) => unknown) => unknown
  init(): void
  /** Replaced whenever the heap grows. */
  readonly HEAPU8: Uint8Array
  _malloc(bytes: number): number
  _free(pointer: number): void
  _ZSTD_createCCtx(): number
  _ZSTD_createDCtx(): number
  _ZSTD_compressBound(bytes: number): number
  _ZSTD_isError(result: number): number
  _ZSTD_compress_usingDict(
    ...args: [number, number, number, number, number, number, number, number]
  ): number
  _ZSTD_decompress_usingDict(
    ...args: [number, number, number, number, number, number, number]
  ): number
}

/** Exported so that a test can hold it against Node's own where there is one. */
export class WasmZstd implements ZstdLibrary {
  #module: ZstdModule
  #compressor = 0
  #decompressor = 0

  constructor() {
    this.#module = loadModule()
  }

  compress(input: Uint8Array): Uint8Array {
    const capacity = this.#module._ZSTD_compressBound(input.length)
    return this.#run(input, capacity, (target, source) => {
      if (this.#compressor === 0) this.#compressor = this.#module._ZSTD_createCCtx()
      const { length } = input
      return this.#module._ZSTD_compress_usingDict(
        ...([this.#compressor, target, capacity, source, length] as const),
        ...([0, 0, level] as const),
      )
    })
  }

  decompress(input: Uint8Array, capacityBytes: number): Uint8Array {
    return this.#run(input, capacityBytes, (target, source) => {
      if (this.#decompressor === 0) this.#decompressor = this.#module._ZSTD_createDCtx()
      const { length } = input
      return this.#module._ZSTD_decompress_usingDict(
        ...([this.#decompressor, target, capacityBytes, source, length, 0, 0] as const),
      )
    })
  }

  #run(
    input: Uint8Array,
    capacity: number,
    call: (target: number, source: number) => number,
  ): Uint8Array {
    const module = this.#module
    const source = module._malloc(Math.max(1, input.length))
    const target = module._malloc(Math.max(1, capacity))
    try {
      if (source === 0 || target === 0) throw new Error(`no memory for ${capacity} bytes`)
      module.HEAPU8.set(input, source)
      const result = call(target, source)
      if (module._ZSTD_isError(result) !== 0) throw new Error(`error ${-(result | 0)}`)
      return module.HEAPU8.slice(target, target + result)
    } finally {
      module._free(target)
      module._free(source)
      if (module.HEAPU8.length > heapKeptBytes) this.#renew()
    }
  }

  /** A WebAssembly heap never shrinks: only a new one is small. */
  #renew(): void {
    this.#module = loadModule()
    this.#compressor = 0
    this.#decompressor = 0
  }
}

/**
 * The package starts its code asynchronously, and our callers cannot wait: hence its glue is given
 * the code ready to run. The glue keeps its state in module scope, so each heap takes a fresh copy.
 */
function loadModule(): ZstdModule {
  const require = createRequire(import.meta.url)
  const folder = path.dirname(require.resolve('@bokuweb/zstd-wasm'))
  const glue = path.join(folder, 'zstd.js')
  delete require.cache[glue]
  const { Module: module } = require(glue) as { readonly Module: ZstdModule }
  const { WebAssembly: engine } = globalThis as unknown as { WebAssembly: WebAssemblyEngine }
  const code = new engine.Module(readFileSync(path.join(folder, 'zstd.wasm')))
  module.instantiateWasm = (imports, receive) => receive(new engine.Instance(code, imports))
  module.init()
  return module
}
