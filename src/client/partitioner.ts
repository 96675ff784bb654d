/** Which partition a record goes to when its sender did not say. Kafka: `BuiltInPartitioner`. */

/**
 * Kafka's murmur2 over a key; the same key goes to the same partition as with Kafka's own producer.
 *
 * @returns 32 bits, signed
 */
export function murmur2(key: Uint8Array): number {
  const m = 0x5bd1e995
  let hash = 0x9747b28c ^ key.length
  const words = key.length >> 2
  for (let word = 0; word < words; word++) {
    const at = word << 2
    let k = key[at]! | (key[at + 1]! << 8) | (key[at + 2]! << 16) | (key[at + 3]! << 24)
    k = Math.imul(k, m)
    k ^= k >>> 24
    hash = Math.imul(hash, m) ^ Math.imul(k, m)
  }
  const at = words << 2
  const rest = key.length & 3
  if (rest === 3) hash ^= key[at + 2]! << 16
  if (rest >= 2) hash ^= key[at + 1]! << 8
  if (rest >= 1) hash = Math.imul(hash ^ key[at]!, m)
  hash ^= hash >>> 13
  hash = Math.imul(hash, m)
  return hash ^ (hash >>> 15)
}

/** @param partitions how many the topic has, at least 1 */
export function partitionForKey(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fff_ffff) % partitions
}
