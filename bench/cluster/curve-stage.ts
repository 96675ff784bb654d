/**
 * One size of the curve over partitions, in a process of its own, so that its memory can be told:
 *   curve-stage.js PARTITIONS ROUNDS ROUND-MS ROUND-BYTES
 * Prints the result of the throughput study as one line of JSON.
 */
import { studyThroughput } from '../../src/lab/throughput-study.ts'
import { throughputOptions } from './throughput.trial.ts'

const [partitions, rounds, roundMs, roundBytes] = process.argv.slice(2).map(Number)
const sizes = { partitions: partitions!, recordBytes: 1024, batchBytes: 16 * 1024 }
const options = {
  ...throughputOptions(sizes, null),
  limit: false,
  durationMs: rounds! * roundMs!,
  maxBytes: (rounds! + 1) * roundBytes!,
}
const progress = { phase() {}, status() {}, note() {} }
const plan = { pairs: rounds!, warmUpMs: 1_000, endToEnd: false }
const result = await studyThroughput(options, progress, new AbortController().signal, plan)
process.stdout.write(`${JSON.stringify(result)}\n`)
