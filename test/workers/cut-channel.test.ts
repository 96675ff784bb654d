import { describe, expect, it } from 'vitest'
import { localChannel } from '../../src/workers/channel.ts'
import { CutChannel } from '../../src/workers/cut-channel.ts'
import { cut } from '../../src/workers/fault-words.ts'

function cutable() {
  const [near, far] = localChannel<string, string>()
  const state: { bits: number } = { bits: cut.nothing }
  return { state, near: new CutChannel(near, () => state.bits), far }
}

function all(end: { receive(): string | undefined }): string[] {
  const messages: string[] = []
  for (let got = end.receive(); got !== undefined; got = end.receive()) messages.push(got)
  return messages
}

describe('a channel', () => {
  it('that is whole passes everything at once', () => {
    const { near, far } = cutable()
    near.send('a')
    far.send('b')
    expect([all(far), all(near)]).toEqual([['a'], ['b']])
  })

  it('cut one way holds that way’s messages back, in order, and passes the other’s', () => {
    const { near, far, state } = cutable()
    state.bits = cut.requests
    near.send('a')
    near.send('b')
    far.send('c')
    expect([all(far), all(near)]).toEqual([[], ['c']])
    state.bits = cut.responses
    far.send('d')
    expect([all(near), all(far)]).toEqual([[], ['a', 'b']])
    near.send('e')
    state.bits = cut.nothing
    expect([all(near), all(far)]).toEqual([['d'], ['e']])
  })

  it('cut both ways passes nothing, and what was held goes before what is sent after', () => {
    const { near, far, state } = cutable()
    state.bits = cut.both
    near.send('a')
    far.send('b')
    expect([all(far), all(near)]).toEqual([[], []])
    state.bits = cut.nothing
    near.send('c')
    expect([all(far), all(near)]).toEqual([['a', 'c'], ['b']])
  })
})
