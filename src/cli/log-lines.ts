/** Many lines to a stream that may be slow, or closed by whoever reads it (`| head`). */
import type { Writable } from 'node:stream'

const chunkCharacters = 64 * 1024

export interface LineWriter {
  /** Waits while the stream is full. False: nobody reads it any more. */
  write(line: string): Promise<boolean>
  /** Hands over what is left. */
  end(): Promise<void>
}

export function createLineWriter(stream: Writable): LineWriter {
  let pending = ''
  let closed = false
  const onError = (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    closed = true
  }
  stream.on('error', onError)
  const flush = () =>
    new Promise<void>((resolve) => {
      const text = pending
      pending = ''
      if (closed || text === '') resolve()
      else stream.write(text, () => resolve())
    })
  return {
    async write(line) {
      pending += `${line}\n`
      if (pending.length >= chunkCharacters) await flush()
      return !closed
    },
    async end() {
      await flush()
      stream.off('error', onError)
    },
  }
}
