import { expect, it } from 'vitest'
import { runHistory } from './history.ts'

const histories = 100

it('breaks no invariant in some histories', { timeout: 200_000 }, () => {
  for (let seed = 1; seed <= histories; seed++) {
    const { violation } = runHistory({ seed, steps: 40 })
    expect(violation, `seed ${seed}`).toBeUndefined()
  }
})
