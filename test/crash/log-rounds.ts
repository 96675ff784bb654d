/** One seed's life of a log; a failure tells the seed and all that led to it. */
import { SeededRandom } from '../../src/lab/statistics-random.ts'
import { LogWorld } from './log-world.ts'

export function runLogSeed(seed: number): void {
  const world = new LogWorld(seed)
  try {
    world.start()
    const steps = 20 + new SeededRandom(seed, 2).nextBelow(60)
    for (let step = 0; step < steps; step += 1) world.step()
    world.finish()
  } catch (cause) {
    const trace = world.trace.slice(-60).join('\n  ')
    const why = cause instanceof Error ? cause.stack : String(cause)
    throw new Error(`seed ${seed}: ${why}\n  ${trace}`, { cause })
  }
}
