/**
 * What people write to the bot. One process at a time reads a bot's updates (a lease in the database), and
 * how far it is gets written only after what it read is durable: an update may be read twice, and has an
 * effect once, since its number is the message's id in its session.
 */
import { randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { Refusal } from '../../core/errors.ts'
import { parseSessionKey, type SessionRef } from '../../core/sessions/session.ts'
import { type Db, isUnavailable } from '../../store/db/db.ts'
import { retryAfterMs, type TelegramChannel, telegramError, type Update } from './channel.ts'
import { advanceBot, linkChat, linkOfChat, releaseBot, takeBot, unlinkSession } from './links.ts'
import { codeHash, readChat } from './text.ts'

export interface InboxOptions {
  readonly db: Db
  readonly channel: TelegramChannel
  readonly leaseMs: number
  /** How long one poll waits for something to happen. */
  readonly pollSeconds: number
  /** Appends what the person wrote. False: the session's agent is not there any more. */
  readonly append: (session: SessionRef, text: string, id: string) => Promise<boolean>
  /** Messages became due to be pushed. */
  readonly changed: () => void
  readonly trouble: (error: unknown) => void
}

const WORDS = {
  hint: 'Hello! This chat is not linked to anything yet. Open the link that your app shows you, and come back here.',
  linked: 'Linked. Just write, and you will hear back here. /stop ends it.',
  already: 'This chat is linked already. Just write; /stop ends it.',
  wrongCode: 'This link is no longer valid. Ask your app for a new one.',
  stopped: 'Unlinked. Nothing more will come here.',
  textOnly: 'I can read text only.',
  noAgent: 'The agent of this chat is not there any more.',
} as const

/** The same hint goes to a chat once in so long. */
const HINT_EVERY_MS = 60_000
const HINTS_MAX = 10_000
const IDLE = { did: 0, more: false, nextMs: null } as const

type Message = NonNullable<Update['message']>

export class TelegramInbox {
  readonly name = 'telegram'
  readonly #options: InboxOptions
  readonly #token = randomUUID()
  readonly #stopping = new AbortController()
  readonly #hinted = new Map<number, number>()
  readonly #answers = new Set<Promise<void>>()
  #notBeforeMs = Number.NEGATIVE_INFINITY

  constructor(options: InboxOptions) {
    this.#options = options
  }

  async tick(): Promise<{ did: number; more: boolean; nextMs: null }> {
    const { db, channel, leaseMs } = this.#options
    if (this.#stopping.signal.aborted || performance.now() < this.#notBeforeMs) return IDLE
    const offset = await takeBot(db, channel.botId, this.#token, leaseMs)
    if (offset === null) {
      this.#pause(leaseMs / 3)
      return IDLE
    }
    const updates = await this.#poll(offset)
    if (updates.length === 0) return IDLE
    await this.#takeAll(updates)
    const next = Math.max(...updates.map((update) => update.update_id)) + 1
    await advanceBot(db, channel.botId, this.#token, next)
    return { did: updates.length, more: true, nextMs: null }
  }

  /** Ends a poll that waits; nothing is read any more. */
  halt(): void {
    this.#stopping.abort()
  }

  async settle(): Promise<void> {
    await Promise.all(this.#answers)
  }

  async close(): Promise<void> {
    this.halt()
    await this.settle()
    await releaseBot(this.#options.db, this.#options.channel.botId, this.#token)
  }

  #pause(ms: number): void {
    this.#notBeforeMs = performance.now() + ms
  }

  /** The lease is kept while Telegram is silent; without it the poll ends. */
  async #poll(offset: number): Promise<readonly Update[]> {
    const { db, channel, leaseMs, pollSeconds, trouble } = this.#options
    const lost = new AbortController()
    const keep = () =>
      takeBot(db, channel.botId, this.#token, leaseMs)
        .then((held) => {
          if (held === null) lost.abort()
        })
        .catch(trouble)
    const timer = setInterval(keep, leaseMs / 3)
    const signal = AbortSignal.any([lost.signal, this.#stopping.signal])
    try {
      return await channel.updates(offset, pollSeconds, signal)
    } catch (error) {
      if (signal.aborted) return []
      const waitMs = retryAfterMs(error)
      if (waitMs !== null) this.#pause(waitMs)
      throw new Error(telegramError(error))
    } finally {
      clearInterval(timer)
    }
  }

  /** Chats side by side, each one's messages in their order. */
  async #takeAll(updates: readonly Update[]): Promise<void> {
    const chats = new Map<number, { id: number; message: Message }[]>()
    for (const { update_id: id, message } of updates) {
      // A group has many people, and a session has one.
      if (message === undefined || message.chat.type !== 'private' || message.from?.is_bot) continue
      const list = chats.get(message.chat.id) ?? []
      chats.set(message.chat.id, [...list, { id, message }])
    }
    await Promise.all(
      [...chats.values()].map(async (list) => {
        for (const { id, message } of list) await this.#takeOrSkip(id, message)
      }),
    )
  }

  /** One that cannot be taken is left behind; a database that is away makes us read it again. */
  async #takeOrSkip(id: number, message: Message): Promise<void> {
    try {
      await this.#take(id, message)
    } catch (error) {
      if (isUnavailable(error) || (error instanceof Refusal && error.code === 'unavailable'))
        throw error
      this.#options.trouble(error)
    }
  }

  async #take(id: number, message: Message): Promise<void> {
    const chatId = message.chat.id
    const input = readChat(message.text)
    if (input.type === 'start' && input.code !== null) return this.#link(chatId, input.code)
    const { db } = this.#options
    const link = await linkOfChat(db, chatId)
    const session = link === null ? null : parseSessionKey(link.session_key)
    if (session === null) return this.#hint(chatId, WORDS.hint)
    switch (input.type) {
      case 'start':
        return this.#answer(chatId, WORDS.already)
      case 'stop':
        await unlinkSession(db, session, chatId)
        return this.#answer(chatId, WORDS.stopped)
      case 'none':
        return this.#hint(chatId, WORDS.textOnly)
      case 'text': {
        const taken = await this.#options.append(session, input.text, `tg:${id}`)
        if (!taken) this.#hint(chatId, WORDS.noAgent)
      }
    }
  }

  async #link(chatId: number, code: string): Promise<void> {
    const session = await linkChat(this.#options.db, codeHash(code), chatId)
    this.#answer(chatId, session === null ? WORDS.wrongCode : WORDS.linked)
    if (session !== null) this.#options.changed()
  }

  /** At most one in a while for each chat: whoever floods the bot is not answered each time. */
  #hint(chatId: number, text: string): void {
    const nowMs = performance.now()
    const lastMs = this.#hinted.get(chatId)
    if (lastMs !== undefined && nowMs - lastMs < HINT_EVERY_MS) return
    if (this.#hinted.size >= HINTS_MAX) this.#hinted.clear()
    this.#hinted.set(chatId, nowMs)
    this.#answer(chatId, text)
  }

  /** The bot's own words are a courtesy: nobody waits for them, and lost ones are not sent again. */
  #answer(chatId: number, text: string): void {
    const { channel, trouble } = this.#options
    const answer: Promise<void> = channel
      .say(chatId, text)
      .catch((error) => trouble(new Error(telegramError(error))))
      .finally(() => this.#answers.delete(answer))
    this.#answers.add(answer)
  }
}
