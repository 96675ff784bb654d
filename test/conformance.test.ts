/**
 * The conformance list: 102 cases out of Apache Kafka's own tests of replicas, partitions, the
 * controller and the log. A test that holds a case begins with its number. Here it is checked that
 * none is missing, and said why a case doesn't apply.
 */
import { describe, expect, it } from 'vitest'
import { sourceFiles } from './support/source-files.ts'

const casesCount = 102

/** Cases that have no place here, and why. */
const inapplicable: Readonly<Record<number, string>> = {
  52: 'a follower polls shared memory; no fetch waits in a purgatory that would have to be completed',
}

const title = /\b(?:it|describe)(?:\.each(?:<[^(]*>)?\([\s\S]{0,4000}?\))?\(\s*['"`]([^'"`]*)/g
const numbers = /^(?:conformance )?((?:\d+b?(?:, (?=\d))?)+)[.:]/

function casesIn(text: string): number[] {
  return [...text.matchAll(title)].flatMap(([, name]) => {
    const found = numbers.exec(name!)?.[1]
    return found === undefined ? [] : found.split(', ').map((each) => Number.parseInt(each, 10))
  })
}

describe('the conformance list', () => {
  const tests = sourceFiles('test').filter(({ path }) => path.endsWith('.test.ts'))
  const found = new Set(tests.flatMap(({ text }) => casesIn(text)))

  it('has a test for every case that applies', () => {
    const all = Array.from({ length: casesCount }, (_, at) => at + 1)
    expect(all.filter((each) => !found.has(each) && inapplicable[each] === undefined)).toEqual([])
  })

  it('calls no case inapplicable that has a test, nor one that is none', () => {
    const excused = Object.keys(inapplicable).map(Number)
    expect(excused.filter((each) => found.has(each) || each > casesCount)).toEqual([])
  })

  it('is read out of the titles', () => {
    expect(casesIn(`it('11, 12, 27. %s leaves it pending', () => {`)).toEqual([11, 12, 27])
    expect(casesIn(`describe('conformance 82: truncation', () => {`)).toEqual([82])
    expect(casesIn(`it.each([1, 2])('58b. %d', () => {`)).toEqual([58])
    expect(casesIn(`it('takes 3 batches', () => {`)).toEqual([])
  })
})
