/** A process that appends is killed and its log opened again; `npm run test:crash` does more. */
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { builtLibrary, KillRounds } from './kill-rounds.ts'

describe('a process that is killed while it appends', () => {
  it('leaves a log with all that it said was flushed, 20 times', async () => {
    const rounds = new KillRounds(temporaryDirectory(), builtLibrary, 1)
    let appends = 0
    for (let round = 0; round < 20; round += 1) appends += await rounds.round()
    expect(appends).toBeGreaterThan(20)
  }, 120_000)
})
