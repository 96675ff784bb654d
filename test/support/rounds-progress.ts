/** Runs many rounds of a random test and tells how it goes. */

const tellEveryMs = 5_000
const failuresShownMax = 5

/** Exit code 1 if any round fails; the first failures are printed whole. */
export async function runRounds(
  what: string,
  count: number,
  round: (index: number) => void | Promise<void>,
): Promise<void> {
  const startedMs = performance.now()
  let toldMs = startedMs
  let failures = 0
  for (let index = 0; index < count; index += 1) {
    try {
      await round(index)
    } catch (error) {
      failures += 1
      if (failures <= failuresShownMax) {
        process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
      }
    }
    const nowMs = performance.now()
    if (nowMs - toldMs < tellEveryMs) continue
    toldMs = nowMs
    process.stderr.write(`${index + 1} of ${count} ${what}, ${failures} failed\n`)
  }
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1)
  process.stdout.write(`${count} ${what} in ${seconds} s, ${failures} failed\n`)
  if (failures > 0) process.exitCode = 1
}
