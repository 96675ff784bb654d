/**
 * Memory for pages of index files: a thread keeps a bounded number of them for all its logs, and a
 * page that was not used for a while is given to another file (clock rule).
 */
import { limits } from '../limits.ts'

export const indexPageBytes = 4096

/** Who has pages, and is told when one is taken from it. */
export interface PageOwner {
  forget(number: number): void
}

export interface IndexPage {
  readonly bytes: Uint8Array
  readonly view: DataView
  owner: PageOwner | undefined
  /** Which of its owner's pages it is. */
  number: number
  /** Entries that were read. */
  entries: number
  /** Since the hand last came by. */
  isUsed: boolean
}

export class IndexPages {
  readonly #pages: IndexPage[] = []
  readonly #pagesMax: number
  #hand = 0

  constructor(bytesMax: number = limits.indexPagesPerThreadBytesMax) {
    this.#pagesMax = Math.max(1, Math.floor(bytesMax / indexPageBytes))
  }

  get sizeBytes(): number {
    return this.#pages.length * indexPageBytes
  }

  take(owner: PageOwner, number: number): IndexPage {
    const page = this.#pages.length < this.#pagesMax ? this.#add() : this.#reuse()
    page.owner = owner
    page.number = number
    page.entries = 0
    page.isUsed = true
    return page
  }

  #add(): IndexPage {
    const bytes = new Uint8Array(indexPageBytes)
    const view = new DataView(bytes.buffer)
    const page = { bytes, view, owner: undefined, number: 0, entries: 0, isUsed: false }
    this.#pages.push(page)
    return page
  }

  #reuse(): IndexPage {
    for (;;) {
      const page = this.#pages[this.#hand]
      this.#hand = (this.#hand + 1) % this.#pages.length
      if (!page.isUsed) {
        page.owner?.forget(page.number)
        return page
      }
      page.isUsed = false
    }
  }
}
