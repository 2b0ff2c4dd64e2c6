/** An answer that was not a success, with the server's reasons; status 0 when there was no answer at all. */
export class WakefulError extends Error {
  override readonly name = 'WakefulError'
  readonly status: number
  readonly title: string
  readonly errors: readonly string[]
  readonly requestId: string | null
  /** How long the server asks to be left alone. */
  readonly retryAfterMs: number | null

  constructor(
    status: number,
    title: string,
    errors: readonly string[],
    more: { requestId?: string | null; retryAfterMs?: number | null; cause?: unknown } = {},
  ) {
    super(
      errors.length > 0 ? `${title}: ${errors.join('; ')}` : title,
      more.cause === undefined ? undefined : { cause: more.cause },
    )
    this.status = status
    this.title = title
    this.errors = errors
    this.requestId = more.requestId ?? null
    this.retryAfterMs = more.retryAfterMs ?? null
  }
}

const SECONDS_MAX = 86_400

/** Whatever was answered: a problem of ours, or the page of a proxy that knows nothing of problems. */
export function errorOf(status: number, text: string, headers: Headers): WakefulError {
  const { title, errors, request_id } = problemIn(text)
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return new WakefulError(
    status,
    typeof title === 'string' ? title : `The server answered ${status}`,
    Array.isArray(errors) ? errors.map(String) : [],
    {
      requestId: typeof request_id === 'string' ? request_id : headers.get('x-request-id'),
      retryAfterMs: seconds >= 0 && seconds <= SECONDS_MAX ? seconds * 1000 : null,
    },
  )
}

function problemIn(text: string): { title?: unknown; errors?: unknown; request_id?: unknown } {
  try {
    const read: unknown = JSON.parse(text)
    return typeof read === 'object' && read !== null ? read : {}
  } catch {
    return {}
  }
}
