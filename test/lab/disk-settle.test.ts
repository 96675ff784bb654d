import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, it } from 'vitest'
import { settleDisk } from '../../src/lab/disk-settle.ts'

function children(): string[] {
  const file = `/proc/self/task/${process.pid}/children`
  return readFileSync(file, 'utf8').trim().split(' ')
}

it.runIf(process.platform === 'linux')('settles several times with one process', async () => {
  await settleDisk(tmpdir())
  const before = children()
  await Promise.all([settleDisk(tmpdir()), settleDisk('/none/such'), settleDisk(tmpdir())])
  for (let count = 0; count < 12; count++) await settleDisk(tmpdir())
  expect(children()).toEqual(before)
})
