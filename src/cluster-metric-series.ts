/** Series of a prom-client registry whose values are worked out when they are scraped. */
import { Counter, Gauge, type Registry } from 'prom-client'

type Labels = Record<string, string | number>
type Setter = (labels: Labels, value: number) => void

/** Its values are set anew at each scrape, so that a series that is over goes away. */
export function gauge(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly string[],
  collect: (set: Setter) => void | Promise<void>,
): void {
  new Gauge({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      this.reset()
      return collect((labels, value) => this.set(labels, value))
    },
  })
}

/** Counted elsewhere: its value is what stands there. */
export function counter(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly string[],
  collect: (set: Setter) => void,
): void {
  new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      this.reset()
      collect((labels, value) => this.inc(labels, value))
    },
  })
}
