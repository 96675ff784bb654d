/** Small files of a log's and a broker's directory, and the records of the metadata log. */
import { readFileSync } from 'node:fs'
import { attributesAt, sizeInBytesAt } from '../../src/log/batch-header.ts'
import { attributeBit } from '../../src/log/batch-layout.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { baseOffsetOfName, segmentBases } from '../../src/log/file-names.ts'
import type { FileSystem } from '../../src/log/file-system.ts'
import { readLeaderEpochs } from '../../src/log/leader-epochs.ts'
import { LogDirectory } from '../../src/log/log-directory.ts'
import { readMetaProperties } from '../../src/log/meta-properties.ts'
import { readOffsetCheckpoint } from '../../src/log/offset-checkpoint.ts'
import { lookupOffsetIndex, OffsetIndex } from '../../src/log/offset-index.ts'
import { readTopicId } from '../../src/log/partition-metadata.ts'
import { readRecords } from '../../src/log/record-reader.ts'
import { TimeIndex } from '../../src/log/time-index.ts'
import { parsePartitionDirectoryName, topicNameFault } from '../../src/log/topic-name.ts'
import { CompactWriter } from '../../src/replication/controller/compact-writer.ts'
import {
  decodeMetadataRecord,
  encodeMetadataRecord,
} from '../../src/replication/controller/metadata-record-codec.ts'
import type { MetadataRecord } from '../../src/replication/controller/metadata-records.ts'
import { MemoryFileSystem } from '../support/memory-file-system.ts'
import type { FuzzTarget } from './fuzz-target.ts'

const MiB = 1024 * 1024
const segmentBytes = 10_000
const decoder = new TextDecoder()
const uuid = '000102030405060708090a0b0c0d0e0f'
/** A change of a partition and a registration of a broker, all tagged fields set. */
const fullRecords = [
  `01050200000001${uuid}09000502000000030104000000030205020000000303010104010105010106050200000002070101081102${uuid}`,
  `0100040000000201${uuid}00000001000000020202450268ffffffff0002026600010002000272010102001102${uuid}010101`,
]

export const fileTargets: readonly FuzzTarget[] = [
  {
    ...target('offset index', 8, offsetIndexInputs(), []),
    run(bytes, random) {
      const relativeOffset = random.nextBelow(2_000)
      if (lookupOffsetIndex(bytes, relativeOffset) < 0) throw new Error('a negative position')
      const index = new OffsetIndex()
      if (!index.load(bytes, segmentBytes)) return
      const position = index.lookup(relativeOffset)
      if (!(position >= 0 && position < segmentBytes)) throw new Error(`position ${position}`)
      if (index.encode(0).length > bytes.length) throw new Error('more entries than there were')
    },
  },
  {
    ...target('time index', 6, timeIndexInputs(), []),
    run(bytes) {
      const index = new TimeIndex()
      if (!index.load(bytes)) return
      if (index.encode(0).length > bytes.length) throw new Error('more entries than there were')
    },
  },
  {
    ...target('offset checkpoint', 6, texts('0\n0\n', '0\n2\na 0 17\nb.c-d 3 0\n'), [
      'CORRUPT_FILE',
    ]),
    run(bytes) {
      for (const offset of readOffsetCheckpoint(fileOf(bytes), 'file').values()) {
        assertOffset(offset)
      }
    },
  },
  {
    ...target('leader epochs', 6, texts('0\n0\n', '0\n3\n0 0\n1 5\n9 70\n'), ['CORRUPT_FILE']),
    run(bytes) {
      let before = { leaderEpoch: -1, startOffset: -1 }
      for (const entry of readLeaderEpochs('directory', fileOf(bytes))) {
        assertOffset(entry.startOffset)
        const ascends = entry.leaderEpoch > before.leaderEpoch
        if (!ascends || entry.startOffset < before.startOffset) throw new Error('goes back')
        before = entry
      }
    },
  },
  {
    ...target('meta.properties', 4, texts('#x\nversion=1\ncluster.id=c\nnode.id=1\n'), [
      'CORRUPT_FILE',
    ]),
    run(bytes) {
      const found = readMetaProperties(fileOf(bytes), 'file')
      if (found !== undefined && !Number.isSafeInteger(found.nodeId)) throw new Error('node id')
    },
  },
  {
    ...target('partition.metadata', 4, texts('version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw'), [
      'CORRUPT_FILE',
    ]),
    run: (bytes) => void readTopicId(fileOf(bytes), 'directory'),
  },
  {
    ...target('clean shutdown mark', 1, texts('{"version":0,"brokerEpoch":12}', 'null', ''), []),
    run(bytes) {
      const fs = new MemoryFileSystem()
      fs.makeDirectory('/b')
      const fd = fs.open('/b/.kafka_cleanshutdown', 'create')
      fs.write(fd, bytes, 0, bytes.length, 0)
      const broker = LogDirectory.open({ directory: '/b', clusterId: 'c', nodeId: 1, fs })
      if (!broker.cleanShutdown) throw new Error('the mark was there')
      if (!Number.isSafeInteger(broker.previousBrokerEpoch)) throw new Error('broker epoch')
    },
  },
  {
    ...target('file names', 4, texts('00000000000000000042.log', 'topic-name-7', 'a.b_c-0'), []),
    run(bytes) {
      const name = decoder.decode(bytes)
      const base = baseOffsetOfName(name, '.log')
      if (base !== undefined) assertOffset(base)
      if (segmentBases([name]).length !== (base === undefined ? 0 : 1)) throw new Error('bases')
      const found = parsePartitionDirectoryName(name)
      if (found !== undefined && topicNameFault(found.topic) !== undefined) throw new Error('topic')
    },
  },
  {
    ...target('metadata record', 12, metadataInputs(), ['CORRUPT_MESSAGE', 'UNSUPPORTED_VERSION']),
    run(bytes) {
      const record = decodeMetadataRecord(bytes)
      const again = decodeMetadataRecord(encoded(record))
      if (JSON.stringify(again) !== JSON.stringify(record)) throw new Error('another record')
    },
  },
]

function target(
  name: string,
  weight: number,
  inputs: readonly Uint8Array[],
  codes: FuzzTarget['codes'],
): Omit<FuzzTarget, 'run'> {
  return { name, weight, inputs, codes, bytesMax: MiB }
}

function texts(...inputs: readonly string[]): Uint8Array[] {
  return inputs.map((text) => Uint8Array.from(Buffer.from(text)))
}

/** A file system in which every file has these bytes. */
function fileOf(bytes: Uint8Array): FileSystem {
  return { readFile: () => bytes } as Partial<FileSystem> as FileSystem
}

function assertOffset(offset: number): void {
  if (!(Number.isSafeInteger(offset) && offset >= 0)) throw new Error(`offset ${offset}`)
}

function offsetIndexInputs(): Uint8Array[] {
  return [0, 1, 5, 100].map((count) => {
    const index = new OffsetIndex()
    for (let at = 1; at <= count; at += 1) index.append(at * 9, at * 90)
    return index.encode(0)
  })
}

function timeIndexInputs(): Uint8Array[] {
  return [0, 1, 5, 100].map((count) => {
    const index = new TimeIndex()
    for (let at = 1; at <= count; at += 1) index.maybeAppend(1_000 + at * 3, at * 9)
    return index.encode(0)
  })
}

function encoded(record: MetadataRecord): Uint8Array {
  const writer = new CompactWriter()
  encodeMetadataRecord(record, writer)
  return writer.written().slice()
}

/** What Apache Kafka wrote into a metadata log, and records with everything in them that may be. */
function metadataInputs(): Uint8Array[] {
  const log = readFileSync('test/fixtures/kafka-4.4/__cluster_metadata-0/00000000000000000000.log')
  const memory = batchMemory(log.buffer, log.byteOffset, log.byteLength)
  const values: Uint8Array[] = []
  for (let at = 0; at < log.length; at += sizeInBytesAt(memory, at)) {
    if ((attributesAt(memory, at) & attributeBit.control) !== 0) continue
    for (const { value } of readRecords(memory, at)) values.push(Uint8Array.from(value ?? []))
  }
  return [...values, ...fullRecords.map((hex) => Uint8Array.from(Buffer.from(hex, 'hex')))]
}
