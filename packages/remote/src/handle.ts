/** Answers one call of Wakeful: verifies it, runs the agent and encodes the result. */
import { wallClock } from '../../../src/clock.ts'
import { verify } from './signature.ts'
import {
  type AgentFunction,
  agent as agentOf,
  type PostedTurn,
  type RemoteAgent,
  RemoteTurn,
} from './turn.ts'

/** State and history take at most 256 KiB each; payloads come on top. */
const BODY_BYTES_MAX = 4 * 1024 * 1024
const ERROR_MAX = 2_000
/** Errors that a retry cannot fix. */
const TERMINAL: ReadonlySet<string> = new Set([
  ...['TerminalError', 'Refusal', 'TypeError', 'RangeError', 'SyntaxError', 'ZodError'],
])
const WRONG = {
  wrong: 'the signature is not valid',
  late: 'it was signed more than five minutes ago, or ahead',
  replayed: 'this call was taken before',
} as const

export interface HandleOptions {
  /** `whsec_…`, as Wakeful showed it when the agent was registered; several while it is being changed. */
  readonly secret: string | readonly string[]
  /** For tests: what the time is. */
  readonly now?: () => Date
}

/**
 * Answers a call of Wakeful: 401 for one that is not signed, late or replayed; else what the agent wants. An error that cannot succeed when
 * it is tried again is 422, any other is 500, and Wakeful tries again.
 */
export async function handleTurn(
  request: Request,
  agent: RemoteAgent | AgentFunction,
  { secret, now = () => new Date(wallClock()) }: HandleOptions,
): Promise<Response> {
  if (request.method !== 'POST') return problem(405, 'takes POST', { allow: 'POST' })
  const secrets = typeof secret === 'string' ? [secret] : secret
  if (secrets.length === 0 || secrets.some((each) => !each))
    throw new TypeError('handleTurn: secret is missing')
  const body = await readBody(request)
  if (body === null) return problem(413, `takes at most ${BODY_BYTES_MAX} bytes`)
  const verdict = await verify(request.headers, body, secrets, now().getTime())
  if (verdict !== 'right') return problem(401, WRONG[verdict])
  const posted = turnIn(body)
  if (posted === null) return problem(422, 'the body is not a turn')
  return run(posted, typeof agent === 'function' ? agentOf(agent) : agent, request.signal, now())
}

async function run(
  posted: PostedTurn,
  { run: take }: RemoteAgent,
  left: AbortSignal,
  now: Date,
): Promise<Response> {
  const overMs = Math.max(0, new Date(posted.deadline).getTime() - now.getTime())
  const over = new AbortController()
  const timer = setTimeout(() => over.abort(new Error("the turn's time is up")), overMs)
  const turn = new RemoteTurn(posted, AbortSignal.any([left, over.signal]))
  try {
    await take(turn)
    const headers = { 'content-type': 'application/json' }
    return new Response(await RemoteTurn.finish(turn), { headers })
  } catch (error) {
    RemoteTurn.abandon(turn)
    return failure(error)
  } finally {
    clearTimeout(timer)
  }
}

function failure(error: unknown): Response {
  const { name, message, retryAfterMs } = (
    error instanceof Error ? error : new Error(String(error))
  ) as Error & { retryAfterMs?: unknown }
  if (TERMINAL.has(name)) return problem(422, message)
  if (typeof retryAfterMs !== 'number') return problem(500, message)
  return problem(503, message, { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) })
}

/** Wakeful stores the text as the error of the turn. */
function problem(status: number, text: string, headers: Record<string, string> = {}): Response {
  return new Response(text.slice(0, ERROR_MAX), {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', ...headers },
  })
}

async function readBody(request: Request): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  const reader = request.body?.getReader()
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done || value === undefined) break
    bytes += value.length
    if (bytes > BODY_BYTES_MAX) {
      await reader?.cancel()
      return null
    }
    chunks.push(value)
  }
  const body = new Uint8Array(bytes)
  let at = 0
  for (const chunk of chunks) {
    body.set(chunk, at)
    at += chunk.length
  }
  return body
}

/** The signature proves the origin, so only the type is checked. */
function turnIn(body: Uint8Array): PostedTurn | null {
  try {
    const turn = JSON.parse(new TextDecoder().decode(body)) as PostedTurn
    return turn?.type === 'turn' ? turn : null
  } catch {
    return null
  }
}
