/** How a study tells whoever runs it where it is; the command line draws it. */
export interface StudyProgress {
  /** A phase begins; `expectedMs` null: nobody knows how long it takes. */
  phase(title: string, expectedMs: number | null): void
  /** What goes on within the phase; may be called often. */
  status(text: string): void
  /** A line that stays. */
  note(text: string): void
}
