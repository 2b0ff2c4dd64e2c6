/**
 * A client for Node and browsers: every operation of the API by its name, typed by the schemas the server checks with,
 * and a session's socket that stays. Nothing of the server is in it but types.
 */
import { areasOf, type CallOptions, type Sugar } from './areas.ts'
import type { AnswerOf, InputArgs, InputOf, OperationName } from './call.ts'
import { WakefulError } from './error.ts'
import { requestOf, routeOf } from './route.ts'
import { ROUTES } from './routes.ts'
import {
  Connection,
  type SessionEvent,
  type SessionSocket,
  type SocketHandlers,
  type SocketMaker,
} from './socket.ts'
import { baseOf, newClientId, type TransportOptions, transport } from './transport.ts'

export type { CallOptions } from './areas.ts'
export type { AnswerOf, InputOf, OperationName } from './call.ts'
export { WakefulError } from './error.ts'
export type {
  AgentMessage,
  AskedQuestion,
  Delta,
  SessionEvent,
  SessionSocket,
  SocketHandlers,
} from './socket.ts'

export type SessionHead = AnswerOf<'get_session'>
export type Preview = AnswerOf<'preview_schedule'>

export interface ClientOptions extends TransportOptions {
  /** Node 20 has no WebSocket of its own: hand in the one of `ws`. */
  readonly WebSocket?: SocketMaker
  /**
   * Gets a one-use ticket for each connection of a socket, which cannot send a key itself; null for none. Unless given,
   * a client with a key asks `POST /v1/tickets` with it. In a browser, let your own server ask, and keep the key there.
   */
  readonly ticket?: () => Promise<string | null>
}

/** Lists that answer in pages. */
type PagedName = {
  [N in OperationName]: AnswerOf<N> extends {
    data: readonly unknown[]
    next_cursor: string | null
  }
    ? N
    : never
}[OperationName]
type ItemOf<N extends PagedName> = AnswerOf<N> extends { data: (infer I)[] } ? I : never

export interface WakefulClient extends Sugar {
  /** Any operation by its name; path, query and body fields in one object. */
  call<N extends OperationName>(
    name: N,
    ...args: [...InputArgs<N>, options?: CallOptions]
  ): Promise<AnswerOf<N>>
  /** Every item of a list, page after page. */
  all<N extends PagedName>(name: N, input?: Omit<InputOf<N>, 'cursor'>): AsyncGenerator<ItemOf<N>>
  /** Says something in a session. The id makes it idempotent; one is made where none is given. */
  say(key: string, text: string, id?: string): Promise<AnswerOf<'post_message'>>
  session(key: string): Promise<SessionHead>
  events(key: string, afterSeq?: number): Promise<AnswerOf<'list_events'>>
  setTimer(
    key: string,
    timerId: string,
    when: { fire_at: string } | { delay_seconds: number },
  ): Promise<AnswerOf<'put_timer'>>
  cancelTimer(key: string, timerId: string): Promise<AnswerOf<'cancel_timer'>>
  preview(schedule: string, timezone?: string): Promise<Preview>
  connect(key: string, handlers: SocketHandlers): SessionSocket
}

/** An answer may wait this long on request, beside what it takes anyway. */
const WAIT_FIELD = 'wait_seconds'
const WAIT_EXTRA_MS = 30_000

type Input = Readonly<Record<string, unknown>>
type AnyCall = (name: OperationName, input?: Input, options?: CallOptions) => Promise<unknown>

export function createClient(options: ClientOptions): WakefulClient {
  const send = transport(options)
  const call: AnyCall = (name, input = {}, given = {}) => {
    const written: string | undefined = ROUTES[name]
    if (written === undefined) throw new TypeError(`there is no operation ${name}`)
    const { idempotencyKey, ...more } = given
    const route = routeOf(written)
    const keyed = route.creates && idempotencyKey !== false
    const waits = Number(input[WAIT_FIELD] ?? 0)
    return send({
      ...requestOf(route, input),
      ...(waits > 0 ? { timeoutMs: waits * 1000 + WAIT_EXTRA_MS } : {}),
      ...more,
      ...(keyed ? { idempotencyKey: idempotencyKey || newClientId() } : {}),
    })
  }
  const typed = call as WakefulClient['call']
  const session = (key: string) => `/v1/sessions/${encodeURIComponent(key)}`
  return {
    ...areasOf(call as Parameters<typeof areasOf>[0]),
    call: typed,
    all: (name, input) => everyItem(call, name, input) as AsyncGenerator<never>,
    say: (key, text, id = newClientId()) =>
      // The message's own id makes it idempotent, more cheaply than a key would.
      send({
        method: 'POST',
        path: `${session(key)}/messages`,
        body: { text, id },
        repeatable: true,
      }) as Promise<AnswerOf<'post_message'>>,
    session: (key) => typed('get_session', { session_key: key }),
    events: (key, afterSeq = 0) => typed('list_events', { session_key: key, after_seq: afterSeq }),
    setTimer: (key, timerId, when) =>
      typed('put_timer', { session_key: key, timer_id: timerId, ...when }),
    cancelTimer: (key, timerId) => typed('cancel_timer', { session_key: key, timer_id: timerId }),
    preview: (schedule, timezone) =>
      typed('preview_schedule', { schedule, ...(timezone === undefined ? {} : { timezone }) }),
    connect: (key, handlers) =>
      new Connection({
        address: () => socketAddress(options, `${session(key)}/socket`, handlers, send),
        Socket: socketMaker(options),
        handlers,
        eventsBetween: (after, upTo) => eventsBetween(typed, key, after, upTo),
      }),
  }
}

async function* everyItem(call: AnyCall, name: OperationName, input: object = {}) {
  let cursor: string | null | undefined
  while (cursor !== null) {
    const page = (await call(name, { ...input, ...(cursor === undefined ? {} : { cursor }) })) as {
      data: readonly unknown[]
      next_cursor: string | null
    }
    yield* page.data
    cursor = page.next_cursor
  }
}

async function* eventsBetween(
  call: WakefulClient['call'],
  key: string,
  after: number,
  upTo: number,
): AsyncGenerator<SessionEvent> {
  for (let seq = after; seq < upTo; ) {
    const { data } = await call('list_events', { session_key: key, after_seq: seq })
    if (data.length === 0) return
    for (const event of data) {
      if (event.seq > upTo) return
      yield event
      seq = event.seq
    }
  }
}

async function socketAddress(
  options: ClientOptions,
  path: string,
  handlers: SocketHandlers,
  send: ReturnType<typeof transport>,
): Promise<string> {
  const query = new URLSearchParams()
  if (handlers.onEvent !== undefined) query.set('events', '1')
  const ticket = await (options.ticket ?? (() => askTicket(options, send)))()
  if (ticket !== null) query.set('ticket', ticket)
  const base = baseOf(options).replace(/^http/, 'ws')
  return `${base}${path}${query.size === 0 ? '' : `?${query}`}`
}

async function askTicket(
  options: ClientOptions,
  send: ReturnType<typeof transport>,
): Promise<string | null> {
  if (options.key === undefined && options.actAs === undefined) return null
  try {
    const body = {}
    const answer = await send({ method: 'POST', path: '/v1/tickets', body, repeatable: true })
    return (answer as { ticket: string }).ticket
  } catch (error) {
    // A server without tickets has no keys either.
    if (error instanceof WakefulError && error.status === 404) return null
    throw error
  }
}

function socketMaker(options: ClientOptions): SocketMaker {
  const found = options.WebSocket ?? (globalThis as { WebSocket?: SocketMaker }).WebSocket
  if (found !== undefined) return found
  throw new Error('this Node has no WebSocket: npm install ws, and hand in { WebSocket } of it')
}
