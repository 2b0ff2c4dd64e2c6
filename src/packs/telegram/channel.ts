/**
 * Telegram: how messages leave for a chat, and what every answer of the Bot API means for the message. The
 * token is part of every URL, so nothing that the network says about a URL is passed on.
 */
import { Api, GrammyError, HttpError } from 'grammy'
import type { Push, PushChannel, PushOutcome } from '../../channels/channel.ts'
import { errorText } from '../../core/errors.ts'
import type { SessionRef } from '../../core/sessions/session.ts'
import type { Db } from '../../store/db/db.ts'
import { CHANNEL, endLink } from './links.ts'
import { pushWaitMs, splitText } from './text.ts'

export interface TelegramOptions {
  readonly token: string
  readonly apiRoot: string
}

export interface Update {
  readonly update_id: number
  readonly message?: {
    readonly chat: { readonly id: number; readonly type: string }
    readonly from?: { readonly is_bot: boolean }
    readonly text?: string
  }
}

const SEND_TIMEOUT_MS = 20_000
const UPDATES_MAX = 100
/** Beyond the time a long poll asks for. */
const POLL_MARGIN_MS = 15_000
/** In a description of a 400: nobody will ever be reached there. */
const NOBODY = /chat not found|user is deactivated|peer_id_invalid|bot was blocked/i
const UNAUTHORIZED: ReadonlySet<number> = new Set([401, 404])

type GrammySignal = NonNullable<Parameters<Api['getMe']>[0]>

export class TelegramChannel implements PushChannel {
  readonly name = CHANNEL
  /** The number before the colon of the token. */
  readonly botId: number
  readonly #api: Api
  #username: string | null = null

  constructor(options: TelegramOptions) {
    this.botId = Number(options.token.split(':', 1)[0])
    this.#api = new Api(options.token, { apiRoot: options.apiRoot })
  }

  /** The bot's name, asked for once. */
  async username(): Promise<string> {
    this.#username ??= (await this.#api.getMe(within(SEND_TIMEOUT_MS))).username
    return this.#username
  }

  /** Long polling: answers when there is something, or after `seconds`. */
  async updates(offset: number, seconds: number, signal: AbortSignal): Promise<Update[]> {
    const options = {
      offset,
      timeout: seconds,
      limit: UPDATES_MAX,
      allowed_updates: ['message'] as const,
    }
    return this.#api.getUpdates(options, within(seconds * 1000 + POLL_MARGIN_MS, signal))
  }

  /** One line of the bot's own. */
  async say(chatId: number, text: string): Promise<void> {
    await this.#api.sendMessage(chatId, text, {}, within(SEND_TIMEOUT_MS))
  }

  async send(push: Push, signal: AbortSignal): Promise<PushOutcome> {
    const chatId = Number(push.address)
    const parts = splitText(push.content)
    let { partsSent } = push
    try {
      for (; partsSent < parts.length; partsSent++)
        await this.#api.sendMessage(
          chatId,
          parts[partsSent] ?? '',
          {},
          within(SEND_TIMEOUT_MS, signal),
        )
      return { type: 'sent' }
    } catch (error) {
      return outcomeOf(error, { ...push, partsSent })
    }
  }

  async unlink(tx: Db, session: SessionRef, address: string): Promise<void> {
    await endLink(tx, session, Number(address))
  }
}

function within(ms: number, signal?: AbortSignal): GrammySignal {
  const late = AbortSignal.timeout(ms)
  return (signal === undefined ? late : AbortSignal.any([signal, late])) as unknown as GrammySignal
}

function outcomeOf(error: unknown, { attempt, partsSent }: Push): PushOutcome {
  const text = telegramError(error)
  if (!(error instanceof GrammyError))
    return { type: 'later', waitMs: pushWaitMs(attempt, null), error: text, partsSent }
  const { error_code: code, description } = error
  if (code === 403 || (code === 400 && NOBODY.test(description)))
    return { type: 'gone', error: text }
  if (code >= 400 && code < 500 && code !== 429 && !UNAUTHORIZED.has(code))
    return { type: 'dropped', error: text }
  const waitMs = pushWaitMs(attempt, retryAfterMs(error))
  return { type: 'later', waitMs, error: text, partsSent }
}

/** How long Telegram asks to be left alone; null when it does not say. */
export function retryAfterMs(error: unknown): number | null {
  if (!(error instanceof GrammyError)) return null
  const { retry_after: seconds } = error.parameters
  return seconds === undefined ? null : seconds * 1000
}

/** What went wrong, without the URL that the network's own errors quote. */
export function telegramError(error: unknown): string {
  if (error instanceof GrammyError) return `Telegram ${error.error_code}: ${error.description}`
  if (!(error instanceof HttpError)) return errorText(error, 200)
  const { code, type } = (error.error ?? {}) as { code?: unknown; type?: unknown }
  const why = [code, type].find((each) => typeof each === 'string') ?? 'no answer'
  return `Telegram could not be reached: ${why}`
}
