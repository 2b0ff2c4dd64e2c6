/** Requests to the server that served this page. Whatever goes wrong comes out as a `Problem`. */

export class Problem extends Error {
  override readonly name = 'Problem'
  /** 0: the server did not answer at all. */
  readonly status: number
  readonly title: string
  readonly errors: readonly string[]

  constructor(status: number, title: string, errors: readonly string[]) {
    super(errors.join('; ') || title)
    this.status = status
    this.title = title
    this.errors = errors
  }
}

interface Sent {
  readonly method?: string
  readonly body?: unknown
  /** Whose it is to be, where the caller may act for others. */
  readonly actAs?: string | undefined
  /** To be tried, instead of the one this page shows. */
  readonly key?: string
  readonly signal?: AbortSignal
}

/** The key to show with each request, and whom to tell when the server does not take it. */
interface KeyHolder {
  shown(): string | null
  refused(): void
}
let holder: KeyHolder = { shown: () => null, refused: () => {} }

export function holdKey(by: KeyHolder): void {
  holder = by
}

let offsetMs = 0
/** The Date header has whole seconds only: smaller differences tell nothing. */
const SKEW_MIN_MS = 2_000

/** The server's time of day, so that countdowns are right on a machine whose clock is wrong. */
export function serverNow(): number {
  return Date.now() + offsetMs
}

function learnSkew(date: string | null): void {
  const skew = Date.parse(date ?? '') - Date.now()
  offsetMs = Math.abs(skew) >= SKEW_MIN_MS ? skew : 0
}

/** Paths are relative to the page, which keeps a proxy's prefix. */
export async function answerOf(path: string, sent: Sent = {}): Promise<Response> {
  const { method = 'GET', body, actAs, signal } = sent
  const key = sent.key ?? holder.shown()
  let answer: Response
  try {
    answer = await fetch(path, {
      method,
      ...(signal === undefined ? {} : { signal }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(actAs === undefined ? {} : { 'wakeful-act-as': actAs }),
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      },
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new Problem(0, 'The server does not answer', [])
  }
  learnSkew(answer.headers.get('date'))
  // Not when the key was changed meanwhile: the answer is about the one before.
  if (answer.status === 401 && key === holder.shown()) holder.refused()
  return answer
}

export async function request<T>(path: string, sent: Sent = {}): Promise<T> {
  const answer = await answerOf(path, sent)
  if (!answer.ok) throw await problemOf(answer)
  // Deleted: there is nothing to read.
  if (answer.status === 204) return undefined as T
  return (await answer.json()) as T
}

async function problemOf(answer: Response): Promise<Problem> {
  const title = `The server answered ${answer.status}`
  try {
    const body = (await answer.json()) as { title?: string; errors?: string[]; detail?: string }
    const errors = body.errors ?? (body.detail === undefined ? [] : [body.detail])
    return new Problem(answer.status, body.title ?? title, errors)
  } catch {
    return new Problem(answer.status, title, [])
  }
}
