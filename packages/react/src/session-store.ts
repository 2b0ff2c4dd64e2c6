/** What a page shows of one session, kept up to date by its socket. React reads it as an external store. */
import {
  type AgentMessage,
  createClient,
  type SessionSocket,
  type WakefulClient,
} from '../../client/src/index.ts'

export interface SessionMessage {
  /** The server's own; of a message that is being sent or written, one of this page. */
  readonly id: string
  readonly from: 'user' | 'agent'
  readonly text: string
  /** `sending`: the server does not have it yet. `streaming`: the agent is writing it. `failed`: the server refused it, see `error`. */
  readonly state: 'sending' | 'streaming' | 'delivered' | 'failed'
  /** Nobody had spoken: a reminder, a follow-up, a notice. */
  readonly unasked: boolean
  /** RFC 3339; null of what this page has sent, and of what is being written. */
  readonly createdAt: string | null
  readonly error?: string
}

export interface OpenQuestion {
  readonly id: string
  readonly text: string
  readonly options: readonly string[]
  /** RFC 3339: then its default counts. */
  readonly until?: string
}

export interface SessionState {
  readonly messages: readonly SessionMessage[]
  /** The agent is at work on a message. */
  readonly typing: boolean
  /** Those that wait for an answer, oldest first. */
  readonly questions: readonly OpenQuestion[]
  /** `waiting`: cut off, and about to try again. `closed`: for good, see `error`. */
  readonly status: 'connecting' | 'open' | 'waiting' | 'closed'
  /** The last thing that went wrong; null again when connected. */
  readonly error: Error | null
}

export interface SessionOptions {
  /** Of the server, such as `http://127.0.0.1:8787`; with the path that it is mounted at. */
  readonly url: string
  readonly sessionKey: string
  /** A key in a page is known to its reader: give one of role `user`, or `ticket` instead. */
  readonly key?: string
  /** Asks your own server for a one-use ticket, for each connection. Then nothing of the past is loaded, since that takes a key. */
  readonly ticket?: () => Promise<string>
  /** How many earlier messages of each side are loaded; 50 by default, 0 for none. */
  readonly history?: number
}

export const NOTHING: SessionState = {
  messages: [],
  typing: false,
  questions: [],
  status: 'connecting',
  error: null,
}

const HISTORY = 50
/** Typing is told every five seconds. */
const TYPING_MS = 7_000

export class SessionStore {
  readonly #options: SessionOptions
  readonly #listeners = new Set<() => void>()
  #state = NOTHING
  #socket: SessionSocket | null = null
  #typing: ReturnType<typeof setTimeout> | undefined
  #hasHistory = false
  /** Questions that were answered here, maybe on their way to the server. */
  readonly #answers = new Set<string>()
  #sent = 0

  constructor(options: SessionOptions) {
    this.#options = options
  }

  get state(): SessionState {
    return this.#state
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Connects. Answers with what ends that; it may be opened again. */
  open(): () => void {
    const { url: baseUrl, sessionKey, key, ticket } = this.#options
    const given = key === undefined ? {} : { key }
    const client = createClient({ baseUrl, ...given, ...(ticket === undefined ? {} : { ticket }) })
    const socket = client.connect(sessionKey, {
      onMessage: (message) => this.#take(message),
      onDelta: ({ turn, text }) => this.#write(turn, text),
      onRetract: (turn) => this.#remove(writingId(turn)),
      onTyping: () => this.#type(),
      onState: (status) => {
        if (this.#socket !== socket) return
        this.#change({ status, ...(status === 'open' ? { error: null } : { typing: false }) })
        if (status === 'open' && ticket === undefined)
          Promise.all([this.#loadHistory(client), this.#loadQuestions(client)]).catch((error) =>
            this.#fail(error),
          )
      },
      onError: (error) => this.#fail(error),
    })
    this.#socket = socket
    return () => {
      clearTimeout(this.#typing)
      this.#socket = null
      socket.close()
      this.#change({ status: 'connecting', typing: false })
    }
  }

  readonly send = (text: string): void => {
    if (text.trim() === '') return
    const id = `sent-${++this.#sent}`
    const draft: SessionMessage = {
      ...{ id, from: 'user', text, unasked: false, createdAt: null },
      state: 'sending',
    }
    this.#put(draft)
    this.#answered(text)
    const fail = (error: unknown) => this.#put({ ...draft, state: 'failed', error: wordsOf(error) })
    const said = this.#socket?.say(text) ?? Promise.reject(new Error('not connected'))
    said.then(() => this.#put({ ...draft, state: 'delivered' }), fail)
  }

  /** An answer is a message like any other: the options are what a question takes as one. */
  readonly answer = (questionId: string, option: string): void => {
    const question = this.#state.questions.find(({ id }) => id === questionId)
    if (question?.options.includes(option)) this.send(option)
  }

  /** Which question a text answers, as the server finds it: the newest that has such an option. */
  #answered(text: string): void {
    const { questions } = this.#state
    const said = text.trim().toLowerCase()
    const answered = questions.findLast(({ options }) =>
      options.some((option) => option.toLowerCase() === said),
    )
    if (answered === undefined) return
    this.#answers.add(answered.id)
    this.#change({ questions: questions.filter((each) => each !== answered) })
  }

  #take({ id, content, unasked, inReplyTo, createdAt, question }: AgentMessage): void {
    clearTimeout(this.#typing)
    if (inReplyTo !== null) this.#remove(writingId(inReplyTo))
    this.#put({ id, from: 'agent', text: content, state: 'delivered', unasked, createdAt })
    const { questions } = this.#state
    const isNew =
      question !== null &&
      !this.#answers.has(question.id) &&
      questions.every((each) => each.id !== question.id)
    const asked = isNew ? [...questions, { ...question, text: content }] : questions
    this.#change({ typing: false, questions: asked })
  }

  #write(turn: number, text: string): void {
    const id = writingId(turn)
    const before = this.#state.messages.find((message) => message.id === id)?.text ?? ''
    const writing = { from: 'agent', state: 'streaming', unasked: false, createdAt: null } as const
    this.#put({ id, text: before + text, ...writing })
  }

  #type(): void {
    clearTimeout(this.#typing)
    this.#typing = setTimeout(() => this.#change({ typing: false }), TYPING_MS)
    this.#change({ typing: true })
  }

  /** What was said before this page was there. Messages that nobody has acknowledged come by the socket, too. */
  async #loadHistory(client: WakefulClient): Promise<void> {
    const { sessionKey: session_key, history: limit = HISTORY } = this.#options
    if (this.#hasHistory || limit === 0) return
    this.#hasHistory = true
    const asked = { session_key, order: 'desc', limit } as const
    const none = (error: { status?: number }) => {
      if (error.status === 404) return { data: [] }
      this.#hasHistory = false
      throw error
    }
    const [events, effects] = await Promise.all([
      client.call('list_events', asked).catch(none),
      client.call('list_effects', asked).catch(none),
    ])
    const known = new Set(this.#state.messages.map(({ id }) => id))
    const own = this.#state.messages.filter(({ from }) => from === 'user').map(({ text }) => text)
    const past: SessionMessage[] = []
    for (const { id, type, payload, created_at: createdAt } of events.data) {
      const { text } = (payload ?? {}) as { text?: unknown }
      // One that this page has sent since is there already.
      const isShown = own.includes(String(text))
      if (type === 'user_message' && typeof text === 'string' && !isShown)
        past.push({ id, from: 'user', text, state: 'delivered', unasked: false, createdAt })
    }
    for (const { id, type, payload, reason, created_at: createdAt } of effects.data) {
      const { content } = (payload ?? {}) as { content?: unknown }
      if (type !== 'send_message' || typeof content !== 'string' || known.has(id)) continue
      const unasked = reason !== 'answer'
      past.push({ id, from: 'agent', text: content, state: 'delivered', unasked, createdAt })
    }
    past.sort((a, b) => ((a.createdAt ?? '') < (b.createdAt ?? '') ? -1 : 1))
    const first = this.#state.messages
    this.#change({ messages: [...past, ...first] })
  }

  /** Also those that were answered elsewhere, or whose default counts, while this page was away. */
  async #loadQuestions(client: WakefulClient): Promise<void> {
    const { sessionKey: session_key } = this.#options
    const before = new Set(this.#state.questions.map(({ id }) => id))
    const { data } = await client.call('list_questions', { session_key, status: 'open' })
    const listed = data
      .filter((each) => each.session_key === session_key && !this.#answers.has(each.id))
      .map(({ id, text, options, until_at: until }) => {
        return { id, text, options, ...(until === null ? {} : { until }) }
      })
    const ids = new Set(listed.map(({ id }) => id))
    // Asked while the list was on its way.
    const since = this.#state.questions.filter(({ id }) => !before.has(id) && !ids.has(id))
    this.#change({ questions: [...listed.toReversed(), ...since] })
  }

  /** In the place of one with the same id, else at the end. */
  #put(message: SessionMessage): void {
    const { messages } = this.#state
    const at = messages.findIndex(({ id }) => id === message.id)
    this.#change({ messages: at < 0 ? [...messages, message] : messages.with(at, message) })
  }

  #remove(id: string): void {
    this.#change({ messages: this.#state.messages.filter((message) => message.id !== id) })
  }

  #fail(error: unknown): void {
    this.#change({ error: error instanceof Error ? error : new Error(wordsOf(error)) })
  }

  #change(change: Partial<SessionState>): void {
    this.#state = { ...this.#state, ...change }
    for (const listener of this.#listeners) listener()
  }
}

const writingId = (turn: number) => `writing-${turn}`

function wordsOf(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown }
  return typeof message === 'string' ? message : 'the connection broke'
}
