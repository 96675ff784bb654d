/**
 * 64-bit integers of the file format as plain numbers. Exact between -(2^53 - 1) and 2^53 - 1; what
 * lies outside comes out rounded, so a reader of untrusted bytes asks `isExactInt64` first.
 */
const twoTo32 = 4_294_967_296
const highWordExactMax = 0x1f_ffff

export function readInt64(view: DataView, position: number): number {
  return view.getInt32(position) * twoTo32 + view.getUint32(position + 4)
}

export function writeInt64(view: DataView, position: number, value: number): void {
  view.setInt32(position, Math.floor(value / twoTo32))
  view.setUint32(position + 4, value >>> 0)
}

/** Whether the integer there is one that a number holds exactly. */
export function isExactInt64(view: DataView, position: number): boolean {
  const high = view.getInt32(position)
  return high <= highWordExactMax && high >= -highWordExactMax
}
