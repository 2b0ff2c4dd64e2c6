/**
 * Telegram: sends messages to chats and maps the answers of the Bot API to outcomes. The token is part of
 * every URL, so network errors, which quote the URL, are never passed on.
 */
import { Api, GrammyError, HttpError } from 'grammy'
import { z } from 'zod'
import { errorText, Refusal } from '../../../../src/core/errors.ts'
import type { Button, Push, PushChannel, PushOutcome } from '../../../../src/kernel/channel.ts'
import { type PartOutcome, sendParts } from '../../hub/src/vendor.ts'

export const CHANNEL = 'telegram'

export interface TelegramOptions {
  readonly token: string
  readonly apiRoot: string
}

const MESSAGE = z.object({
  message_id: z.int(),
  chat: z.object({ id: z.int(), type: z.string() }),
})
/** The fields used of an update. One of another shape is skipped, or it would be read forever. */
const UPDATE = z.object({
  update_id: z.int(),
  message: MESSAGE.extend({
    from: z.object({ is_bot: z.boolean() }).optional(),
    text: z.string().optional().catch(undefined),
    reply_to_message: z.object({ message_id: z.int() }).optional().catch(undefined),
  })
    .optional()
    .catch(undefined),
  /** A button press. */
  callback_query: z
    .object({
      id: z.string(),
      from: z.object({ id: z.int() }),
      message: MESSAGE.optional().catch(undefined),
      data: z.string().optional(),
    })
    .optional()
    .catch(undefined),
})
export type Update = z.output<typeof UPDATE>

/** Counted in UTF-16 units, as Telegram counts. */
const TEXT_MAX = 4096
const SEND_TIMEOUT_MS = 20_000
const UPDATES_MAX = 100
const AWAY_MS = 5_000
/** Added to the duration of a long poll. */
const POLL_MARGIN_MS = 15_000
/** Descriptions of a 400 for addresses that will never work. */
const NOBODY = /chat not found|user is deactivated|peer_id_invalid|bot was blocked/i
const UNAUTHORIZED: ReadonlySet<number> = new Set([401, 404])

type GrammySignal = NonNullable<Parameters<Api['getMe']>[0]>

export class TelegramChannel implements PushChannel {
  readonly name = CHANNEL
  readonly buttons = true
  /** The number before the colon of the token. */
  readonly botId: number
  readonly #api: Api
  #username: string | null = null

  constructor(options: TelegramOptions) {
    this.botId = Number(options.token.split(':', 1)[0])
    this.#api = new Api(options.token, { apiRoot: options.apiRoot })
  }

  /** A link that opens the chat. The bot's name is fetched once. */
  async invite(code: string): Promise<{ url: string; words: string }> {
    try {
      this.#username ??= (await this.#api.getMe(within(SEND_TIMEOUT_MS))).username
    } catch (error) {
      throw new Refusal('unavailable', telegramError(error), { retryAfterMs: AWAY_MS })
    }
    const url = `https://t.me/${this.#username}?start=${code}`
    return { url, words: `Open ${url} and press Start.` }
  }

  addressOf(text: string): string | null {
    return /^-?\d{1,16}$/.test(text) ? text : null
  }

  /** Long polling: returns when there are updates, or after `seconds`. */
  async updates(offset: number, seconds: number, signal: AbortSignal): Promise<Update[]> {
    const options = {
      offset,
      timeout: seconds,
      limit: UPDATES_MAX,
      allowed_updates: ['message', 'callback_query'] as const,
    }
    const patience = within(seconds * 1000 + POLL_MARGIN_MS, signal)
    const updates: readonly unknown[] = await this.#api.getUpdates(options, patience)
    return updates.flatMap((update) => UPDATE.safeParse(update).data ?? [])
  }

  /** Confirms a button press, which otherwise shows as pending. */
  async pressed(id: string): Promise<void> {
    await this.#api.answerCallbackQuery(id, {}, within(SEND_TIMEOUT_MS))
  }

  async say(address: string, text: string): Promise<void> {
    try {
      await this.#api.sendMessage(Number(address), text, {}, within(SEND_TIMEOUT_MS))
    } catch (error) {
      throw new Error(telegramError(error))
    }
  }

  async send(push: Push, signal: AbortSignal): Promise<PushOutcome> {
    return sendParts(push, TEXT_MAX, async ({ text, last }) => {
      const more = last && push.buttons.length > 0 ? keyboard(push.buttons) : {}
      try {
        const late = within(SEND_TIMEOUT_MS, signal)
        const sent = await this.#api.sendMessage(Number(push.address), text, more, late)
        return { type: 'sent', id: String(sent.message_id) }
      } catch (error) {
        return outcomeOf(error)
      }
    })
  }
}

function keyboard(buttons: readonly Button[]) {
  const row = buttons.map(({ label, value }) => ({ text: label, callback_data: value }))
  return { reply_markup: { inline_keyboard: [row] } }
}

function within(ms: number, signal?: AbortSignal): GrammySignal {
  const late = AbortSignal.timeout(ms)
  return (signal === undefined ? late : AbortSignal.any([signal, late])) as unknown as GrammySignal
}

function outcomeOf(error: unknown): PartOutcome {
  const text = telegramError(error)
  if (!(error instanceof GrammyError)) return { type: 'later', waitMs: null, error: text }
  const { error_code: code, description } = error
  if (code === 403 || (code === 400 && NOBODY.test(description)))
    return { type: 'gone', error: text }
  if (code >= 400 && code < 500 && code !== 429 && !UNAUTHORIZED.has(code))
    return { type: 'dropped', error: text }
  return { type: 'later', waitMs: retryAfterMs(error), error: text }
}

/** From `retry_after`; null without one. */
export function retryAfterMs(error: unknown): number | null {
  if (!(error instanceof GrammyError)) return null
  const { retry_after: seconds } = error.parameters
  return seconds === undefined ? null : seconds * 1000
}

/** The error without the URL that network errors quote. */
export function telegramError(error: unknown): string {
  if (error instanceof GrammyError) return `Telegram ${error.error_code}: ${error.description}`
  if (!(error instanceof HttpError)) return errorText(error, 200)
  const { code, type } = (error.error ?? {}) as { code?: unknown; type?: unknown }
  const why = [code, type].find((each) => typeof each === 'string') ?? 'no answer'
  return `Telegram could not be reached: ${why}`
}
