import { appendFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { brokerId } from '../../src/ids.ts'
import { readTimeline } from '../../src/log-tools/timeline.ts'
import type { MetadataTimeline, PartitionChange } from '../../src/log-tools/timeline-model.ts'
import { MetadataLog } from '../../src/replication/controller/metadata-log.ts'
import type {
  MetadataRecord,
  PartitionChangeRecord,
} from '../../src/replication/controller/metadata-records.ts'
import { fixtureDirectory } from '../interop/fixture-files.ts'
import { ControllerHarness, topicIdOf } from '../replication/controller/controller-harness.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import {
  copyOfKafkas,
  cutKafkas,
  kafkaMetadata,
  kafkaSegment,
  WrittenLog,
} from './timeline-logs.ts'

const topicId = topicIdOf(1)
const ids = (...numbers: number[]) => numbers.map(brokerId)

function created(replicas: number[], isr = replicas): readonly MetadataRecord[] {
  return [
    { type: 'topic', name: 'orders', topicId },
    {
      type: 'partition',
      partitionId: 0,
      topicId,
      replicas: ids(...replicas),
      isr: ids(...isr),
      removingReplicas: [],
      addingReplicas: [],
      leader: brokerId(replicas[0]!),
      leaderEpoch: 0,
      partitionEpoch: 0,
    },
  ]
}

function change(fields: Partial<PartitionChangeRecord>): MetadataRecord {
  return { type: 'partitionChange', partitionId: 0, topicId, ...fields }
}

function one(timeline: MetadataTimeline, partition = 0) {
  const history = timeline.partitions.find((each) => each.partition === partition)
  expect(history).toBeDefined()
  return history!
}

const story = ({ reason, by, election, left, joined }: PartitionChange) =>
  `${reason}${by === null ? '' : ` ${by}`} ${election} -${left} +${joined}`

describe('the history of Apache Kafka’s log', () => {
  it('tells who left and rejoined when, who led, and on what account', () => {
    const timeline = readTimeline(kafkaMetadata, { topic: 'isr' })
    expect(timeline).toMatchObject({ fromOffset: 1, endOffset: 103, records: 102, faults: [] })
    expect(timeline.notes).toEqual([])
    expect(timeline.controllers).toMatchObject([{ epoch: 1, controllerId: 1, offset: 0 }])
    const history = one(timeline, 2)
    expect(history.changes.map(story)).toEqual([
      'created created - +',
      'proposed null -3 +',
      'proposed null - +3',
      'shuttingDown 3 null -3 +',
      'proposed null - +3',
      'shuttingDown 3 null -3 +',
      'shuttingDown 2 clean -2 +',
      'shuttingDown 1 none -1 +',
    ])
    expect(history.changes.map(({ partitionEpoch }) => partitionEpoch)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7,
    ])
    expect(history.changes.map(({ leaderEpoch }) => leaderEpoch)).toEqual([0, 0, 0, 0, 0, 0, 1, 2])
    expect(history.absences.map(({ brokerId: id, outMs, end }) => [id, outMs, end])).toEqual([
      [3, 10_727, 'rejoined'],
      [3, 63_463, 'rejoined'],
      [3, 4_988, 'still out'],
      [2, 2_493, 'still out'],
      [1, 90, 'still out'],
    ])
    expect(history).toMatchObject({ shrinks: 5, expands: 2, leaderChanges: 2, flaps: 2 })
    expect(history.offline).toEqual([{ fromMs: 1796056144028, toMs: null, ms: 90 }])
    expect(timeline.flapping).toHaveLength(3)
  })

  it('tells of the brokers’ registrations, fencing and shutdowns', () => {
    const { brokers } = readTimeline(kafkaMetadata)
    expect(brokers.map((broker) => broker.brokerId)).toEqual([1, 2, 3])
    const third = brokers[2]!.events.map(({ kind, brokerEpoch }) => `${kind} ${brokerEpoch}`)
    const life = (epoch: number) =>
      ['registered', 'unfenced', 'shuttingDown', 'fenced'].map((kind) => `${kind} ${epoch}`)
    expect(third).toEqual([...life(17), ...life(73)])
  })

  it('ends the absences of a removed topic with it, and an offline partition’s at its return', () => {
    const removed = readTimeline(kafkaMetadata, { topic: 'removed' })
    expect(one(removed).removedAtMs! - one(removed).createdAtMs!).toBe(1_335)
    const offline = readTimeline(kafkaMetadata, { topic: '__transaction_state' })
    expect(one(offline).offline).toMatchObject([{ ms: 63_163 }, { toMs: null }])
    expect(one(offline).changes.map(({ election }) => election)).toEqual([
      'created',
      'none',
      'eligible',
      'none',
    ])
  })

  it('goes on from a snapshot where the log begins later', () => {
    // Both at the boundary before the first shrink.
    const whole = readTimeline(kafkaMetadata, { topic: 'isr' })
    const cut = readTimeline(cutKafkas(5_268, 61, true), { topic: 'isr' })
    expect(cut).toMatchObject({ fromOffset: 61, endOffset: 103, faults: [], notes: [] })
    expect(cut.files).toEqual([
      '00000000000000000061-0000000001.checkpoint',
      '00000000000000000061.log',
    ])
    for (const [at, history] of cut.partitions.entries()) {
      expect(history.createdAtMs).toBe(null)
      expect(history.changes[0]).toMatchObject({ reason: 'snapshot', offset: 61 })
      expect(history.changes.slice(1)).toEqual(whole.partitions[at]!.changes.slice(1))
      expect(history.absences).toEqual(whole.partitions[at]!.absences)
    }
  })

  it('says what it can’t know when there is no snapshot', () => {
    const { partitions, notes, faults } = readTimeline(cutKafkas(5_268, 61, false))
    expect(partitions).toEqual([])
    expect(faults).toEqual([])
    expect(notes[0]!.text).toMatch(/begins at offset 61, and no snapshot tells/)
    expect(notes[1]!.text).toMatch(/skipped: change of unknown partition .*-2 \(and 6 more\)/)
  })
})

describe('a log that is not whole', () => {
  it('is read to where it is cut', () => {
    const { directory, file } = copyOfKafkas()
    truncateSync(file, 6_000)
    const { faults, endOffset, partitions } = readTimeline(directory, { topic: 'isr' })
    expect(faults).toMatchObject([{ file, position: 5_837 }])
    expect(endOffset).toBe(67)
    expect(partitions.map(({ changes }) => changes.length)).toEqual([3, 3, 3])
  })

  it('is read to the batch whose bytes are wrong, and to a gap', () => {
    const { directory, file } = copyOfKafkas()
    const bytes = readFileSync(file)
    bytes[5_268 + 80]! ^= 1
    writeFileSync(file, bytes)
    expect(readTimeline(directory).faults).toMatchObject([{ position: 5_268 }])
    writeFileSync(file, bytes.subarray(0, 5_268))
    appendFileSync(file, readFileSync(kafkaSegment).subarray(5_371))
    expect(readTimeline(directory).faults).toMatchObject([
      { position: 5_268, expected: 'a batch at offset 61', found: 'offset 62' },
    ])
  })

  it('never ends in anything but a fault or notes, whatever its records are', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.nat(9), fc.uint8Array()), {
          minLength: 1,
          maxLength: 5,
        }),
        (raw) => {
          const log = new WrittenLog()
          const records = raw.map(
            ([apiKey, version, body]): MetadataRecord => ({
              type: 'opaque',
              apiKey,
              version,
              body,
            }),
          )
          for (const record of records) log.append(1, record)
          const { records: read, faults } = readTimeline(log.close())
          expect(faults.length <= 1).toBe(true)
          if (faults.length === 0) expect(read).toBe(records.length)
        },
      ),
      { numRuns: 100 },
    )
  })

  it.each([
    ['/nothing', {}, /^\/nothing: no such directory$/],
    [kafkaSegment, {}, /not a directory$/],
    [path.join(fixtureDirectory, 'isr-0'), {}, /no metadata log; allowed are a directory __cl/],
    [kafkaMetadata, { topic: 'nope' }, /^--topic nope: no such topic .*there are __transaction/],
    [kafkaMetadata, { topic: 'isr', partition: 9 }, /^--partition 9: no such partition of topic i/],
  ])('bad input: %s %o', (directory, options, message) => {
    expect(() => readTimeline(directory, options)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(message),
      }),
    )
  })
})

describe('records of other versions', () => {
  it('skips kinds it doesn’t know by their length, and says so', () => {
    const log = new WrittenLog().append(0, ...created([1, 2, 3]))
    const body = Uint8Array.of(1, 2, 3)
    log.append(5, { type: 'opaque', apiKey: 77, version: 3, body })
    log.append(5, { type: 'opaque', apiKey: 77, version: 3, body })
    log.append(5, { type: 'opaque', apiKey: 5, version: 9, body })
    log.append(5, change({ isr: ids(1, 2) }))
    const { partitions, notes, faults } = readTimeline(log.close())
    expect(faults).toEqual([])
    expect(partitions[0]!.changes).toHaveLength(2)
    expect(notes).toEqual([
      { offset: 2, text: 'skipped: record kind 77 version 3 (and 1 more)' },
      { offset: 4, text: 'skipped: PartitionChangeRecord version 9' },
    ])
  })

  it('a transaction counts at its end, and not at all when it is aborted or unfinished', () => {
    const log = new WrittenLog().append(0, ...created([1, 2, 3]))
    log.append(5, { type: 'beginTransaction' }, change({ isr: ids(1, 2) }))
    log.append(5, { type: 'abortTransaction' })
    log.append(5, { type: 'beginTransaction' }, change({ isr: ids(1, 3) }))
    log.append(5, { type: 'endTransaction' })
    log.append(5, { type: 'beginTransaction' }, change({ isr: ids(1) }))
    const { partitions, notes } = readTimeline(log.close())
    const members = partitions[0]!.changes.map(({ inSyncReplicas }) => inSyncReplicas)
    expect(members).toEqual([
      [1, 2, 3],
      [1, 3],
    ])
    expect(notes.map(({ text }) => text)).toEqual([
      'a transaction of 1 records was aborted',
      'the log ends in a transaction: 1 records of it count for nothing yet',
    ])
  })
})

describe('our own log', () => {
  it('has proposals, fencing, elections and controllers told apart', () => {
    const directory = temporaryDirectory()
    const open = (harness?: ControllerHarness<MetadataLog>) => {
      const clock = harness?.clock ?? { nowMs: () => 1_000_000 }
      return MetadataLog.open({ directory, clock })
    }
    let log = open()
    const controller = new ControllerHarness(log).start(1, 2, 3)
    controller.createTopic('orders', [[1, 2, 3]])
    controller.proposeOne(0, [1, 2])
    controller.silence(1)
    log.close()
    log = open(controller)
    new ControllerHarness(log).proposeOne(0, [2, 3])
    log.close()
    const timeline = readTimeline(directory)
    const fenced = timeline.brokers[0]!.events.map(({ kind }) => kind)
    expect(fenced).toEqual(['registered', 'unfenced', 'fenced'])
    expect(one(timeline).changes.map(story)).toEqual([
      'created created - +',
      'proposed null -3 +',
      'fenced 1 clean -1 +',
      'proposed null - +3',
    ])
    expect(timeline.controllers.map(({ epoch, controllerId }) => [epoch, controllerId])).toEqual([
      [1, null],
      [2, null],
    ])
  })

  it('names elections from outside, and reassignments', () => {
    const log = new WrittenLog().append(0, ...created([1, 2, 3], [1]))
    log.append(5, change({ isr: ids(2), leader: brokerId(2), leaderRecoveryState: 1 }))
    log.append(5, change({ leader: brokerId(2) }))
    log.append(5, change({ replicas: ids(2, 3, 4) }))
    const history = one(readTimeline(log.close()))
    expect(history.changes.map(story)).toEqual([
      'created created - +',
      'elected unclean -1 +2',
      'elected same - +',
      'reassigned null - +',
    ])
    expect(history.absences.map(({ brokerId: id, end, outMs }) => [id, end, outMs])).toEqual([
      [2, 'rejoined', 5],
      [3, 'still out', 15],
      [1, 'unassigned', 10],
      [4, 'still out', 0],
    ])
  })
})
