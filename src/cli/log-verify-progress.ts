/** How far a verification is, on a terminal's standard error; elsewhere nothing. */
import path from 'node:path'
import type { Writable } from 'node:stream'
import { Presets, SingleBar } from 'cli-progress'
import { formatBytes } from '../lab/units.ts'
import type { VerifyProgress } from '../log-tools/verify-directories.ts'

export interface VerifyBar {
  /** undefined: nobody would see it. */
  readonly onProgress: ((progress: VerifyProgress) => void) | undefined
  stop(): void
}

/** The bar draws as it is told, since verifying never comes back to the event loop. */
export function createVerifyBar(stream: Writable & { readonly isTTY?: boolean }): VerifyBar {
  if (stream.isTTY !== true) return { onProgress: undefined, stop: () => undefined }
  const bar = new SingleBar(
    {
      format: '  {bar} {percentage} % of {total_text}, {eta} s to go  {where}',
      barsize: 24,
      clearOnComplete: true,
      stopOnComplete: false,
      gracefulExit: false,
      hideCursor: true,
      stream: stream as NodeJS.WritableStream,
    },
    Presets.shades_classic,
  )
  let isStarted = false
  return {
    onProgress({ doneBytes, totalBytes, directory }) {
      const payload = { total_text: formatBytes(totalBytes), where: path.basename(directory) }
      if (!isStarted) bar.start(totalBytes, 0, payload)
      isStarted = true
      bar.update(doneBytes, payload)
    },
    stop() {
      if (isStarted) bar.stop()
    },
  }
}
