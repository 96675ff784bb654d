/**
 * Payload bytes (keys, values, headers, compressed records) that this thread has copied in user
 * space. Everything in this folder that copies payload adds to it, so that "copied once" is a
 * number that a test can read. System calls are not counted.
 */
export const payloadCopies = { bytes: 0 }
