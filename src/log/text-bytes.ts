/** Text as UTF-8 in bytes that somebody else owns. Short ASCII, the common key, goes by a loop. */

/** Below this a loop is quicker than a call. */
const loopCharactersMax = 24

/** Bytes that the text takes. */
export function utf8Length(text: string): number {
  const { length } = text
  if (length > loopCharactersMax) return Buffer.byteLength(text)
  for (let at = 0; at < length; at += 1) {
    if (text.charCodeAt(at) >= 0x80) return Buffer.byteLength(text)
  }
  return length
}

/** Writes a text that takes `length` bytes. */
export function putText(target: Buffer, position: number, text: string, length: number): void {
  if (length !== text.length) {
    target.write(text, position, length, 'utf8')
  } else if (length > loopCharactersMax) {
    target.write(text, position, length, 'latin1')
  } else {
    for (let at = 0; at < length; at += 1) target[position + at] = text.charCodeAt(at)
  }
}
