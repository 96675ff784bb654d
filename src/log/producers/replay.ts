/** Shows the batches of producers that stand in segments, from offset to offset, in order. */
import { limits } from '../../limits.ts'
import { baseOffsetAt, hasProducerIdAt, isControlAt, sizeInBytesAt } from '../batch-header.ts'
import { type BatchMemory, batchMemory } from '../batch-memory.ts'
import type { FileSystem } from '../file-system.ts'
import type { Segment } from '../segment.ts'
import { floorSegmentIndex } from '../segment-files.ts'
import { scanSegment } from '../segment-scan.ts'

/** Of a control batch all bytes lie in the memory, of others only the header for certain. */
export type ProducerBatchVisitor = (memory: BatchMemory, position: number) => void

/**
 * Headers alone are read, which is why control batches, whose record counts, are read once more.
 */
export function replayProducerBatches(
  fs: FileSystem,
  segments: readonly Segment[],
  fromOffset: number,
  endOffset: number,
  visit: ProducerBatchVisitor,
): void {
  const first = Math.max(0, floorSegmentIndex(segments, fromOffset))
  for (const segment of segments.slice(first)) {
    const { baseOffset, sizeBytes: endPosition } = segment
    if (baseOffset >= endOffset) return
    const startPosition = fromOffset <= baseOffset ? 0 : segment.positionOf(fromOffset)
    // Last, since a look into the index may cost an open file its place.
    const { fd } = segment
    const options = { startPosition, endPosition, verify: false }
    scanSegment(fs, fd, options, (memory, position, filePosition) => {
      if (baseOffsetAt(memory, position) >= endOffset) return false
      if (!hasProducerIdAt(memory, position)) return true
      if (!isControlAt(memory, position)) {
        visit(memory, position)
        return true
      }
      const whole = readControlBatch(fs, fd, filePosition, sizeInBytesAt(memory, position))
      if (whole !== undefined) visit(whole, 0)
      return true
    })
  }
}

/** undefined: far too large for what a control batch says. */
function readControlBatch(
  fs: FileSystem,
  fd: number,
  filePosition: number,
  bytes: number,
): BatchMemory | undefined {
  if (bytes > limits.controlBatchBytesMax) return undefined
  const memory = batchMemory(new ArrayBuffer(bytes))
  return fs.read(fd, memory.bytes, 0, bytes, filePosition) === bytes ? memory : undefined
}
