/** For code that runs outside of the test runner too. */
export function expectEqual(what: string, found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`${what}: ${found}, expected ${expected}`)
}
