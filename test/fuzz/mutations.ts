/** Ways to spoil bytes that were right. */
import type { SeededRandom } from '../../src/lab/statistics-random.ts'

const edgeBytes = [0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff] as const
const edgeNumbers = [-1, 0, 1, 2, 61, 0x7fff, 0x8000, 0x7fff_ffff, -0x8000_0000] as const
const randomBytesMax = 300

type Mutation = (bytes: Uint8Array, random: SeededRandom) => Uint8Array

/** One to four spoilings of `input`; now and then bytes of no origin at all. */
export function mutate(input: Uint8Array, random: SeededRandom): Uint8Array {
  if (random.nextBelow(20) === 0) return randomBytes(random, random.nextBelow(randomBytesMax))
  let bytes: Uint8Array = Uint8Array.from(input)
  for (let left = 1 + random.nextBelow(4); left > 0; left -= 1) {
    bytes = mutations[random.nextBelow(mutations.length)]!(bytes, random)
  }
  return bytes
}

export function randomBytes(random: SeededRandom, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  for (let at = 0; at < length; at += 1) bytes[at] = random.nextUint32()
  return bytes
}

const mutations: readonly Mutation[] = [
  flipBit,
  flipBit,
  setByte,
  setByte,
  setNumber,
  setNumber,
  cut,
  remove,
  repeat,
  overwrite,
  extend,
]

function flipBit(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  if (bytes.length > 0) bytes[random.nextBelow(bytes.length)]! ^= 1 << random.nextBelow(8)
  return bytes
}

function setByte(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  if (bytes.length === 0) return bytes
  const edge = edgeBytes[random.nextBelow(edgeBytes.length)]!
  bytes[random.nextBelow(bytes.length)] = random.nextBelow(2) === 0 ? edge : random.nextUint32()
  return bytes
}

/** A big-endian i32 or i64 that is one of the awkward ones, or near the size of the input. */
function setNumber(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  if (bytes.length < 8) return bytes
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const near = bytes.length - 70 + random.nextBelow(80)
  const edge = edgeNumbers[random.nextBelow(edgeNumbers.length)]!
  const value = random.nextBelow(3) === 0 ? near : edge
  if (random.nextBelow(3) === 0) {
    view.setBigInt64(random.nextBelow(bytes.length - 7), BigInt(value) << 24n)
  } else {
    view.setInt32(random.nextBelow(bytes.length - 3), value)
  }
  return bytes
}

function cut(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  return bytes.subarray(0, random.nextBelow(bytes.length + 1))
}

function remove(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  const [from, to] = range(bytes, random)
  return joined(bytes.subarray(0, from), bytes.subarray(to))
}

function repeat(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  const [from, to] = range(bytes, random)
  return joined(bytes.subarray(0, to), bytes.subarray(from))
}

function overwrite(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  const [from, to] = range(bytes, random)
  const noise = random.nextBelow(2) === 0
  if (noise) bytes.set(randomBytes(random, to - from), from)
  else bytes.fill(0, from, to)
  return bytes
}

function extend(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  return joined(bytes, randomBytes(random, 1 + random.nextBelow(40)))
}

function range(bytes: Uint8Array, random: SeededRandom): [number, number] {
  const from = random.nextBelow(bytes.length + 1)
  return [from, Math.min(bytes.length, from + random.nextBelow(24))]
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(first.length + second.length)
  bytes.set(first)
  bytes.set(second, first.length)
  return bytes
}
