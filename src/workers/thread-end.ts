/**
 * A thread's last act. V8 compiles a thread's hot functions in another one. Node.js 20 strikes an
 * ending thread off its list before that compiler is done, and aborts the whole process if the
 * compiler asks for a collection of the thread's heap in that moment. Who has run nothing hot for a
 * while has nothing left to compile.
 */

/** Longer than V8's optimizing compiler takes for any of our functions, unless starved. */
const compilerRestMs = 30

/** Blocks; to be called when nothing else is left to do. */
export function restBeforeEnd(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, compilerRestMs)
}
