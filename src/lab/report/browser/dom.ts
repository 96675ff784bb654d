/**
 * The little of the browser that the report's script touches. Declared here, so that the library's
 * own code can't reach for `document` by mistake.
 */

export interface Canvas {
  fillStyle: string
  strokeStyle: string
  lineWidth: number
  font: string
  textAlign: string
  textBaseline: string
  save(): void
  restore(): void
  beginPath(): void
  rect(x: number, y: number, width: number, height: number): void
  clip(): void
  fill(): void
  fillRect(x: number, y: number, width: number, height: number): void
  arc(x: number, y: number, radius: number, from: number, to: number): void
  moveTo(x: number, y: number): void
  lineTo(x: number, y: number): void
  stroke(): void
  setLineDash(dash: readonly number[]): void
  fillText(text: string, x: number, y: number): void
}

export interface Node {
  textContent: string | null
  hidden: boolean
  readonly clientWidth: number
  readonly dataset: Record<string, string | undefined>
  addEventListener(name: string, listener: (event: KeyEvent) => void): void
  setAttribute(name: string, value: string): void
  getAttribute(name: string): string | null
  querySelector(selector: string): Node | null
  querySelectorAll(selector: string): Iterable<Node>
}

export interface KeyEvent {
  readonly key: string
  readonly shiftKey: boolean
  preventDefault(): void
}

/** The part of uPlot's instance that is used. */
export interface Plot {
  readonly bbox: { readonly left: number; readonly top: number; width: number; height: number }
  readonly ctx: Canvas
  readonly data: readonly (readonly (number | null)[])[]
  readonly cursor: { readonly idx: number | null | undefined; readonly left?: number }
  readonly scales: Record<string, { readonly min?: number; readonly max?: number }>
  valToPos(value: number, scale: string, canvasPixels?: boolean): number
  setCursor(at: { readonly left: number; readonly top: number }): void
  setScale(scale: string, range: { readonly min: number; readonly max: number }): void
  setSeries(index: number, options: { readonly show: boolean }): void
  setSize(size: { readonly width: number; readonly height: number }): void
  redraw(rebuildPaths?: boolean, recalculateAxes?: boolean): void
}
