import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { errorLine, exitCodeOfError, throwUsageErrors } from '../../src/cli/exit.ts'
import { defineCatchUpOptions, resolveCatchUpOptions } from '../../src/cli/options-catch-up.ts'
import type { CatchUpOptions } from '../../src/lab/result.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

function parse(args: string): CatchUpOptions {
  const command = defineCatchUpOptions(throwUsageErrors(new Command('catch-up')))
  command.parse(args.split(' '), { from: 'user' })
  return resolveCatchUpOptions(command.opts(), () => 42)
}

function refusal(args: string): string {
  try {
    parse(args)
  } catch (error) {
    expect(exitCodeOfError(error)).toBe(2)
    return errorLine(error)!.replace('tidemark: ', '')
  }
  throw new Error(`accepted: ${args}`)
}

function schedule(content: unknown): string {
  const file = path.join(temporaryDirectory(), 'faults.json')
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

describe('one fault', () => {
  it('wipes, isolates, slows a disk down or shifts a clock, with its details', () => {
    expect(parse('--fault wipe').faults).toMatchObject([{ kind: 'wipe', broker: 3, forMs: 5000 }])
    expect(parse('--fault isolate').faults[0]!.isolation).toEqual({
      from: 'both',
      direction: 'both',
    })
    const cut = parse('--fault isolate --isolate-from leader --isolate-direction incoming')
    expect(cut.faults[0]!.isolation).toEqual({ from: 'leader', direction: 'incoming' })
    expect(parse('--fault slow-disk').faults[0]!.disk).toEqual({ writeDelayMs: 50, bytesPerSec: 0 })
    const slow = parse('--fault slow-disk --disk-rate 5MB/s')
    expect(slow.faults[0]!.disk).toEqual({ writeDelayMs: 0, bytesPerSec: 5e6 })
    expect(parse('--fault clock --clock-offset=-2m').faults[0]!.clockOffsetMs).toBe(-120_000)
  })

  it('ends the controller, and studies a broker all the same', () => {
    expect(parse('--fault controller --outage 2s')).toMatchObject({
      fault: 'controller',
      follower: 3,
      outageMs: 2000,
      faults: [{ kind: 'controller', broker: 0, forMs: 2000 }],
    })
    expect(parse('--fault controller --follower 2').follower).toBe(2)
  })

  it('befalls the leader when asked to, with a session that ends soon', () => {
    const options = parse('--fault kill --follower leader')
    expect(options).toMatchObject({ follower: 1, sessionTimeoutMs: 3000 })
    expect(options.faults).toMatchObject([{ kind: 'kill', broker: 1 }])
    expect(parse('--fault isolate').sessionTimeoutMs).toBe(3000)
    expect(parse('--fault isolate --session-timeout 500ms').sessionTimeoutMs).toBe(500)
    expect(parse('--fault kill').sessionTimeoutMs).toBe(9000)
  })

  it.each([
    ['--fault wipe --disk-rate 1MB/s', '--disk-rate 1MB/s: only with --fault slow-disk'],
    ['--isolate-from leader', '--isolate-from leader: only with --fault isolate'],
    ['--clock-offset 1h', '--clock-offset 1h: only with --fault clock'],
    [
      '--fault isolate --isolate-from friends',
      '--isolate-from friends: must be controller, leader or both',
    ],
    [
      '--fault isolate --isolate-direction up',
      '--isolate-direction up: must be outgoing, incoming or both',
    ],
  ])('is refused: %s', (args, line) => {
    expect(refusal(args)).toBe(line)
  })
})

describe('a list of faults', () => {
  it('says when, what, to whom, and for how long unless --outage does', () => {
    const options = parse('--fault-at 3s:kill:2,4.5s:pause:3:1s --outage 2s')
    expect(options.faults).toMatchObject([
      { atMs: 3000, kind: 'kill', broker: 2, forMs: 2000 },
      { atMs: 4500, kind: 'pause', broker: 3, forMs: 1000 },
    ])
    // From the first beginning to the last end, and about the broker that comes first.
    expect(options).toMatchObject({ follower: 2, fault: 'kill', outageMs: 2500 })
    expect(parse('--fault-at 3s:kill:2 --follower 3').follower).toBe(3)
  })

  it('may end the controller, which is no broker', () => {
    const options = parse('--fault-at 1s:controller:2s,4s:controller,5s:kill:2:1s')
    expect(options.faults).toMatchObject([
      { atMs: 1000, kind: 'controller', broker: 0, forMs: 2000 },
      { atMs: 4000, kind: 'controller', broker: 0, forMs: 5000 },
      { atMs: 5000, kind: 'kill', broker: 2, forMs: 1000 },
    ])
    expect(options).toMatchObject({ follower: 3, fault: 'controller' })
    expect(parse('--fault-at 1s:controller --follower 2').follower).toBe(2)
  })

  it('may take out the leader, and gives details to every fault of their kind', () => {
    const options = parse('--fault-at 1s:kill:1:1s,4s:throttle:2 --throttle 1MB/s')
    expect(options).toMatchObject({ follower: 1, sessionTimeoutMs: 3000 })
    expect(options.faults.map(({ throttleBytesPerSec }) => throttleBytesPerSec)).toEqual([
      null,
      1e6,
    ])
  })

  it.each([
    ['3s:kill:1,4s:kill:2,5s:wipe:3', 'at 5000 ms all 3 brokers would be away: one must stay'],
    ['3s:kill:4', 'broker 4: allowed are 1 to 3'],
    ['3s:kill:2,4s:pause:2', 'broker 2: kill and pause overlap'],
    ['3s:isolate:2,4s:isolate:2', 'broker 2: isolate and isolate overlap'],
    ['3s:controller,4s:controller', 'the controller: controller and controller overlap'],
    ['3s:controller:2', 'must be a duration such as 250ms, 5s or 2m'],
    ['3s:controller:1s:2s', 'must be TIME:KIND:BROKER[:DURATION] such as 3s:kill:2'],
    ['3s:kill', 'must be TIME:KIND:BROKER[:DURATION] such as 3s:kill:2'],
    ['3s:melt:2', 'must be pause, kill, throttle, wipe, isolate, slow-disk, clock or controller'],
    ['soon:kill:2', 'must be a duration such as 250ms, 5s or 2m'],
    ['3s:kill:two', 'must be a whole number'],
  ])('is refused: %s', (list, why) => {
    const line = refusal(`--fault-at ${list}`)
    expect(line.startsWith('--fault-at ')).toBe(true)
    expect(line).toContain(why)
    expect(line).not.toContain('\n')
  })

  it('is not given together with one fault, or with a file', () => {
    expect(refusal('--fault kill --fault-at 3s:kill:2')).toBe(
      '--fault kill: not together with --fault-at',
    )
    expect(refusal('--fault-at 3s:kill:2 --schedule x.json')).toBe(
      '--fault-at 3s:kill:2: not together with --schedule',
    )
  })
})

describe('a schedule in a file', () => {
  it('gives each fault its own details', () => {
    const file = schedule([
      { at: '2s', fault: 'isolate', broker: 1, for: '1s', isolateFrom: 'controller' },
      { at: '2s', fault: 'slow-disk', broker: 1, for: '1s', diskDelay: '5ms' },
      { at: '4s', fault: 'throttle', broker: 2, throttle: '1MB/s' },
    ])
    expect(parse(`--schedule ${file}`).faults).toMatchObject([
      { kind: 'isolate', isolation: { from: 'controller', direction: 'both' } },
      { kind: 'slow-disk', disk: { writeDelayMs: 5, bytesPerSec: 0 } },
      { kind: 'throttle', throttleBytesPerSec: 1e6, forMs: 5000 },
    ])
  })

  it.each([
    ['not JSON', '{', 'must be a JSON file'],
    ['no list', {}, 'must be a list of faults'],
    ['empty', [], 'must hold one fault at least'],
    ['an unknown key', [{ at: '1s', fault: 'kill', broker: 1, of: 3 }], 'must be a list of faults'],
    ['an unknown kind', [{ at: '1s', fault: 'melt', broker: 1 }], 'at 0.fault'],
    ['no broker', [{ at: '1s', fault: 'kill' }], 'broker 0: allowed are 1 to 3'],
    ['a controller with one', [{ at: '1s', fault: 'controller', broker: 1 }], 'at 0.broker'],
    ['half a broker', [{ at: '1s', fault: 'kill', broker: 1.5 }], 'at 0.broker'],
  ])('is refused when it is %s', (_, content, why) => {
    const file = schedule(content)
    const line = refusal(`--schedule ${file}`)
    expect(line).toContain(`--schedule ${file}: `)
    expect(line).toContain(why)
    expect(line).not.toContain('\n')
  })

  it('is refused when there is no such file', () => {
    expect(refusal('--schedule no-such.json')).toContain('ENOENT')
  })
})
