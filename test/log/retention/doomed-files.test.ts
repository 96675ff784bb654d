import { describe, expect, it } from 'vitest'
import { DoomedFiles } from '../../../src/log/retention/doomed-files.ts'

describe('files that wait to be removed', () => {
  it('are handed out when they are due, once, whatever order they came in', () => {
    const doomed = new DoomedFiles()
    expect(doomed.nextDueMs).toBe(Number.POSITIVE_INFINITY)
    expect(doomed.takeDue(1_000)).toEqual([])
    doomed.add('a', 300)
    doomed.add('b', 100)
    doomed.add('c', 200)
    expect(doomed.nextDueMs).toBe(100)
    expect(doomed.takeDue(99)).toEqual([])
    expect(doomed.takeDue(200)).toEqual(['b', 'c'])
    expect(doomed.nextDueMs).toBe(300)
    expect(doomed.count).toBe(1)
    expect(doomed.takeDue(300)).toEqual(['a'])
    expect(doomed.takeDue(9_000)).toEqual([])
    expect([doomed.count, doomed.nextDueMs]).toEqual([0, Number.POSITIVE_INFINITY])
  })
})
