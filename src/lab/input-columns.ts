/** Columns of numbers whose length is known only at the end, then shared between threads. */

const capacityMin = 1024

export class Int32Column {
  #values = new Int32Array(capacityMin)
  length = 0

  push(value: number): void {
    if (this.length === this.#values.length) {
      const grown = new Int32Array(this.length * 2)
      grown.set(this.#values)
      this.#values = grown
    }
    this.#values[this.length++] = value
  }

  /** What was pushed, in shared memory of its own. */
  share(): Int32Array {
    const shared = new Int32Array(new SharedArrayBuffer(this.length * Int32Array.BYTES_PER_ELEMENT))
    shared.set(this.#values.subarray(0, this.length))
    return shared
  }
}

export class Float64Column {
  #values = new Float64Array(capacityMin)
  length = 0

  push(value: number): void {
    if (this.length === this.#values.length) {
      const grown = new Float64Array(this.length * 2)
      grown.set(this.#values)
      this.#values = grown
    }
    this.#values[this.length++] = value
  }

  /** What was pushed, in shared memory of its own. */
  share(): Float64Array {
    const bytes = this.length * Float64Array.BYTES_PER_ELEMENT
    const shared = new Float64Array(new SharedArrayBuffer(bytes))
    shared.set(this.#values.subarray(0, this.length))
    return shared
  }
}

/** Records of one input at most: their places then take 256 MiB. */
export const inputRecordsMax = 16 * 1024 * 1024
