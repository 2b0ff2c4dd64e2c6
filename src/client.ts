/**
 * A client for Node and browsers: calls as functions, and a socket that reconnects, acknowledges what it
 * handed on, and hands on each message once. It imports nothing of the server.
 */

export interface ClientOptions {
  /** Such as `http://127.0.0.1:8787`. */
  readonly baseUrl: string
  /** Sent as a bearer key. */
  readonly key?: string
  readonly fetch?: typeof fetch
  /** Node 20 has no WebSocket of its own: hand in the one of `ws`. */
  readonly WebSocket?: SocketMaker
}

type SocketMaker = new (url: string) => SocketLike

interface SocketLike {
  readonly readyState: number
  send(text: string): void
  close(): void
  addEventListener(
    type: 'open' | 'message' | 'close' | 'error',
    listener: (event: { data?: unknown }) => void,
  ): void
}

/** An answer that was not a success, with the server's reasons. */
export class WakefulError extends Error {
  override readonly name = 'WakefulError'
  readonly status: number
  readonly errors: readonly string[]

  constructor(status: number, title: string, errors: readonly string[]) {
    super(errors.length > 0 ? `${title}: ${errors.join('; ')}` : title)
    this.status = status
    this.errors = errors
  }
}

export interface SessionEvent {
  readonly id: string
  readonly session_key: string
  readonly seq: number
  readonly type: string
  readonly payload: unknown
  readonly created_at: string
}

export interface SessionHead {
  readonly session_key: string
  readonly last_seq: number
  readonly done_seq: number
  readonly checkpoint_id: string | null
  readonly consecutive_autonomous_msgs: number
  readonly last_autonomous_at: string | null
  readonly gate: { readonly allowed: boolean; readonly reason?: string; readonly until?: string }
  readonly timers: readonly {
    readonly timer_id: string
    readonly fire_at: string
    readonly payload: unknown
  }[]
}

export interface Preview {
  readonly canonical: string
  readonly kind: 'once' | 'cron' | 'every'
  readonly description: string
  readonly timezone: string
  readonly next: readonly string[]
}

/** A message of the agent; `unasked` when nobody had spoken. */
export interface AgentMessage {
  readonly id: string
  readonly content: string
  readonly unasked: boolean
  readonly inReplyTo: number | null
  readonly createdAt: string
}

export interface SocketHandlers {
  /** Called once for each message, in order. Acknowledged when it returns, or when its promise resolves. */
  readonly onMessage: (message: AgentMessage) => void | Promise<void>
  readonly onEvent?: (event: SessionEvent) => void
  readonly onState?: (state: 'open' | 'waiting' | 'closed') => void
  readonly onError?: (error: unknown) => void
}

export interface SessionSocket {
  /** Sends as soon as the socket is open; the id makes a repetition harmless. */
  say(text: string, id?: string): void
  close(): void
}

const RECONNECT_MS = 250
const RECONNECT_MAX_MS = 10_000
/** Ids remembered to hand on each message once; a server resends only what is not acknowledged. */
const SEEN_MAX = 10_000
const OPEN = 1

export function createClient(options: ClientOptions) {
  const base = options.baseUrl.replace(/\/+$/, '')
  const send = options.fetch ?? fetch
  const headers = options.key === undefined ? {} : { authorization: `Bearer ${options.key}` }

  async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await send(`${base}${path}`, {
      method,
      headers: {
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    const read = text === '' ? undefined : (JSON.parse(text) as unknown)
    if (answer.ok) return read as T
    const { title = answer.statusText, errors = [] } = (read ?? {}) as {
      title?: string
      errors?: string[]
    }
    throw new WakefulError(answer.status, title, errors)
  }

  const session = (key: string) => `/v1/sessions/${encodeURIComponent(key)}`
  return {
    call,
    say: (key: string, text: string, id?: string) =>
      call<{ event: SessionEvent }>('POST', `${session(key)}/messages`, {
        text,
        ...(id === undefined ? {} : { id }),
      }),
    session: (key: string) => call<SessionHead>('GET', session(key)),
    events: (key: string, afterSeq = 0) =>
      call<{ data: SessionEvent[]; next_cursor: string | null }>(
        'GET',
        `${session(key)}/events?after_seq=${afterSeq}`,
      ),
    setTimer: (
      key: string,
      timerId: string,
      when: { fire_at: string } | { delay_seconds: number },
    ) => call<object>('PUT', `${session(key)}/timers/${encodeURIComponent(timerId)}`, when),
    cancelTimer: (key: string, timerId: string) =>
      call<object>('DELETE', `${session(key)}/timers/${encodeURIComponent(timerId)}`),
    preview: (schedule: string, timezone?: string) =>
      call<Preview>('POST', '/v1/schedules/preview', {
        schedule,
        ...(timezone === undefined ? {} : { timezone }),
      }),
    connect: (key: string, handlers: SocketHandlers): SessionSocket =>
      new Connection(
        `${base.replace(/^http/, 'ws')}${session(key)}/socket${handlers.onEvent ? '?events=1' : ''}`,
        socketMaker(options),
        handlers,
      ),
  }
}

export type WakefulClient = ReturnType<typeof createClient>

function socketMaker(options: ClientOptions): SocketMaker {
  const found = options.WebSocket ?? (globalThis as { WebSocket?: SocketMaker }).WebSocket
  if (found !== undefined) return found
  throw new Error('this Node has no WebSocket: npm install ws, and hand in { WebSocket } of it')
}

class Connection implements SessionSocket {
  readonly #url: string
  readonly #Socket: SocketMaker
  readonly #handlers: SocketHandlers
  readonly #seen = new Set<string>()
  #unsent: string[] = []
  #socket: SocketLike | null = null
  #waitMs = RECONNECT_MS
  #closed = false
  /** One message after the other, also when a handler takes its time. */
  #turn: Promise<void> = Promise.resolve()

  constructor(url: string, Socket: SocketMaker, handlers: SocketHandlers) {
    this.#url = url
    this.#Socket = Socket
    this.#handlers = handlers
    this.#open()
  }

  say(text: string, id: string = crypto.randomUUID()): void {
    const frame = JSON.stringify({ type: 'user_message', text, id })
    if (this.#socket?.readyState === OPEN) this.#socket.send(frame)
    else this.#unsent.push(frame)
  }

  close(): void {
    this.#closed = true
    this.#socket?.close()
    this.#handlers.onState?.('closed')
  }

  #open(): void {
    const socket = new this.#Socket(this.#url)
    this.#socket = socket
    socket.addEventListener('open', () => {
      this.#waitMs = RECONNECT_MS
      this.#handlers.onState?.('open')
      for (const frame of this.#unsent.splice(0)) socket.send(frame)
    })
    socket.addEventListener('message', ({ data }) => {
      this.#turn = this.#turn
        .then(() => this.#take(String(data)))
        .catch((error) => this.#handlers.onError?.(error))
    })
    socket.addEventListener('error', (event) => this.#handlers.onError?.(event))
    socket.addEventListener('close', () => {
      if (this.#closed) return
      this.#handlers.onState?.('waiting')
      setTimeout(() => this.#closed || this.#open(), this.#waitMs * (0.5 + Math.random() / 2))
      this.#waitMs = Math.min(this.#waitMs * 2, RECONNECT_MAX_MS)
    })
  }

  async #take(data: string): Promise<void> {
    const frame = JSON.parse(data) as Record<string, unknown>
    if (frame.type === 'event') return this.#handlers.onEvent?.(frame.event as SessionEvent)
    if (frame.type === 'error')
      throw new WakefulError(0, String(frame.title), frame.errors as string[])
    if (frame.type !== 'message' && frame.type !== 'agent_follow_up') return
    const id = String(frame.id)
    if (!this.#seen.has(id)) {
      await this.#handlers.onMessage({
        id,
        content: String(frame.content),
        unasked: frame.type === 'agent_follow_up',
        inReplyTo: typeof frame.in_reply_to === 'number' ? frame.in_reply_to : null,
        createdAt: String(frame.created_at),
      })
      this.#remember(id)
    }
    // Again for one seen before: its first acknowledgement may have been lost with the connection.
    if (this.#socket?.readyState === OPEN) this.#socket.send(JSON.stringify({ type: 'ack', id }))
  }

  #remember(id: string): void {
    this.#seen.add(id)
    if (this.#seen.size <= SEEN_MAX) return
    const [oldest] = this.#seen
    if (oldest !== undefined) this.#seen.delete(oldest)
  }
}
