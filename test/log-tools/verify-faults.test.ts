/** One damage at a time to a small directory: what is said, and about which place. */
import path from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { TidemarkError } from '../../src/errors.ts'
import { batchField } from '../../src/log/batch-layout.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { crc32c } from '../../src/log/crc32c.ts'
import { verifyDirectories } from '../../src/log-tools/verify-directories.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { writeBroker } from './broker-directory.ts'
import { MemoryFiles } from './memory-files.ts'

const first = '00000000000000000000'
const second = '00000000000000000006'
const third = '00000000000000000019'
let directory: string
let files: MemoryFiles

beforeEach(() => {
  directory = temporaryDirectory()
  writeBroker({ directory })
  files = new MemoryFiles(directory)
})

function inside(...names: string[]): string {
  return path.join(directory, ...names)
}

function write(name: string, text: string): void {
  files.replace(inside(name), Buffer.from(text))
}

/** The faults as `FILE CHECK @offset/position: expected E, found F`. */
function faults(options: { allowGaps?: boolean } = {}): string[] {
  return verifyDirectories([directory], { fs: files.fs, ...options }).faults.map((fault) => {
    const { file, check, offset, position, expected, found } = fault
    const text = `expected ${expected}, found ${found}`.replaceAll(`${directory}/`, '')
    return `${path.relative(directory, file)} ${check} @${offset}/${position}: ${text}`
  })
}

describe('segments', () => {
  it('that are cut within a batch', () => {
    const file = inside('t-1', `${third}.log`)
    files.replace(file, files.bytes(file).slice(0, -5))
    expect(faults()).toEqual([
      `t-1/${third}.log batch @19/0: expected a whole batch, or the end of the file, 69 bytes before it, found a batch that is longer than the rest of the file`,
    ])
  })

  it('with bytes that are no batch at their end', () => {
    const file = inside('t-1', `${third}.log`)
    files.replace(file, Buffer.concat([files.bytes(file), Buffer.alloc(20)]))
    expect(faults()[0]).toContain(`t-1/${third}.log batch @20/74:`)
    files.replace(file, Buffer.concat([files.bytes(file), Buffer.alloc(80, 9)]))
    expect(faults()).toHaveLength(1)
  })

  it('that are missing between others', () => {
    for (const suffix of ['.log', '.index', '.timeindex']) {
      files.replace(inside('t-1', second + suffix), undefined)
    }
    expect(faults()).toEqual([
      `t-1/${third}.log offset-order @null/null: expected a segment that begins at 6, where the one before ends, found base offset 19`,
    ])
    expect(faults({ allowGaps: true })).toEqual([])
  })

  it('that overlap', () => {
    const name = '00000000000000000003'
    for (const suffix of ['.log', '.index', '.timeindex']) {
      files.replace(inside('t-1', name + suffix), files.bytes(inside('t-1', second + suffix)))
      files.replace(inside('t-1', second + suffix), undefined)
    }
    const text = faults({ allowGaps: true })
    expect(text[0]).toBe(
      `t-1/${name}.log offset-order @null/null: expected a segment that begins at 6, where the one before ends, found base offset 3`,
    )
  })

  it('with a header that is none are read on where the index says they go on', () => {
    const file = inside('t-1', `${first}.log`)
    // Magic of the second batch, and a byte within the third one's records.
    files.bytes(file)[74 + 16] = 77
    files.bytes(file)[250] ^= 4
    expect(faults().map((fault) => fault.replace(/: .*/, ''))).toEqual([
      `t-1/${first}.log batch @1/74`,
      `t-1/${first}.log batch @4/174`,
    ])
  })

  it('that cannot be read cost one typed error that names the file', () => {
    const refuse = () => {
      throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' })
    }
    const judge = (fs: Partial<typeof files.fs>) => () =>
      verifyDirectories([directory], { fs: { ...files.fs, ...fs } })
    const message = (file: string) => new RegExp(`cannot (read|list) .*${file}: EACCES`)
    expect(judge({ open: refuse })).toThrow(message(`t-0/${first}.log`))
    expect(judge({ read: refuse })).toThrow(message(`t-0/${first}.log`))
    expect(judge({ readFile: refuse })).toThrow(message('checkpoint'))
    expect(judge({ list: refuse })).toThrow(TidemarkError)
  })

  it('whose indexes are all that is left', () => {
    files.replace(inside('t-1', `${third}.log`), undefined)
    files.replace(inside('t-1', `${third}.index`), new Uint8Array())
    expect(faults()).toContain(
      `t-1/${third}.index segment @null/null: expected a segment ${third}.log beside it, found none`,
    )
  })

  it('may lack their indexes, which can be made anew', () => {
    files.replace(inside('t-1', `${first}.index`), undefined)
    files.replace(inside('t-1', `${first}.timeindex`), undefined)
    expect(faults()).toEqual([])
  })
})

describe('batches whose CRC is right', () => {
  /** Changes the first batch of `t-1` as a writer with a fault of its own would. */
  function rewrite(change: (view: DataView) => void): void {
    const { buffer } = files.bytes(inside('t-1', `${first}.log`))
    const { view, bytes } = batchMemory(buffer as ArrayBuffer)
    change(view)
    const end = view.getInt32(batchField.length) + 12
    view.setUint32(batchField.crc, crc32c(bytes, batchField.attributes, end))
  }

  it('state a max timestamp that no record has', () => {
    rewrite((view) => view.setUint32(batchField.maxTimestamp + 4, 1_001))
    expect(faults()).toEqual([
      `t-1/${first}.log record @0/0: expected max timestamp 1001 ms as stated, found a newest record of 1000 ms`,
    ])
  })

  it('state more records than they have', () => {
    rewrite((view) => view.setInt32(batchField.recordCount, 2))
    const [fault] = faults()
    expect(fault).toContain(`t-1/${first}.log batch @0/0: expected as many records as`)
  })

  it('have records that are none', () => {
    rewrite((view) => view.setInt8(batchField.records, 3))
    expect(faults()[0]).toMatch(
      new RegExp(
        `^t-1/${first}.log record @0/0: expected a whole record, found record bytes at 62`,
      ),
    )
  })
})

describe('indexes', () => {
  it('with half an entry', () => {
    const file = inside('t-1', `${first}.index`)
    files.replace(file, files.bytes(file).slice(0, -3))
    expect(faults()).toEqual([
      `t-1/${first}.index offset-index @null/8: expected entries of 8 bytes each, found 5 bytes`,
    ])
  })

  it('may end with the zeros of a file that was made larger beforehand', () => {
    for (const [suffix, bytes] of [
      ['.index', 80],
      ['.timeindex', 120],
    ] as const) {
      const file = inside('t-1', first + suffix)
      files.replace(file, Buffer.concat([files.bytes(file), Buffer.alloc(bytes)]))
    }
    expect(faults()).toEqual([])
  })

  it('whose entries stand in another order', () => {
    const file = inside('t-1', `${first}.index`)
    const bytes = files.bytes(file)
    files.replace(file, Buffer.concat([bytes.slice(8), bytes.slice(0, 8)]))
    expect(faults()).toEqual([
      expect.stringContaining(
        `t-1/${first}.index offset-index @3/8: expected offsets and positions`,
      ),
    ])
  })

  it('that point at no batch, and beyond the file', () => {
    const file = inside('t-1', `${first}.index`)
    const view = new DataView(files.bytes(file).buffer)
    view.setInt32(4, view.getInt32(4) + 1)
    view.setInt32(12, 1_000_000)
    expect(faults()).toEqual([
      `t-1/${first}.index offset-index @3/0: expected the position of a batch, found offset 3 at position 75`,
      `t-1/${first}.index offset-index @5/8: expected the position of a batch, found offset 5 at position 1000000`,
    ])
  })

  it('without the newest time of a segment that is done', () => {
    const file = inside('t-1', `${first}.timeindex`)
    files.replace(file, files.bytes(file).slice(0, 12))
    expect(faults()).toEqual([
      `t-1/${first}.timeindex time-index @null/0: expected a last entry for the newest timestamp, 1020 ms, found 1010 ms`,
    ])
    const last = inside('t-1', `${third}.timeindex`)
    files.replace(last, new Uint8Array(0))
    expect(faults()).toHaveLength(2)
    // After a crash the newest segment's index may be behind.
    files.replace(inside('.kafka_cleanshutdown'), undefined)
    expect(faults()).toHaveLength(1)
  })
})

describe('leader epochs', () => {
  it.each([
    ['0\n1\n0 0\n', /t-1\/0{18}06.log leader-epoch|t-1\/0{20}.log leader-epoch @4/],
    ['0\n4\n0 0\n2 4\n5 7\n9 21\n', /epoch-checkpoint @21\/16: expected an offset up to 20/],
    ['0\n3\n2 4\n5 7\n9 20\n', /epoch-checkpoint @0\/null: expected an entry for offsets 0 to 0/],
    [
      '0\n4\n0 0\n2 5\n5 7\n9 20\n',
      /epoch-checkpoint @5\/8: expected the first offset of a batch, as 4/,
    ],
    [
      '0\n4\n0 0\n5 4\n2 7\n9 20\n',
      /epoch-checkpoint @7\/12: expected epoch and offset above '5 4'/,
    ],
    [
      '0\n5\n0 0\n2 4\n5 7\n9 20\n',
      /epoch-checkpoint @null\/21: expected 5 entries as stated, found the end/,
    ],
    [
      '0\n3\n0 0\n2 4\n5 7\n9 20\n',
      /epoch-checkpoint @null\/16: expected 3 entries as stated, found "9 20"/,
    ],
    ['1\n0\n', /epoch-checkpoint @null\/0: expected version '0', found "1"/],
    [
      '0\n4\n0 0\n2 4\n5 x\n9 20\n',
      /epoch-checkpoint @null\/12: expected 'EPOCH OFFSET', found "5 x"/,
    ],
    ['0\n4\n0 0\n2 4\n5 7\n9 20', /epoch-checkpoint @null\/20: expected a line feed/],
  ])('of a history %j', (text, expected) => {
    write('t-1/leader-epoch-checkpoint', text)
    expect(faults()).toContainEqual(expect.stringMatching(expected))
    expect(faults().length).toBeLessThan(5)
  })

  it('without a history', () => {
    files.replace(inside('t-1', 'leader-epoch-checkpoint'), undefined)
    expect(faults()).toEqual([
      expect.stringContaining('expected an entry for offsets 0 to 0, written by leader epoch 0'),
    ])
  })

  it('of a log that begins elsewhere than its history', () => {
    write('t-0/leader-epoch-checkpoint', '0\n2\n2 4\n5 7\n')
    expect(faults()).toEqual([
      "t-0/leader-epoch-checkpoint epoch-checkpoint @4/4: expected offset 5 or above, where the log begins, found '2 4'",
    ])
  })
})

describe('offset checkpoints', () => {
  it.each([
    [
      'recovery-point',
      '0\n2\nt 0 20\nt 1 21\n',
      /@21\/11: expected an offset from 0 to 20, where the log ends, found 't 1 21'/,
    ],
    [
      'recovery-point',
      '0\n2\nt 0 20\nt 1 19\n',
      /@19\/11: expected offset 20, the log's end, as its broker was shut down cleanly/,
    ],
    ['recovery-point', '0\n1\nt 0 20\n', /@null\/null: expected an entry for t-1, as/],
    [
      'recovery-point',
      '0\n3\nt 0 20\nt 1 20\nt 0 20\n',
      /@20\/18: expected each partition once, found t-0 again/,
    ],
    [
      'replication',
      '0\n2\nt 0 4\nt 1 20\n',
      /@4\/4: expected offset 5 or above, where the log starts/,
    ],
    [
      'replication',
      '0\n2\nt 0 20\nt 1 1 20\n',
      /@null\/11: expected 'TOPIC PARTITION OFFSET', found "t 1 1 20"/,
    ],
    ['log-start', '0\n1\nt 0 30\n', /expected an offset from 0 to 20/],
  ])('%s %j', (name, text, expected) => {
    write(`${name}-offset-checkpoint`, text)
    expect(faults().filter((fault) => fault.startsWith(name))[0]).toMatch(expected)
  })

  it('may lag behind after a crash, and name partitions that are gone', () => {
    files.replace(inside('.kafka_cleanshutdown'), undefined)
    write('recovery-point-offset-checkpoint', '0\n2\nt 0 3\ngone 7 99\n')
    write('replication-offset-checkpoint', '0\n0\n')
    expect(faults()).toEqual([])
  })

  it('of the cleaner say where gaps may be', () => {
    const file = inside('t-1', `${first}.log`)
    files.replace(file, files.bytes(file).slice(0, 74))
    write('t-1/leader-epoch-checkpoint', '0\n3\n0 0\n5 7\n9 20\n')
    for (const suffix of ['.index', '.timeindex']) {
      files.replace(inside('t-1', first + suffix), undefined)
    }
    const gap = [expect.stringContaining('expected a segment that begins at 1')]
    expect(faults().slice(0, 1)).toEqual(gap)
    write('cleaner-offset-checkpoint', '0\n1\nt 1 6\n')
    const left = faults().filter((fault) => !fault.includes('leader-epoch'))
    expect(left).toEqual([])
  })
})

describe('names', () => {
  it('of topics that differ between partitions', () => {
    write('t-1/partition.metadata', 'version: 0\ntopic_id: BBECAwQFBgcICQoLDA0ODw\n')
    expect(faults()).toEqual([
      expect.stringMatching(/^t-1\/partition.metadata meta-file .*expected topic id AAECAwQF/),
    ])
  })

  it.each([
    ['t-1/partition.metadata', 'version: 0\ntopic_id: not an id\n'],
    ['t-1/partition.metadata', ''],
    ['meta.properties', 'version=1\nnode.id=1\n'],
    ['meta.properties', 'version=2\nnode.id=1\ncluster.id=x\n'],
  ])('that cannot be read: %s %j', (file, text) => {
    write(file, text)
    expect(faults()).toEqual([expect.stringContaining(`${file} meta-file @null/null: expected`)])
  })
})
