/** A transport for the AI SDK's `useChat`. Loads nothing of the SDK: its types are written out as far as they matter here. */
import { type AgentMessage, createClient, type SessionSocket } from '../../client/src/index.ts'
import type { SessionOptions } from './session-store.ts'

interface ChatMessage {
  readonly id: string
  readonly role: string
  readonly parts: readonly { readonly type: string; readonly text?: string }[]
}

/** Of the chunks that `useChat` takes, those that are sent here. */
export type ChatChunk =
  | { type: 'start'; messageId?: string }
  | { type: 'text-start' | 'text-end'; id: string }
  | { type: 'text-delta'; id: string; delta: string }
  | { type: 'error'; errorText: string }
  | { type: 'finish' }

/** As `useChat` holds one. */
export interface UnaskedMessage {
  id: string
  role: 'assistant'
  parts: { type: 'text'; text: string }[]
}

export interface TransportOptions extends Omit<SessionOptions, 'history'> {
  /**
   * Called for messages that answer none of this chat: reminders, follow-ups, answers whose reader had left. Show them by
   * `setMessages((all) => [...all, message])`; they count as delivered when this returns.
   */
  readonly onMessage: (message: UnaskedMessage) => void | Promise<void>
  readonly onError?: (error: unknown) => void
}

export interface WakefulTransport {
  sendMessages(options: {
    trigger: 'submit-message' | 'regenerate-message'
    messages: readonly ChatMessage[]
    abortSignal: AbortSignal | undefined
  }): Promise<ReadableStream<ChatChunk>>
  /** Null: what was being written when the page was left comes by `onMessage`. */
  reconnectToStream(): Promise<null>
  close(): void
}

/** `useChat({ transport: wakefulTransport({ url, sessionKey, onMessage }) })` */
export function wakefulTransport(options: TransportOptions): WakefulTransport {
  const chat = new Chat(options)
  return {
    sendMessages: ({ trigger, messages, abortSignal }) => {
      const last = messages.at(-1)
      if (trigger !== 'submit-message' || last?.role !== 'user')
        throw new Error('wakefulTransport: an answer that was committed is not written again')
      const texts = last.parts.flatMap(({ type, text = '' }) => (type === 'text' ? [text] : []))
      return chat.ask(texts.join('\n'), last.id, abortSignal)
    },
    reconnectToStream: async () => null,
    close: () => chat.close(),
  }
}

class Chat {
  readonly #options: TransportOptions
  #socket: SessionSocket | null = null
  #answer: Answer | null = null
  /** Messages up to here are not the answer that is waited for. */
  #seq = 0
  #isReady = false

  constructor(options: TransportOptions) {
    this.#options = options
    // What waits for the person comes without being asked for.
    if ('document' in globalThis) this.#connected()
  }

  async ask(text: string, id: string, signal: AbortSignal | undefined) {
    const answer = new Answer()
    this.#answer?.end()
    const socket = this.#connected()
    answer.isAsked = this.#isReady
    this.#answer = answer
    signal?.addEventListener('abort', () => this.#leave(answer), { once: true })
    socket.say(text, id).catch((error: unknown) => {
      answer.send({ type: 'error', errorText: (error as Error).message })
      this.#leave(answer)
    })
    return answer.chunks
  }

  close(): void {
    this.#answer?.end()
    this.#socket?.close()
    this.#socket = null
  }

  #leave(answer: Answer): void {
    answer.end()
    if (this.#answer === answer) this.#answer = null
  }

  #connected(): SessionSocket {
    if (this.#socket !== null) return this.#socket
    const { url: baseUrl, sessionKey, key, ticket, onMessage, onError } = this.#options
    const given = key === undefined ? {} : { key }
    const client = createClient({ baseUrl, ...given, ...(ticket === undefined ? {} : { ticket }) })
    this.#socket = client.connect(sessionKey, {
      onMessage: async (message) => {
        const { inReplyTo, content } = message
        const answer = this.#answer
        if (answer === null || inReplyTo === null || inReplyTo <= this.#seq)
          return onMessage(uiMessage(message))
        this.#seq = inReplyTo
        if (!content.startsWith(answer.text)) answer.retract()
        answer.write(content.slice(answer.text.length))
        this.#leave(answer)
      },
      onDelta: ({ turn, text }) => {
        if (turn > this.#seq) this.#answer?.write(text)
      },
      onRetract: () => this.#answer?.retract(),
      onReady: (lastSeq) => {
        this.#isReady = true
        if (this.#answer?.isAsked !== true) this.#seq = Math.max(this.#seq, lastSeq)
        if (this.#answer !== null) this.#answer.isAsked = true
      },
      ...(onError === undefined ? {} : { onError }),
    })
    return this.#socket
  }
}

const uiMessage = ({ id, content }: AgentMessage): UnaskedMessage => ({
  ...{ id, role: 'assistant' },
  parts: [{ type: 'text', text: content }],
})

/** One answer as a stream of chunks. Text that is withdrawn stays as a part of its own: `useChat` cannot take it back. */
class Answer {
  readonly chunks: ReadableStream<ChatChunk>
  /** Of the part that is being written. */
  text = ''
  /** Its message may have been taken. */
  isAsked = false
  #part = 0
  #out: ReadableStreamDefaultController<ChatChunk> | null = null

  constructor() {
    this.chunks = new ReadableStream<ChatChunk>({
      start: (out) => {
        this.#out = out
        out.enqueue({ type: 'start' })
      },
      cancel: () => {
        this.#out = null
      },
    })
  }

  send(chunk: ChatChunk): void {
    this.#out?.enqueue(chunk)
  }

  write(delta: string): void {
    if (delta === '') return
    const id = `text-${this.#part}`
    if (this.text === '') this.send({ type: 'text-start', id })
    this.text += delta
    this.send({ type: 'text-delta', id, delta })
  }

  /** What follows is another part. */
  retract(): void {
    if (this.text !== '') this.send({ type: 'text-end', id: `text-${this.#part}` })
    this.#part++
    this.text = ''
  }

  end(): void {
    this.retract()
    this.send({ type: 'finish' })
    this.#out?.close()
    this.#out = null
  }
}
