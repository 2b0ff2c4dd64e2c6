/** Discord as a channel: an address is a user id. Discord drops a message whose nonce it has seen, so a resend shows once. */
import { z } from 'zod'
import type { Button, Push, PushChannel, PushOutcome } from '../../../../src/kernel/channel.ts'
import {
  askVendor,
  assertSent,
  Conversations,
  type PartOutcome,
  sendParts,
} from '../../hub/src/vendor.ts'

export const CHANNEL = 'discord'

export interface DiscordOptions {
  readonly token: string
  readonly apiRoot: string
}

const TEXT_MAX = 2_000
const BUTTONS_MAX = 5
const NONCE_MAX = 25
/** Unknown channel, unknown user, a user who accepts no messages from the bot. */
const GONE = new Set([10_003, 10_013, 50_007])
const OWN_FAULT = new Set([401, 403, 404, 405])

const made = z.object({ id: z.string() })
const refused = z.object({
  code: z.number().optional(),
  message: z.string().optional(),
  /** Seconds. */
  retry_after: z.number().optional(),
})

export class DiscordChannel implements PushChannel {
  readonly name = CHANNEL
  readonly buttons = true
  readonly #options: DiscordOptions
  readonly #conversations = new Conversations()

  constructor(options: DiscordOptions) {
    this.#options = options
  }

  addressOf(text: string): string | null {
    return /^\d{15,20}$/.test(text) ? text : null
  }

  async invite(code: string) {
    return { words: `Write this to the bot in Discord, as a direct message: link ${code}` }
  }

  async send(push: Push, signal: AbortSignal): Promise<PushOutcome> {
    const nonce = Buffer.from(push.id.replaceAll('-', ''), 'hex').toString('base64url')
    return sendParts(push, TEXT_MAX, ({ text, number, last }) =>
      this.#post(
        push.address,
        {
          content: text,
          nonce: `${nonce}.${number}`.slice(0, NONCE_MAX),
          enforce_nonce: true,
          ...(last && push.buttons.length > 0 ? { components: [row(push.buttons)] } : {}),
        },
        signal,
      ),
    )
  }

  async say(address: string, text: string): Promise<void> {
    assertSent(await this.#post(address, { content: text }))
  }

  /** Confirms a button press, which otherwise shows as failed. */
  async pressed(id: string, token: string): Promise<void> {
    await this.ask(`/interactions/${id}/${token}/callback`, { type: 6 })
  }

  ask(path: string, body?: object, signal?: AbortSignal) {
    const { apiRoot, token } = this.#options
    const headers = { authorization: `Bot ${token}`, 'user-agent': 'DiscordBot (wakeful, 1)' }
    return askVendor({ url: `${apiRoot}${path}`, body, headers, signal })
  }

  async #post(user: string, message: object, signal?: AbortSignal): Promise<PartOutcome> {
    const channel = await this.#conversations.of(user, () =>
      this.#made('/users/@me/channels', { recipient_id: user }, signal),
    )
    if (typeof channel !== 'string') return channel
    // An agent's text must not mention anyone.
    const body = { ...message, allowed_mentions: { parse: [] } }
    return this.#made(`/channels/${channel}/messages`, body, signal)
  }

  async #made(path: string, body: object, signal?: AbortSignal): Promise<PartOutcome> {
    const { status, json, waitMs } = await this.ask(path, body, signal)
    const { id } = made.safeParse(json).data ?? {}
    if (status < 300 && id !== undefined) return { type: 'sent', id }
    const { code = 0, message = '', retry_after: seconds } = refused.safeParse(json).data ?? {}
    const error = `Discord: ${status} ${code} ${message}`.trim()
    if (GONE.has(code)) return { type: 'gone', error }
    if (status >= 400 && status < 500 && status !== 429 && !OWN_FAULT.has(status))
      return { type: 'dropped', error }
    return { type: 'later', waitMs: seconds === undefined ? waitMs : seconds * 1000, error }
  }
}

function row(buttons: readonly Button[]) {
  const components = buttons.slice(0, BUTTONS_MAX).map(({ label, value }) => ({
    type: 2,
    style: 2,
    label,
    custom_id: value,
  }))
  return { type: 1, components }
}
