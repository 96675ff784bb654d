/** Series of a prom-client registry whose values are worked out when they are scraped. */
import { createRequire } from 'node:module'
import type { Registry } from 'prom-client'

/** Loaded when somebody asks for metrics: it takes as long as a third of a cluster's start. */
function client(): typeof import('prom-client') {
  return createRequire(import.meta.url)('prom-client') as typeof import('prom-client')
}

type Labels = Record<string, string | number>
type Setter = (labels: Labels, value: number) => void

export function newRegistry(): Registry {
  return new (client().Registry)()
}

/** Its values are set anew at each scrape, so that a series that is over goes away. */
export function gauge(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly string[],
  collect: (set: Setter) => void | Promise<void>,
): void {
  const { Gauge } = client()
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
  const { Counter } = client()
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
