/**
 * Indexes of topics' partitions, by partition. Every record that is sent asks for its topic's, so
 * that a list is made once, and again only when partitions were added.
 */
import type { PartitionIndex } from '../ids.ts'
import type { TopicImage } from '../replication/controller/metadata-image.ts'

export class TopicIndexes {
  /** A topic's partitions keep their indexes, and its image, for as long as it lives. */
  readonly #lists = new WeakMap<TopicImage, readonly PartitionIndex[]>()

  of(topic: TopicImage | undefined): readonly PartitionIndex[] | undefined {
    if (topic === undefined) return undefined
    const { partitions } = topic
    const known = this.#lists.get(topic)
    if (known?.length === partitions.size) return known
    const list = Array.from(
      { length: partitions.size },
      (_, partition) => partitions.get(partition)!,
    )
    this.#lists.set(topic, list)
    return list
  }
}
