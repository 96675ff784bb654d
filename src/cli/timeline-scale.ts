/**
 * Times to places on a picture. Quiet stretches, in which nothing happened for much longer than
 * usual, are cut short: else hours of quiet would leave no room for the seconds that matter.
 */

export interface ScaleBreak {
  /** Of its middle. */
  readonly x: number
  readonly fromMs: number
  readonly toMs: number
}

export interface ScaleTick {
  readonly x: number
  readonly atMs: number
}

export interface TimeScale {
  readonly x: (atMs: number) => number
  readonly breaks: readonly ScaleBreak[]
  readonly ticks: readonly ScaleTick[]
  /** Between ticks, ms. */
  readonly stepMs: number
}

interface Stretch {
  readonly fromMs: number
  readonly toMs: number
  readonly fromX: number
  readonly toX: number
}

const breakWidth = 30
const breaksMax = 12
const quietMsMin = 1_000
/** A gap is quiet when it is so many times the usual one. */
const quietFactor = 10
const tickWidth = 92

/** @param timesMs of everything that is shown; any order */
export function timeScale(timesMs: readonly number[], left: number, width: number): TimeScale {
  const times = [...new Set(timesMs)].sort((a, b) => a - b)
  const stretches = stretchesOf(times, left, width)
  const breaks = stretches.slice(1).map(({ fromMs, fromX }, at) => {
    return { x: fromX - breakWidth / 2, fromMs: stretches[at]!.toMs, toMs: fromMs }
  })
  const linear = stretches.reduce((sum, { fromX, toX }) => sum + toX - fromX, 0)
  const shownMs = stretches.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0)
  const stepMs = niceStepMs(linear > 0 ? (shownMs / linear) * tickWidth : 1_000)
  const x = (atMs: number) => place(stretches, atMs)
  return { x, breaks, stepMs, ticks: ticksOf(stretches, stepMs) }
}

function stretchesOf(times: readonly number[], left: number, width: number): Stretch[] {
  if (times.length === 0) return [{ fromMs: 0, toMs: 0, fromX: left, toX: left + width }]
  const quietMs = quietLimitMs(times)
  const bounds: [number, number][] = []
  let from = times[0]!
  for (let at = 1; at < times.length; at += 1) {
    if (times[at]! - times[at - 1]! <= quietMs) continue
    bounds.push([from, times[at - 1]!])
    from = times[at]!
  }
  bounds.push([from, times.at(-1)!])
  const room = width - (bounds.length - 1) * breakWidth
  const shownMs = bounds.reduce((sum, [fromMs, toMs]) => sum + toMs - fromMs, 0)
  let x = left
  return bounds.map(([fromMs, toMs]) => {
    const share = shownMs > 0 ? (toMs - fromMs) / shownMs : 1 / bounds.length
    const stretch = { fromMs, toMs, fromX: x, toX: x + share * room }
    x = stretch.toX + breakWidth
    return stretch
  })
}

function quietLimitMs(times: readonly number[]): number {
  const gaps = times.slice(1).map((time, at) => time - times[at]!)
  const usual = [...gaps].sort((a, b) => a - b)[gaps.length >> 1] ?? 0
  let limit = Math.max(quietMsMin, usual * quietFactor)
  while (gaps.filter((gap) => gap > limit).length > breaksMax) limit *= 2
  return limit
}

function place(stretches: readonly Stretch[], atMs: number): number {
  let before = stretches[0]!
  for (const stretch of stretches) {
    if (stretch.fromMs > atMs) break
    before = stretch
  }
  const { fromMs, toMs, fromX, toX } = before
  if (atMs <= fromMs) return fromX
  if (atMs >= toMs) return toX
  return fromX + ((atMs - fromMs) / (toMs - fromMs)) * (toX - fromX)
}

function niceStepMs(atLeastMs: number): number {
  const minute = 60_000
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000]
  const long = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440].map((each) => each * minute)
  const found = [...steps, ...long].find((step) => step >= atLeastMs)
  return found ?? Math.ceil(atLeastMs / (1_440 * minute)) * 1_440 * minute
}

function ticksOf(stretches: readonly Stretch[], stepMs: number): ScaleTick[] {
  const ticks: ScaleTick[] = []
  const add = (atMs: number) => {
    const x = place(stretches, atMs)
    const last = ticks.at(-1)
    if (last === undefined || x - last.x >= tickWidth * 0.8) ticks.push({ x, atMs })
  }
  for (const { fromMs, toMs } of stretches) {
    const first = Math.ceil(fromMs / stepMs) * stepMs
    // A stretch too short for a round time still says when it was.
    if (first > toMs) add(fromMs)
    for (let atMs = first; atMs <= toMs; atMs += stepMs) add(atMs)
  }
  return ticks
}
