import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { SyncOutcome } from '../../src/log/background-flush.ts'
import { syncAll } from '../../src/log/file-sync.ts'
import { serveSyncs } from '../../src/workers/file-sync.ts'
import { PortSync } from '../../src/workers/port-sync.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

function failure(code: string): Error {
  return Object.assign(new Error(`${code}: injected`), { code })
}

describe('files synced in another’s stead', () => {
  it('go in order, directories last; what is missing is told, what fails ends it', async () => {
    const calls: [string, boolean][] = []
    const request = { files: ['a', 'missing', 'b'], directories: ['d'] }
    const sync = (bad: string) => async (name: string, isDirectory: boolean) => {
      calls.push([name, isDirectory])
      if (name === 'missing') throw failure('ENOENT')
      if (name === bad) throw failure('EIO')
    }
    expect(await syncAll(request, sync('none'))).toEqual({ absent: ['missing'] })
    expect(calls.splice(0)).toEqual([
      ['a', false],
      ['missing', false],
      ['b', false],
      ['d', true],
    ])
    const outcome = { absent: ['missing'], failure: { path: 'b', message: 'Error: EIO: injected' } }
    expect(await syncAll(request, sync('b'))).toEqual(outcome)
    expect(calls).toHaveLength(3)
  })

  it('over a port: real files and directories, every request answered by its ticket', async () => {
    const directory = temporaryDirectory()
    const file = path.join(directory, 'a')
    fs.writeFileSync(file, 'text')
    const { port1, port2 } = new MessageChannel()
    onTestFinished(() => port1.close())
    serveSyncs(port1)
    const sync = new PortSync(port2)
    sync.begin(7, { files: [file, `${file}-missing`], directories: [directory] })
    sync.begin(8, { files: [], directories: [`${directory}/none`] })
    const outcomes: SyncOutcome[] = []
    while (outcomes.length < 2) {
      const outcome = sync.take()
      if (outcome === undefined) await new Promise((resolve) => setImmediate(resolve))
      else outcomes.push(outcome)
    }
    expect(outcomes).toEqual([
      { ticket: 7, absent: [`${file}-missing`] },
      { ticket: 8, absent: [`${directory}/none`] },
    ])
    const closed = once(port1, 'close')
    port2.close()
    await closed
  })
})
