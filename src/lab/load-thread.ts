/**
 * Entry of a load generator's worker thread: paces a LoadGenerator by its own clock, never by the
 * event loop.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../clock.ts'
import { batchOverheadBytes } from '../log/batch-layout.ts'
import { RingProducer } from '../workers/ring-producer.ts'
import { restBeforeEnd } from '../workers/thread-end.ts'
import { InputSource, SyntheticSource } from './batch-source.ts'
import { LoadGenerator } from './load-generator.ts'
import { LoadLedger } from './load-ledger.ts'
import { type LoadThreadData, loadControl, loadState } from './load-thread-data.ts'
import { ConstantSchedule, RecordedSchedule } from './rate-schedule.ts'

/** Far more than one generator can send: numbers of two generators never meet. */
const recordNumbersPerGenerator = 2 ** 44

function run(data: LoadThreadData): void {
  const control = new Int32Array(data.control)
  const producer = new RingProducer(data.memory, data.slot)
  const ledger = new LoadLedger(data.ledger)
  const { workload } = data
  const first = data.generator * recordNumbersPerGenerator
  const source =
    data.input === undefined
      ? new SyntheticSource(workload.recordBytes, workload.batchBytes, workload.seed, first)
      : new InputSource(data.input, workload.batchBytes, data.generator * 7_919)
  const largest = data.input?.recordBytesLargest ?? workload.recordBytes
  const generator = new LoadGenerator({
    producer,
    partitions: data.partitions,
    source,
    ledger,
    clock: systemClock,
    schedule: scheduleOf(data),
    claimBytes: Math.max(workload.batchBytes, batchOverheadBytes + largest + 64),
    compression: workload.compression,
    acks: workload.acks === 'all' ? -1 : workload.acks,
    requestTimeoutMs: workload.requestTimeoutMs,
    inFlightBytesMax: workload.inFlightBytesMax,
    roundBytesMax: workload.roundBytesMax,
  })

  const setState = (state: number) => {
    Atomics.store(control, 1, state)
    Atomics.notify(control, 1)
  }
  for (;;) {
    setState(loadState.ready)
    waitWhile(control, loadControl.hold)
    if (Atomics.load(control, 0) !== loadControl.run) break
    generator.start()
    runRound(producer, generator, control)
    // What ended by itself waits until it is told that the round is over.
    if (generator.isFinished) {
      setState(loadState.spent)
      waitWhile(control, loadControl.run)
    }
    if (generator.failure !== undefined) break
  }
  parentPort!.postMessage({ type: 'finished', failure: generator.failure })
  setState(loadState.finished)
  restBeforeEnd()
}

/** A notification alone says nothing: the same command may have been given twice. */
function waitWhile(control: Int32Array, command: number): void {
  while (Atomics.load(control, 0) === command) Atomics.wait(control, 0, command)
}

/** Until the round has sent all it may or another command comes, and everything is answered. */
function runRound(producer: RingProducer, generator: LoadGenerator, control: Int32Array): void {
  for (;;) {
    const bell = producer.doorbell.read()
    const command = Atomics.load(control, 0)
    let work = generator.poll()
    const isSending = command === loadControl.run && generator.failure === undefined
    if (isSending && !generator.isFinished) work += generator.send()
    else if (generator.outstanding === 0 || command === loadControl.abandon) return
    // Where a disk is full nobody answers the rest.
    else if (generator.failure !== undefined) return
    if (work > 0) continue
    producer.doorbell.park(bell, generator.idleMs())
  }
}

function scheduleOf({ workload, input }: LoadThreadData) {
  if (workload.bytesPerSec === undefined) return undefined
  if (workload.replayTimeScale !== undefined && input?.timestampsMs !== undefined) {
    return new RecordedSchedule(input.timestampsMs, workload.replayTimeScale)
  }
  return new ConstantSchedule(workload.bytesPerSec / workload.payloadBytesPerBatch)
}

run(workerData as LoadThreadData)
