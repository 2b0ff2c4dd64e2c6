/** Where facts are pulled from. A source is asked by one process at a time; all intents share what it tells. */
import type { NewSignal } from './signal.ts'

export interface Source {
  /** Stays the same for as long as its settings do; under it its state is kept. */
  readonly key: string
  readonly kind: string
  readonly everyMs: number
  /** Where it asks, checked when the process starts; each call is checked again. */
  readonly address?: string
  /** How old the last whole answer may be for an unchanged one to do; for ever if not said. */
  readonly wholeEveryMs?: number
  /** Everything it knows now, told before or not; null when its server says that nothing has changed. */
  poll(visit: Visit): Promise<readonly NewSignal[] | null>
}

/** One poll of a source, and what it may use. */
export interface Visit {
  readonly now: Date
  /** Aborted when the lease is lost, the process stops, or it takes too long. */
  readonly signal: AbortSignal
  /** When each fact of the last whole answer was so; null before the first one. */
  readonly told: ReadonlyMap<string, Date> | null
  /** Asks only for what is new since last time; null when nothing is. For sources of one address. */
  getIfChanged(url: string, headers?: Readonly<Record<string, string>>): Promise<Got | null>
  get(url: string, headers?: Readonly<Record<string, string>>): Promise<Got>
  /** The tickers that somebody waits for; those whose price is oldest first. */
  tickers(limit: number): Promise<readonly string[]>
  /** Something is wrong, but not so that the rest would be lost. Shown with the source's state. */
  warn(text: string): void
}

export interface Got {
  readonly body: Buffer
  readonly contentType: string
}

/** Why a source could not be read; its text holds no secret. */
export class SourceError extends Error {
  override readonly name = 'SourceError'
  /** The HTTP status, where there was one. */
  readonly status: number | null

  constructor(message: string, status: number | null = null) {
    super(message)
    this.status = status
  }
}
