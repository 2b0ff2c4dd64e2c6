/**
 * A session's socket that stays: it reconnects with growing pauses, notices a connection that has gone silent, takes
 * up where it was, acknowledges what it handed on, and hands on each message once. What is said while it is away
 * waits in order; each message has an id, so that saying it again after a lost connection does no harm.
 */
import { WakefulError } from './error.ts'
import { backoffMs, newClientId } from './transport.ts'

export type SocketMaker = new (url: string) => SocketLike

interface SocketLike {
  readonly readyState: number
  send(text: string): void
  close(): void
  addEventListener(
    type: 'open' | 'message' | 'close' | 'error',
    listener: (event: { data?: unknown; code?: unknown; message?: unknown }) => void,
  ): void
}

export interface SessionEvent {
  readonly id: string
  readonly session_key: string
  readonly seq: number
  readonly type: string
  readonly payload?: unknown
  readonly created_at: string
}

/** A message of the agent; `unasked` when nobody had spoken. */
export interface AgentMessage {
  readonly id: string
  readonly content: string
  readonly unasked: boolean
  readonly inReplyTo: number | null
  /** What an unasked message was born of. */
  readonly origin: { readonly kind: string; readonly id?: string } | null
  readonly createdAt: string
  /** It is a question: any of the options answers it, as a message or by `answer_question`. */
  readonly question: AskedQuestion | null
}

export interface AskedQuestion {
  readonly id: string
  readonly options: readonly string[]
  readonly until?: string
}

/** Text of a message that is still being written. The message whose `inReplyTo` is the turn replaces it. */
export interface Delta {
  readonly turn: number
  readonly text: string
}

export interface SocketHandlers {
  /** Called once for each message, in order. Acknowledged when it returns, or when its promise resolves. */
  readonly onMessage: (message: AgentMessage) => void | Promise<void>
  /** Every event of the session from now on, in order and without a gap across reconnects. */
  readonly onEvent?: (event: SessionEvent) => unknown
  /** What is being written; nothing of it is stored, and none may come. */
  readonly onDelta?: (delta: Delta) => void
  /** What was written as this turn is withdrawn. Also after a lost connection: it comes again from its beginning. */
  readonly onRetract?: (turn: number) => void
  /** The agent is at work on a message; again every five seconds. */
  readonly onTyping?: () => void
  /** Connected: the session's last seq. What is said from now on gets a later one. */
  readonly onReady?: (lastSeq: number) => void
  /** `waiting`: cut off, and about to try again. `closed`: for good. */
  readonly onState?: (state: 'open' | 'waiting' | 'closed') => void
  readonly onError?: (error: unknown) => void
  /** Where the person is, an IANA name, told with the first message; a browser's own by default, elsewhere none. */
  readonly timezone?: string
}

export interface SessionSocket {
  /**
   * Says it now, or as soon as the socket is open; the id makes a repetition harmless. Resolves when the server has
   * taken it; rejects when the server refuses it or the socket is closed before.
   */
  say(text: string, id?: string): Promise<void>
  close(): void
}

export interface ConnectionOptions {
  /** The address of the next attempt: with a fresh ticket where one is needed. */
  readonly address: () => Promise<string>
  readonly Socket: SocketMaker
  readonly handlers: SocketHandlers
  /** Events after one seq up to another. */
  readonly eventsBetween: (after: number, upTo: number) => AsyncIterable<SessionEvent>
}

const RECONNECT_MS = 250
const RECONNECT_MAX_MS = 10_000
/** How often a quiet connection is asked whether it lives, and how long it has to answer. */
const HEARTBEAT_MS = 25_000
const ANSWER_MAX_MS = 10_000
/** Ids remembered to hand on each message once; a server resends only what is not acknowledged. */
const SEEN_MAX = 10_000
const UNSENT_MAX = 1_000
const FRAME_BYTES_MAX = 64 * 1024
const OPEN = 1
/** The server's words for "later". */
const LATER: ReadonlySet<string> = new Set(['Temporarily unavailable', 'Too many requests'])

/** A server that speaks for its users does not know where they are. */
function browserZone(): string | undefined {
  if (!('document' in globalThis)) return undefined
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}

interface Said {
  readonly frame: string
  readonly taken: () => void
  readonly refused: (error: unknown) => void
}

export class Connection implements SessionSocket {
  readonly #options: ConnectionOptions
  readonly #handlers: SocketHandlers
  readonly #seen = new Set<string>()
  /** Its first is on its way while `#asked`; the others wait, so that order holds whatever happens. */
  readonly #unsent: Said[] = []
  #asked = false
  /** Pings that wait for their pong; answers come in the order of the questions. */
  #pings = 0
  #refusal: WakefulError | null = null
  #socket: SocketLike | null = null
  /** Told once. */
  #zone: string | undefined
  #attempt = 0
  #closed = false
  #lastSeq: number | null = null
  /** Of which text was handed on and no message yet. */
  readonly #writing = new Set<number>()
  #reconnecting: ReturnType<typeof setTimeout> | undefined
  #heartbeat: ReturnType<typeof setTimeout> | undefined
  /** One frame after the other, also when a handler takes its time. */
  #turn: Promise<void> = Promise.resolve()

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#handlers = options.handlers
    this.#zone = options.handlers.timezone ?? browserZone()
    this.#connect()
  }

  say(text: string, id: string = newClientId()): Promise<void> {
    const timezone = this.#zone
    this.#zone = undefined
    const frame = JSON.stringify({ type: 'user_message', text, id, timezone })
    const said = new Promise<void>((taken, refused) => {
      const wrong = this.#whyNot(frame)
      if (wrong === null) this.#unsent.push({ frame, taken, refused })
      else refused(wrong)
    })
    // Also told here, so that a caller who does not wait for it learns of it, and Node does not end over it.
    said.catch((error: unknown) => this.#tell(error))
    this.#sendNext()
    return said
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#reconnecting)
    clearTimeout(this.#heartbeat)
    this.#socket?.close()
    for (const { refused } of this.#unsent.splice(0))
      refused(new WakefulError(0, 'The socket was closed before this was taken', []))
    this.#handlers.onState?.('closed')
  }

  #whyNot(frame: string): WakefulError | null {
    if (this.#closed) return new WakefulError(0, 'The socket is closed', [])
    if (this.#unsent.length >= UNSENT_MAX)
      return new WakefulError(0, `${UNSENT_MAX} messages wait to be sent already`, [])
    if (new TextEncoder().encode(frame).length > FRAME_BYTES_MAX)
      return new WakefulError(0, 'The message is too long', [`at most ${FRAME_BYTES_MAX} bytes`])
    return null
  }

  #tell(error: unknown): void {
    this.#handlers.onError?.(error)
  }

  #connect(): void {
    this.#options
      .address()
      .then((url) => {
        if (!this.#closed) this.#open(url)
      })
      .catch((error: unknown) => this.#cutOff(error))
  }

  #open(url: string): void {
    const socket = new this.#options.Socket(url)
    let trouble: unknown = null
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => {
      if (this.#socket === socket) this.#beat()
      this.#turn = this.#turn
        .then(() => this.#take(String(data), socket))
        .catch((error: unknown) => this.#tell(error))
    })
    socket.addEventListener('error', (event) => {
      trouble = refusedUpgrade(event) ?? event
    })
    socket.addEventListener('close', ({ code }) => {
      if (this.#socket !== socket) return
      // The server no longer takes the credentials.
      this.#cutOff(
        code === 1008 ? new WakefulError(401, 'The key is no longer valid', []) : trouble,
      )
    })
  }

  /** Not connected any more, or not at all: for good if the server says so, else again after a pause. */
  #cutOff(error: unknown): void {
    clearTimeout(this.#heartbeat)
    clearTimeout(this.#reconnecting)
    this.#socket = null
    this.#asked = false
    this.#pings = 0
    if (this.#closed) return
    if (error !== null) this.#tell(error)
    if (error instanceof WakefulError && isFinal(error.status)) {
      this.close()
      return
    }
    this.#handlers.onState?.('waiting')
    const wait = backoffMs(this.#attempt++, RECONNECT_MS, RECONNECT_MAX_MS)
    this.#reconnecting = setTimeout(() => this.#connect(), wait)
  }

  /** Something was heard: ask again only after a while, and give up on a connection that does not answer. */
  #beat(): void {
    clearTimeout(this.#heartbeat)
    this.#heartbeat = setTimeout(() => {
      this.#ping()
    }, HEARTBEAT_MS)
  }

  #ping(): void {
    const socket = this.#socket
    this.#pings++
    this.#send('{"type":"ping"}')
    clearTimeout(this.#heartbeat)
    this.#heartbeat = setTimeout(() => {
      if (this.#socket !== socket) return
      // Before it is closed: a dead connection may take minutes to say that it is.
      this.#cutOff(new WakefulError(0, 'The connection has gone silent', []))
      socket?.close()
    }, ANSWER_MAX_MS)
  }

  #send(frame: string): void {
    if (this.#socket?.readyState === OPEN) this.#socket.send(frame)
  }

  /** The ping behind a message is answered when the message was: that is how we know that it was taken. */
  #sendNext(): void {
    const [next] = this.#unsent
    if (next === undefined || this.#asked || this.#socket?.readyState !== OPEN) return
    this.#asked = true
    this.#refusal = null
    this.#send(next.frame)
    this.#ping()
  }

  async #take(data: string, socket: SocketLike): Promise<void> {
    const frame = JSON.parse(data) as Record<string, unknown>
    const current = this.#socket === socket
    switch (frame.type) {
      case 'ready':
        return current ? this.#resume(Number(frame.last_seq)) : undefined
      case 'pong':
        return current ? this.#answered() : undefined
      case 'error':
        return this.#refused(frame, current)
      case 'event':
        return this.#event(frame.event as SessionEvent)
      case 'typing':
        return current ? this.#handlers.onTyping?.() : undefined
      case 'delta':
        return current ? this.#delta(Number(frame.turn), String(frame.text)) : undefined
      case 'retract':
        return this.#retract(Number(frame.turn))
      case 'message':
      case 'agent_follow_up':
        return this.#message(frame)
    }
  }

  async #resume(lastSeq: number): Promise<void> {
    this.#attempt = 0
    for (const turn of this.#writing) this.#retract(turn)
    this.#handlers.onReady?.(lastSeq)
    this.#handlers.onState?.('open')
    this.#sendNext()
    if (this.#handlers.onEvent === undefined) return
    const before = this.#lastSeq
    if (before === null) this.#lastSeq = lastSeq
    else if (before < lastSeq)
      for await (const event of this.#options.eventsBetween(before, lastSeq))
        await this.#event(event)
  }

  #answered(): void {
    this.#pings--
    // A pong to an earlier heartbeat says nothing of the message behind it.
    if (!this.#asked || this.#pings > 0) return
    this.#asked = false
    const refusal = this.#refusal
    if (refusal !== null && LATER.has(refusal.title)) {
      this.#reconnecting = setTimeout(() => this.#sendNext(), RECONNECT_MAX_MS / 5)
      return
    }
    const said = this.#unsent.shift()
    if (refusal === null) said?.taken()
    else said?.refused(refusal)
    this.#sendNext()
  }

  /** An error between a message and the pong behind it is that message's, unless it speaks of an ack. */
  #refused(frame: Record<string, unknown>, current: boolean): void {
    const errors = Array.isArray(frame.errors) ? frame.errors.map(String) : []
    const error = new WakefulError(0, String(frame.title), errors)
    const ofAck = errors.some((text) => text.startsWith('ack:'))
    if (current && this.#asked && !ofAck) this.#refusal = error
    else throw error
  }

  async #event(event: SessionEvent): Promise<void> {
    if (this.#lastSeq !== null && event.seq <= this.#lastSeq) return
    await this.#handlers.onEvent?.(event)
    this.#lastSeq = event.seq
  }

  #delta(turn: number, text: string): void {
    this.#writing.add(turn)
    this.#handlers.onDelta?.({ turn, text })
  }

  #retract(turn: number): void {
    if (this.#writing.delete(turn)) this.#handlers.onRetract?.(turn)
  }

  async #message(frame: Record<string, unknown>): Promise<void> {
    const id = String(frame.id)
    if (!this.#seen.has(id)) {
      if (typeof frame.in_reply_to === 'number') this.#writing.delete(frame.in_reply_to)
      await this.#handlers.onMessage({
        id,
        content: String(frame.content),
        unasked: frame.type === 'agent_follow_up',
        inReplyTo: typeof frame.in_reply_to === 'number' ? frame.in_reply_to : null,
        origin: (frame.origin ?? null) as AgentMessage['origin'],
        createdAt: String(frame.created_at),
        question: (frame.question ?? null) as AskedQuestion | null,
      })
      this.#remember(id)
    }
    // Again for one seen before: its first acknowledgement may have been lost with the connection.
    this.#send(JSON.stringify({ type: 'ack', id }))
  }

  #remember(id: string): void {
    this.#seen.add(id)
    if (this.#seen.size <= SEEN_MAX) return
    const [oldest] = this.#seen
    if (oldest !== undefined) this.#seen.delete(oldest)
  }
}

/** What will not change by trying again: a wrong key, a session that may not be touched. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429
}

/** `ws` tells the status of a refused upgrade in words; browsers do not tell it at all. */
function refusedUpgrade(event: { message?: unknown }): WakefulError | null {
  const status = /^Unexpected server response: (\d{3})$/.exec(String(event.message ?? ''))?.[1]
  if (status === undefined) return null
  return new WakefulError(Number(status), `The server refused the socket (${status})`, [])
}
