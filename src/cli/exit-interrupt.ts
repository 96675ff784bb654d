import type { Writable } from 'node:stream'

/** What of a process is needed, so that a test can hand in its own. */
export interface InterruptibleProcess {
  on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
  off(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
  exit(code: number): unknown
  readonly stderr: Pick<Writable, 'write'>
}

export interface Interrupt {
  /** Aborted at the first Ctrl-C. */
  readonly signal: AbortSignal
  /** Gives the signals back to Node's defaults. */
  dispose(): void
}

/** What a shell reports for a process that SIGINT ended. */
const killedByInterrupt = 130

/** The first Ctrl-C (or SIGTERM) asks to stop cleanly, the second ends the process at once. */
export function watchInterrupts(host: InterruptibleProcess = process): Interrupt {
  const controller = new AbortController()
  const onSignal = () => {
    if (controller.signal.aborted) {
      host.exit(killedByInterrupt)
      return
    }
    host.stderr.write('\ntidemark: stopping; press Ctrl-C again to quit at once\n')
    controller.abort()
  }
  host.on('SIGINT', onSignal)
  host.on('SIGTERM', onSignal)
  return {
    signal: controller.signal,
    dispose: () => {
      host.off('SIGINT', onSignal)
      host.off('SIGTERM', onSignal)
    },
  }
}
