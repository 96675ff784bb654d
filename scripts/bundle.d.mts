/** Entries that threads load, below `src` and without ending. */
export const threadEntries: string[]
/** @param folder what the compiler made of `src` */
export function bundle(folder: string): Promise<void>
