/** A Bot API of our own: keeps what was sent, hands out what people wrote, and fails as it is told. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEachTest } from '../setup/ends.ts'
import type { Loose } from '../setup/http.ts'

export const TOKEN = '4242:AAF-a_token_that_never_may_be_logged_00'

const open = new Set<BotApi>()
afterEachTest(async () => {
  await Promise.all([...open].map((each) => each.stop()))
})

export interface Sent {
  readonly chat_id: number
  readonly text: string
}

export interface Failure {
  readonly code: number
  readonly description?: string
  readonly retryAfter?: number
}

export class BotApi {
  readonly sent: Sent[] = []
  /** Attempts, failed ones too. */
  attempts = 0
  /** Says how a send fails; null lets it through. */
  refuse: (message: Sent) => Failure | null = () => null
  /** It is sent, and whoever sent it is not told yet; waited for. */
  taken: (message: Sent) => void | Promise<void> = () => undefined
  polls = 0
  mostPollers = 0
  readonly #server = createServer((request, response) => this.#take(request, response))
  readonly #updates: Loose[] = []
  readonly #waiting = new Set<() => void>()
  #next = 1000
  root = ''

  static async start(): Promise<BotApi> {
    const api = new BotApi()
    await new Promise<void>((done) => api.#server.listen(0, '127.0.0.1', done))
    api.root = `http://127.0.0.1:${(api.#server.address() as AddressInfo).port}`
    open.add(api)
    return api
  }

  /** Outlives the test; whoever keeps it stops it. */
  keep(): this {
    open.delete(this)
    return this
  }

  /** As if nobody had written or heard anything yet. */
  reset(): void {
    this.#updates.splice(0)
    this.sent.splice(0)
    this.attempts = 0
    this.refuse = () => null
  }

  get env() {
    return { TELEGRAM_BOT_TOKEN: TOKEN, TELEGRAM_API_ROOT: this.root }
  }

  /** Somebody writes to the bot. Answers with the update's number. */
  write(chatId: number, text: string | undefined, type = 'private'): number {
    return this.handOut({
      message_id: this.#next,
      date: 0,
      chat: { id: chatId, type },
      from: { id: chatId, is_bot: false },
      text,
    })
  }

  /** An update with whatever as its message. */
  handOut(message: unknown): number {
    const id = this.#next++
    this.#updates.push({ update_id: id, message })
    for (const wake of this.#waiting) wake()
    return id
  }

  texts(chatId: number): string[] {
    return this.sent.filter((each) => each.chat_id === chatId).map((each) => each.text)
  }

  async stop(): Promise<void> {
    open.delete(this)
    const closed = new Promise((done) => this.#server.close(done))
    this.#server.closeAllConnections()
    await closed
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString('utf8')
    const body = (text === '' ? {} : JSON.parse(text)) as Loose
    const method = /^\/bot([^/]+)\/(\w+)$/.exec(request.url ?? '')
    if (method?.[1] !== TOKEN) return answer(response, { code: 401, description: 'Unauthorized' })
    if (method[2] === 'getMe')
      return answer(response, {
        id: 4242,
        is_bot: true,
        first_name: 'Wakeful',
        username: 'wakeful_bot',
      })
    if (method[2] === 'getUpdates') return this.#poll(body, response)
    if (method[2] !== 'sendMessage')
      return answer(response, { code: 404, description: 'Not Found' })
    this.attempts++
    const message = { chat_id: body.chat_id as number, text: body.text as string }
    if (message.text.length > 4096)
      return answer(response, { code: 400, description: 'Bad Request: message is too long' })
    const failure = this.refuse(message)
    if (failure !== null) return answer(response, failure)
    this.sent.push(message)
    await this.taken(message)
    answer(response, {
      message_id: this.sent.length,
      date: 0,
      chat: { id: message.chat_id, type: 'private' },
    })
  }

  /** Everything from the offset on; without news it waits for it, or until whoever asked has left. */
  async #poll(
    { offset = 0, timeout = 0, limit = 100 }: Loose,
    response: ServerResponse,
  ): Promise<void> {
    this.polls++
    const news = () => this.#updates.filter((update) => update.update_id >= offset)
    if (news().length === 0 && timeout > 0) await this.#wait(response)
    if (!response.destroyed) answer(response, news().slice(0, limit))
  }

  async #wait(response: ServerResponse): Promise<void> {
    await new Promise<void>((done) => {
      const end = () => {
        this.#waiting.delete(end)
        done()
      }
      response.on('close', end)
      this.#waiting.add(end)
      this.mostPollers = Math.max(this.mostPollers, this.#waiting.size)
    })
  }
}

function answer(response: ServerResponse, value: Failure | Loose): void {
  const { code, description = 'oops', retryAfter } = value as Failure
  const failed = code !== undefined
  const parameters = retryAfter === undefined ? {} : { parameters: { retry_after: retryAfter } }
  const body = failed
    ? { ok: false, error_code: code, description, ...parameters }
    : { ok: true, result: value }
  response.writeHead(failed ? code : 200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
