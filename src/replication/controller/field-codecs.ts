/**
 * How each kind of field of the metadata records is written, read and sized (KIP-482's
 * primitives).
 */
import { invariant } from '../../invariant.ts'
import { type CompactReader, corrupt } from './compact-reader.ts'
import { type CompactWriter, unsignedVarintSizeBytes } from './compact-writer.ts'
import { uuidSizeBytes } from './uuid.ts'

export interface FieldCodec {
  write(writer: CompactWriter, value: unknown): void
  /** `what` names the field in the error of a value that cannot be. */
  read(reader: CompactReader, what: string): unknown
  /** Bytes that `write` takes: needed for tagged fields, whose size stands before them. */
  sizeBytes(value: unknown): number
}

function fixed<T>(
  sizeBytes: number,
  write: (writer: CompactWriter, value: T) => void,
  read: (reader: CompactReader, what: string) => T,
): FieldCodec {
  return { write: (writer, value) => write(writer, value as T), read, sizeBytes: () => sizeBytes }
}

const bool = fixed<boolean>(
  1,
  (writer, value) => writer.bool(value),
  (reader, what) => reader.bool(what),
)
const int8 = fixed<number>(
  1,
  (writer, value) => writer.int8(value),
  (reader, what) => reader.int8(what),
)
const int16 = fixed<number>(
  2,
  (writer, value) => writer.int16(value),
  (reader, what) => reader.int16(what),
)
const uint16 = fixed<number>(
  2,
  (writer, value) => writer.uint16(value),
  (reader, what) => reader.uint16(what),
)
const int32 = fixed<number>(
  4,
  (writer, value) => writer.int32(value),
  (reader, what) => reader.int32(what),
)
const int64 = fixed<number>(
  8,
  (writer, value) => writer.int64(value),
  (reader, what) => reader.int64(what),
)
const uuid = fixed<string>(
  uuidSizeBytes,
  (writer, value) => writer.uuid(value),
  (reader, what) => reader.uuid(what),
)

const nullableString: FieldCodec = {
  write: (writer, value) => writer.compactString(value as string | null),
  read: (reader, what) => reader.compactString(what),
  sizeBytes: (value) => {
    const sizeBytes = value === null ? 0 : Buffer.byteLength(value as string)
    return unsignedVarintSizeBytes(value === null ? 0 : sizeBytes + 1) + sizeBytes
  },
}

/** Count + 1 as a varint, then the elements; null is count 0. */
function nullableArray(element: FieldCodec): FieldCodec {
  const elementSizeBytes = element.sizeBytes(undefined)
  return {
    write: (writer, value) => {
      const elements = value as readonly unknown[] | null
      writer.unsignedVarint(elements === null ? 0 : elements.length + 1)
      if (elements !== null) for (const each of elements) element.write(writer, each)
    },
    read: (reader, what) => {
      const count = reader.arrayCount(what, elementSizeBytes)
      if (count < 0) return null
      const elements: unknown[] = []
      for (let i = 0; i < count; i++) elements.push(element.read(reader, what))
      return elements
    },
    sizeBytes: (value) => {
      if (value === null) return 1
      const { length } = value as readonly unknown[]
      return unsignedVarintSizeBytes(length + 1) + length * elementSizeBytes
    },
  }
}

function required(codec: FieldCodec): FieldCodec {
  return {
    write: (writer, value) => {
      invariant(value !== null, 'a field that may not be null is null')
      codec.write(writer, value)
    },
    read: (reader, what) => {
      const value = codec.read(reader, what)
      if (value === null) throw corrupt(`${what}: null is not allowed`)
      return value
    },
    sizeBytes: (value) => codec.sizeBytes(value),
  }
}

export const fieldCodecs = {
  bool,
  int8,
  int16,
  uint16,
  int32,
  int64,
  uuid,
  nullableString,
  string: required(nullableString),
  nullableInt32s: nullableArray(int32),
  int32s: required(nullableArray(int32)),
  nullableUuids: nullableArray(uuid),
  uuids: required(nullableArray(uuid)),
} as const satisfies Record<string, FieldCodec>

export type FieldCodecKind = keyof typeof fieldCodecs
