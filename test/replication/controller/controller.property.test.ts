import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MetadataImage } from '../../../src/replication/controller/metadata-image.ts'
import type { ControllerResponse } from '../../../src/replication/messages.ts'
import { leaderNone, type PartitionRegistration } from '../../../src/replication/registration.ts'
import { CommandRun, command } from './controller-commands.ts'
import { type ControllerHarness, contentsOf } from './controller-harness.ts'

const subscriber = 7

/** Follows the metadata as a broker does. */
class Follower {
  readonly image = new MetadataImage()
  snapshots = 0

  constructor(harness: ControllerHarness) {
    this.subscribe(harness)
  }

  /** What an earlier connection had to say is lost with it. */
  subscribe(harness: ControllerHarness): void {
    harness.told = []
    harness.controller.handle(subscriber, {
      type: 'subscribeMetadata',
      fromOffset: this.image.endOffset,
    })
  }

  catchUp(harness: ControllerHarness): void {
    harness.controller.takeOutgoing((connection, response) =>
      harness.told.push([connection, response]),
    )
    for (const [connection, response] of harness.told.splice(0)) {
      if (connection === subscriber) this.#take(response)
    }
  }

  #take(response: ControllerResponse): void {
    if (response.type === 'metadataSnapshot') {
      this.image.load(response.records, response.endOffset)
      this.snapshots++
    } else if (response.type === 'metadataUpdate') {
      this.image.replayAll(response.baseOffset, response.records)
    }
  }
}

type Registrations = ReadonlyMap<number, PartitionRegistration>

function registrationsOf({ image }: ControllerHarness): Registrations {
  const found = new Map<number, PartitionRegistration>()
  image.forEachPartition((registration) => found.set(registration.index, registration))
  return found
}

describe.each([
  ['with eligible leader replicas', true],
  ['without', false],
])('%s, whatever is asked', (_, keepsEligible) => {
  it('invariants hold; log, snapshots and subscribers tell the same', () => {
    const reached = {
      changes: 0,
      leaderless: 0,
      unclean: 0,
      eligible: 0,
      moves: 0,
      clean: 0,
      told: 0,
    }
    fc.assert(
      fc.property(fc.array(command, { minLength: 5, maxLength: 60 }), (commands) => {
        const run = new CommandRun(keepsEligible)
        const { harness } = run
        harness.log.snapshotRecordsMax = 25
        const follower = new Follower(harness)
        const committed = new CommittedModel(run)
        harness.createTopic(
          'a',
          [
            [1, 2, 3],
            [2, 3, 1],
          ],
          { 'min.insync.replicas': '2' },
        )
        harness.createTopic(
          'b',
          [
            [2, 3],
            [4, 1],
          ],
          { 'unclean.leader.election.enable': 'true' },
        )
        let before = registrationsOf(harness)
        for (const each of commands) {
          run.do(each)
          if (each.kind === 'restart') follower.subscribe(harness)
          follower.catchUp(harness)
          expect(contentsOf(follower.image)).toEqual(contentsOf(harness.image))
          const after = registrationsOf(harness)
          for (const registration of after.values()) {
            const fault = faultOf(registration, run, keepsEligible)
            if (fault !== undefined) throw new Error(`${fault}: ${JSON.stringify(registration)}`)
            count(reached, registration)
          }
          reached.changes += checkEpochs(before, after)
          const told = uncleanTold(harness)
          expect(told).toBe(uncleanElections(before, after))
          reached.told += told
          if (keepsEligible) reached.clean += committed.check(before, after)
          before = after
        }
        const late = new Follower(harness)
        late.catchUp(harness)
        expect(contentsOf(late.image)).toEqual(contentsOf(harness.image))
        const live = contentsOf(harness.image)
        harness.restart()
        expect(contentsOf(harness.image)).toEqual(live)
      }),
      { numRuns: 150 },
    )
    // Otherwise the commands would show nothing.
    expect(reached.changes).toBeGreaterThan(200)
    expect(reached.leaderless).toBeGreaterThan(0)
    expect(reached.unclean).toBeGreaterThan(0)
    expect(reached.moves).toBeGreaterThan(0)
    expect(reached.told).toBeGreaterThan(0)
    expect(reached.eligible > 0).toBe(keepsEligible)
    expect(reached.clean > 20).toBe(keepsEligible)
  })
})

function count(
  reached: { leaderless: number; unclean: number; eligible: number; moves: number },
  registration: PartitionRegistration,
): void {
  if (registration.leader === leaderNone) reached.leaderless++
  if (registration.leaderRecoveryState === 'recovering') reached.unclean++
  if (registration.eligibleLeaderReplicas.length > 0) reached.eligible++
  if (registration.addingReplicas.length > 0) reached.moves++
}

/**
 * Who has all that is committed: whoever is in sync when the high watermark moves, and joins later;
 * not who lost what it hadn't flushed. A clean election must choose among them.
 */
class CommittedModel {
  readonly #run: CommandRun
  readonly #whole = new Map<number, Set<number>>()

  constructor(run: CommandRun) {
    this.#run = run
  }

  /** @returns how many clean elections it has judged */
  check(before: Registrations, after: Registrations): number {
    const { uncleanBroker, advanced, isProposal } = this.#run
    for (const whole of this.#whole.values()) whole.delete(uncleanBroker)
    let elections = 0
    for (const [index, is] of after) {
      const was = before.get(index)
      // The very first command may already shrink: who was in sync before it has all.
      const whole = this.#whole.get(index) ?? new Set((was ?? is).inSyncReplicas)
      this.#whole.set(index, whole)
      // A leader vouches for whom it proposes, even if that ends a move and so its leadership.
      if (isProposal) for (const member of is.inSyncReplicas) whole.add(member)
      if (was !== undefined && is.leader !== was.leader && is.leader !== leaderNone) {
        const isUnclean = is.leaderRecoveryState === 'recovering'
        if (isUnclean) whole.clear()
        else {
          elections++
          if (!whole.has(is.leader)) {
            throw new Error(
              `${JSON.stringify(was)} elected ${JSON.stringify(is)}, whole: ${[...whole]}`,
            )
          }
        }
      }
      // Whoever is taken in has all that its leader has.
      if (is.leader !== leaderNone) for (const member of is.inSyncReplicas) whole.add(member)
      if (advanced?.index === index) this.#whole.set(index, new Set(is.inSyncReplicas))
    }
    return elections
  }
}

/** The named invariants of one partition. */
function faultOf(
  registration: PartitionRegistration,
  run: CommandRun,
  keepsEligible: boolean,
): string | undefined {
  const { replicas, inSyncReplicas: isr, eligibleLeaderReplicas: elr, leader } = registration
  const { image } = run.harness
  const { addingReplicas, removingReplicas, lastKnownLeader } = registration
  if (new Set([...isr, ...elr]).size !== isr.length + elr.length) return 'a broker stands twice'
  const named = [...isr, ...elr, ...addingReplicas, ...removingReplicas]
  if (!named.every((member) => replicas.includes(member))) return 'a stranger'
  if (elr.length > 0 && isr.length >= run.minInSync(registration)) return 'eligible beside enough'
  if (isr.length === 0 && !keepsEligible) return 'the ISR is empty'
  if (leader === leaderNone) {
    const couldLead = (isr.length > 0 ? isr : elr).some((member) => image.isActive(member))
    if (couldLead) return 'somebody could lead'
    const allowed = image.topicConfig(registration.topic, 'unclean.leader.election.enable')
    const isThere = replicas.some((member) => image.isActive(member))
    return allowed === 'true' && isThere ? 'somebody could lead uncleanly' : undefined
  }
  if (!isr.includes(leader)) return 'the leader is not in sync'
  if (lastKnownLeader.length > 0) return 'a last leader beside a leader'
  // Whoever may not lead was fenced or is leaving, and left the ISR by that.
  if (!isr.every((member) => image.isActive(member))) return 'somebody in sync is not active'
  const isRecovering = registration.leaderRecoveryState === 'recovering'
  return isRecovering && isr.length > 1 ? 'recovering, and not alone' : undefined
}

/** What the events since the last call say: of that the metric is made. */
function uncleanTold(harness: ControllerHarness): number {
  return harness.controller
    .takeEvents()
    .reduce((sum, { kind, detail }) => sum + (kind === 'elected' ? (detail.unclean ?? 0) : 0), 0)
}

/** Leaders that nobody vouched for: whoever was neither in sync nor eligible. */
function uncleanElections(before: Registrations, after: Registrations): number {
  let count = 0
  for (const [index, { leader }] of after) {
    const was = before.get(index)
    if (was === undefined || leader === leaderNone || leader === was.leader) continue
    if (![...was.inSyncReplicas, ...was.eligibleLeaderReplicas].includes(leader)) count++
  }
  return count
}

function checkEpochs(before: Registrations, after: Registrations): number {
  let changes = 0
  for (const [index, was] of before) {
    const is = after.get(index)
    if (is === undefined || was === is) continue
    changes++
    const isDropped = was.replicas.some((replica) => !is.replicas.includes(replica))
    const mustRise = is.leader !== was.leader || isDropped
    // A restart makes equal registrations anew.
    const grow =
      is.partitionEpoch >= was.partitionEpoch &&
      is.leaderEpoch >= was.leaderEpoch &&
      is.leaderEpoch - was.leaderEpoch <= is.partitionEpoch - was.partitionEpoch &&
      (!mustRise || is.leaderEpoch > was.leaderEpoch)
    if (!grow) throw new Error(`epochs: ${JSON.stringify(was)} became ${JSON.stringify(is)}`)
  }
  return changes
}
