/**
 * Every way Wakeful can refuse, as one table. Each door (HTTP, MCP, CLI, library) renders a `Refusal`
 * from its row; nothing else decides a status or a title. Messages are written so that a language
 * model can correct itself from them.
 */

export const ERRORS = {
  malformed: { status: 400, title: 'The request could not be read' },
  rule: { status: 400, title: 'A rule refuses this request' },
  unauthenticated: { status: 401, title: 'Credentials are missing or not valid' },
  forbidden: { status: 403, title: 'These credentials may not do this' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  conflict: { status: 409, title: 'The current state forbids this' },
  too_large: { status: 413, title: 'The request is too large' },
  media_type: { status: 415, title: 'Unsupported media type' },
  shape: { status: 422, title: 'The request has the wrong shape' },
  over_budget: { status: 429, title: 'A limit for runaway agents was reached' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  unavailable: { status: 503, title: 'Temporarily unavailable' },
} as const satisfies Record<string, { status: number; title: string }>

export type ErrorCode = keyof typeof ERRORS

/** A refusal with all its reasons. Thrown by operations, rendered by doors. */
export class Refusal extends Error {
  readonly code: ErrorCode
  readonly errors: readonly string[]
  readonly retryAfterMs: number | undefined

  constructor(
    code: ErrorCode,
    errors: string | readonly string[],
    options?: { retryAfterMs?: number; cause?: unknown },
  ) {
    const list = typeof errors === 'string' ? [errors] : [...errors]
    super(list.join('; '), options?.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'Refusal'
    this.code = code
    this.errors = list
    this.retryAfterMs = options?.retryAfterMs
  }

  /** Of HTTP, for who answers a request of their own with it. */
  get status(): number {
    return ERRORS[this.code].status
  }
}

/** Thrown by an agent or executor: this will never succeed, do not try again. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError'
}

/** Thrown by an agent or executor: try again, no sooner than `retryAfterMs`. */
export class RetryableError extends Error {
  override readonly name = 'RetryableError'
  readonly retryAfterMs: number | undefined

  constructor(options: { retryAfterMs?: number; message?: string; cause?: unknown } = {}) {
    super(
      options.message ?? 'try again later',
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.retryAfterMs = options.retryAfterMs
  }
}

/**
 * What somebody else's code has thrown, safe to read: whatever it is, `instanceof`, its message and its text can be asked for.
 * Getters and proxies may throw in turn, which would leave the failure unrecorded.
 */
export function readableError(thrown: unknown): unknown {
  try {
    const parts = thrown instanceof Error ? [thrown.message, thrown.name] : [String(thrown)]
    if (parts.every((part) => typeof part === 'string')) return thrown
    return new Error(parts.map(String).join(' '))
  } catch {
    return new Error(
      `threw ${typeof thrown === 'function' ? 'a function' : 'an object'} that cannot be read`,
    )
  }
}

/** The text of anything thrown, bounded, for `last_error` columns and logs. */
export function errorText(thrown: unknown, max = 2000): string {
  const error = readableError(thrown)
  const said = error instanceof Error ? error.message || error.name : String(error)
  // PostgreSQL cannot store a NUL, and an error that cannot be recorded would come back for ever.
  const text = said.replaceAll('\0', '\uFFFD')
  return text.length > max ? `${text.slice(0, max - 1)}…` : text
}
