/** Entry of a load generator's worker thread: paces a LoadGenerator by its own clock, never by the event loop. */
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../clock.ts'
import { batchOverheadBytes } from '../log/batch-layout.ts'
import { RingProducer } from '../workers/ring-producer.ts'
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
    totalBytesMax: workload.totalBytesMax,
  })

  Atomics.store(control, 1, loadState.ready)
  Atomics.notify(control, 1)
  Atomics.wait(control, 0, loadControl.hold)
  generator.start()
  for (;;) {
    const bell = producer.doorbell.read()
    const command = Atomics.load(control, 0)
    let work = generator.poll()
    if (command === loadControl.run && generator.failure === undefined) work += generator.send()
    else if (generator.outstanding === 0 || command === loadControl.abandon) break
    if (generator.isFinished && generator.outstanding === 0) break
    if (work > 0) continue
    producer.doorbell.park(bell, generator.idleMs())
  }
  parentPort!.postMessage({ type: 'finished', failure: generator.failure })
  Atomics.store(control, 1, loadState.finished)
}

function scheduleOf({ workload, input }: LoadThreadData) {
  if (workload.bytesPerSec === undefined) return undefined
  if (workload.replayTimeScale !== undefined && input?.timestampsMs !== undefined) {
    return new RecordedSchedule(input.timestampsMs, workload.replayTimeScale)
  }
  return new ConstantSchedule(workload.bytesPerSec / workload.payloadBytesPerBatch)
}

run(workerData as LoadThreadData)
