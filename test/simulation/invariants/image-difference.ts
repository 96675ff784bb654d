/**
 * Invariant: what a cluster is described by equals what the controller's log replays to: the
 * controller's image, and every broker's that is as far.
 */
import { partitionIndex } from '../../../src/ids.ts'
import type { MetadataImage } from '../../../src/replication/controller/metadata-image.ts'

/** @returns the first difference of two images; undefined: they are the same */
export function imageDifference(left: MetadataImage, right: MetadataImage): string | undefined {
  if (left.endOffset !== right.endOffset) return `end ${left.endOffset} and ${right.endOffset}`
  const end = Math.max(left.partitionIndexesEnd, right.partitionIndexesEnd)
  for (let index = 0; index < end; index++) {
    const partition = partitionIndex(index)
    const difference = textDifference(left.partition(partition), right.partition(partition))
    if (difference !== undefined) return `partition #${index}: ${difference}`
  }
  return (
    textDifference(left.brokers().sort(byId), right.brokers().sort(byId)) ??
    textDifference(topicsOf(left), topicsOf(right))
  )
}

function byId(a: { readonly brokerId: number }, b: { readonly brokerId: number }): number {
  return a.brokerId - b.brokerId
}

function topicsOf(image: MetadataImage): unknown[] {
  return Array.from(image.topics(), ({ topicId, name, partitions }) => {
    return { topicId, name, partitions: [...partitions], config: [...image.config(2, name)] }
  }).sort((a, b) => (a.topicId < b.topicId ? -1 : 1))
}

function textDifference(left: unknown, right: unknown): string | undefined {
  const leftText = JSON.stringify(left)
  const rightText = JSON.stringify(right)
  return leftText === rightText ? undefined : `${leftText} and ${rightText}`
}
