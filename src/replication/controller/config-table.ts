/** Settings of topics and brokers, as the metadata log's records left them. */
import { type ConfigRecord, configResources } from './metadata-records.ts'

type Entries = ReadonlyMap<string, string>

const noEntries: Entries = new Map()
/** Name of the resource that holds the defaults of all. */
const defaultsName = ''

export class ConfigTable {
  readonly #configs = new Map<string, Map<string, string>>()

  of(resourceType: number, resourceName: string): Entries {
    return this.#configs.get(keyOf(resourceType, resourceName)) ?? noEntries
  }

  /** What a topic's own settings stand over. */
  get defaults(): Entries {
    return this.of(configResources.broker, defaultsName)
  }

  set({ resourceType, resourceName, name, value }: ConfigRecord): void {
    const key = keyOf(resourceType, resourceName)
    const config = this.#configs.get(key) ?? new Map<string, string>()
    if (value === null) config.delete(name)
    else config.set(name, value)
    if (config.size === 0) this.#configs.delete(key)
    else this.#configs.set(key, config)
  }

  removeTopic(topic: string): void {
    this.#configs.delete(keyOf(configResources.topic, topic))
  }

  /** What would make the same table, in order of resource and setting. */
  records(): ConfigRecord[] {
    const records: ConfigRecord[] = []
    for (const [key, config] of this.#configs) {
      const split = key.indexOf(':')
      const resourceType = Number(key.slice(0, split))
      const resourceName = key.slice(split + 1)
      for (const [name, value] of config) {
        records.push({ type: 'config', resourceType, resourceName, name, value })
      }
    }
    return records
  }

  clear(): void {
    this.#configs.clear()
  }
}

function keyOf(resourceType: number, resourceName: string): string {
  return `${resourceType}:${resourceName}`
}
