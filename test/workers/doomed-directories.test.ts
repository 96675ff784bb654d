import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import { brokerId } from '../../src/ids.ts'
import { claimTopicId } from '../../src/log/partition-metadata.ts'
import { DoomedDirectories } from '../../src/workers/doomed-directories.ts'
import { ControllerHarness } from '../replication/controller/controller-harness.ts'
import { MemoryFileSystem } from '../support/memory-file-system.ts'

let fs: MemoryFileSystem
let clock: ManualClock
let doomed: DoomedDirectories

beforeEach(() => {
  fs = new MemoryFileSystem()
  clock = new ManualClock()
  fs.makeDirectory('/b1')
  doomed = new DoomedDirectories({ brokerId: brokerId(1), directory: '/b1', fs, clock })
})

function partition(name: string, topicId?: string): void {
  fs.makeDirectory(`/b1/${name}`)
  if (topicId !== undefined) claimTopicId(fs, `/b1/${name}`, topicId, false)
}

function writeText(path: string, text: string): void {
  const bytes = Buffer.from(text)
  const fd = fs.open(path, 'create')
  fs.write(fd, bytes, 0, bytes.length, 0)
  fs.close(fd)
}

function names(): string[] {
  return fs.list('/b1')!.sort()
}

describe('a directory that is doomed', () => {
  it('gives its name free at once, and goes when its time has come, one a step', () => {
    partition('t-0')
    partition('t-1')
    doomed.doom('t-0', 100)
    doomed.doom('t-1', 50)
    expect(names()).toEqual([
      expect.stringMatching(/^t-0\.[0-9a-f]{32}-delete$/),
      expect.stringMatching(/^t-1\.[0-9a-f]{32}-delete$/),
    ])
    partition('t-0')
    clock.advance(49)
    expect(doomed.step()).toBe(0)
    clock.advance(51)
    expect([doomed.step(), doomed.step(), doomed.step()]).toEqual([1, 1, 0])
    expect(names()).toEqual(['t-0'])
  })

  it('has a name that a file system takes, however long the topic’s is', () => {
    const name = `${'x'.repeat(249)}-0`
    partition(name)
    doomed.doom(name, 0)
    expect(names()[0]).toMatch(/^x+\.[0-9a-f]{32}-delete$/)
    expect(names()[0]!.length).toBeLessThanOrEqual(255)
  })
})

describe('at the start', () => {
  it('a damaged partition.metadata holds nothing up: the name decides', () => {
    const harness = new ControllerHarness().start(1, 2, 3)
    harness.createTopic('t', [[1, 3]])
    for (const name of ['t-0', 'nobodys-0', 'other-1']) {
      partition(name)
      writeText(`/b1/${name}/partition.metadata`, 'version: what\n')
    }
    doomed.sweep(harness.image)
    expect(names()).toEqual([
      expect.stringMatching(/^nobodys-0\..*-stray$/),
      expect.stringMatching(/^other-1\..*-stray$/),
      't-0',
    ])
  })

  it('what a former life doomed goes, what the metadata gives to others is set aside', () => {
    const harness = new ControllerHarness().start(1, 2, 3)
    harness.createTopic('t', [
      [1, 3],
      [2, 3],
      [2, 1],
    ])
    const { topicId } = harness.image.topicNamed('t')!
    partition('t-0', topicId)
    partition('t-1', topicId)
    partition('t-2')
    partition('t-7', topicId)
    partition('gone-0')
    partition('t-0.0123-delete')
    partition('t-9.0123-stray')
    partition('no partition')
    const fd = fs.open('/b1/u-0', 'create')
    fs.close(fd)
    doomed.sweep(harness.image)
    const stray = (name: string) => expect.stringMatching(`^${name}\\.[0-9a-f]{32}-stray$`)
    expect(names()).toEqual([
      stray('gone-0'),
      'no partition',
      't-0',
      't-0.0123-delete',
      stray('t-1'),
      't-2',
      stray('t-7'),
      't-9.0123-stray',
      'u-0',
    ])
    expect([doomed.step(), doomed.step()]).toEqual([1, 0])
    expect(names()).not.toContain('t-0.0123-delete')
    // What was read of those that stay needn't be read again, as long as they are the same.
    expect([doomed.takeTopicId('t-0'), doomed.takeTopicId('t-0')]).toEqual([topicId, undefined])
    expect([doomed.takeTopicId('t-1'), doomed.takeTopicId('t-2')]).toEqual([undefined, undefined])
    doomed.sweep(harness.image)
    doomed.doom('t-0', 0)
    expect(doomed.takeTopicId('t-0')).toBeUndefined()
  })

  it('a topic of the same name made anew is another one', () => {
    const harness = new ControllerHarness().start(1)
    harness.createTopic('t', [[1]])
    partition('t-0', harness.image.topicNamed('t')!.topicId)
    harness.administer({ type: 'deleteTopic', topic: 't' })
    harness.createTopic('t', [[1]])
    doomed.sweep(harness.image)
    expect(names()).toEqual([expect.stringMatching(/^t-0\.[0-9a-f]{32}-stray$/)])
  })
})
