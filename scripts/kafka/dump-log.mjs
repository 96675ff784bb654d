/** Reads what Kafka's `kafka-dump-log` prints into plain objects. */
import { runTool } from './kafka-cluster.mjs'

/**
 * What Kafka says is in each of the `.log` files, or `.checkpoint` of metadata:
 * `{ file, batches: [{ baseOffset, …, records }] }`.
 * Index files may be among them; they yield no batches. What it complains about goes to
 * `complaints`. `show`: `batches` alone, `records` too (every batch decompressed), or `metadata`,
 * where the payloads of records are KRaft's, as JSON.
 */
export function dumpLogs(files, show = 'records') {
  const options = {
    batches: [],
    records: ['--deep-iteration', '--print-data-log'],
    metadata: ['--deep-iteration', '--cluster-metadata-decoder'],
  }
  const args = [...options[show], '--files', files.join(',')]
  // Mismatches between an index and its segment go to standard error, with exit code 0.
  return parseDump(runTool('dump-log', args, { withErrors: true }))
}

export function parseDump(text) {
  const dumps = []
  const complaints = []
  for (const line of text.split('\n')) {
    const dump = dumps.at(-1)
    if (line.startsWith('Dumping ')) {
      dumps.push({ file: line.slice('Dumping '.length), batches: [] })
    } else if (line.startsWith('baseOffset: ')) {
      dump.batches.push({ ...parseFields(line), records: [] })
    } else if (line.startsWith('| offset: ')) {
      dump.batches.at(-1).records.push(parseRecord(line.slice(2)))
    } else if (!isExpected(line)) {
      complaints.push(line)
    }
  }
  return { dumps, complaints: complaints.filter(isNotAboutSegmentStart) }
}

/**
 * The tool takes -1 for the offset before every segment and so calls each but the first
 * non-consecutive; it says so in two lines, unless more is wrong with the segment.
 */
function isNotAboutSegmentStart(line, index, lines) {
  const [head, tail] = /is followed by/.test(line)
    ? [lines[index - 1], line]
    : [line, lines[index + 1]]
  const base = /^Non-consecutive offsets in .*?(\d{20})\.log$/.exec(head ?? '')?.[1]
  return base === undefined || tail?.trim() !== `-1 is followed by ${Number(base)}`
}

function isExpected(line) {
  return (
    line === '' ||
    line.startsWith('Log starting offset: ') ||
    line.startsWith('Snapshot end offset: ') ||
    line.endsWith('index is empty.') ||
    /^offset: \d+ position: \d+ *$/.test(line) ||
    /^timestamp: -?\d+ offset: \d+ *$/.test(line)
  )
}

function parseFields(line) {
  const fields = {}
  for (const [, name, value] of line.matchAll(/(\w+): (\S+)/g)) fields[name] = parseValue(value)
  return fields
}

/** Key and payload may hold anything but a line break, spaces and colons included. */
function parseRecord(line) {
  const [, head, headers, tail] = /^(.*?) headerKeys: \[(.*?)\](.*)$/s.exec(line) ?? []
  if (head === undefined) return { ...parseFields(line), control: true }
  const { keySize, ...fields } = parseFields(head)
  const key = keySize < 0 ? null : tail.slice(' key: '.length).slice(0, keySize)
  const rest = keySize < 0 ? tail : tail.slice(' key: '.length + keySize)
  const payload = fields.valueSize < 0 ? null : rest.slice(' payload: '.length)
  return { ...fields, keySize, headerKeys: headers === '' ? [] : headers.split(','), key, payload }
}

function parseValue(text) {
  if (/^-?\d+$/.test(text)) return Number(text)
  if (text === 'true' || text === 'false') return text === 'true'
  return text
}
