/**
 * What the rest of the app sees of tracing: a span begins, is told what came of it, and ends. Who listens is
 * decided at the door; with nobody listening a span only hands on the trace that it was given.
 */

export type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>

export interface SpanOptions {
  /** The trace it belongs to, as a row carries it. Null begins a new one; left out: whatever span runs here. */
  readonly parent?: string | null
  readonly kind?: 'server' | 'client' | 'producer' | 'internal'
  readonly attributes?: Attributes
  /** By `performance.now()`, for what began before anybody knew that it would be worth telling. */
  readonly startedMs?: number
  /** Work on many rows at once: useful to operators, noise in the trace of one conversation. */
  readonly batch?: boolean
}

export interface Span {
  /** To be carried on in rows and headers; null where there is no trace. */
  readonly traceparent: string | null
  set(attributes: Attributes): void
  fail(text: string): void
  end(): void
  /** Whatever is traced within `work` belongs under this span. */
  run<T>(work: () => T): T
}

export interface Tracer {
  /** Whether spans go anywhere; what only a span needs is not worth computing otherwise. */
  readonly on: boolean
  /** Whether texts of messages may be told. */
  readonly content: boolean
  start(name: string, options?: SpanOptions): Span
}

/** Exports nothing, but passes an incoming trace on to rows, logs and outgoing calls. */
class PassingSpan implements Span {
  readonly traceparent: string | null

  constructor(traceparent: string | null) {
    this.traceparent = traceparent
  }

  set(): void {}
  fail(): void {}
  end(): void {}

  run<T>(work: () => T): T {
    return work()
  }
}

export const NO_SPAN: Span = new PassingSpan(null)

export const UNTRACED: Tracer = {
  on: false,
  content: false,
  start: (_name, options) =>
    options?.parent === undefined || options.parent === null
      ? NO_SPAN
      : new PassingSpan(options.parent),
}
