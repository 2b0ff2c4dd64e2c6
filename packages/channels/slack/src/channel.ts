/** Slack as a channel: sends by `chat.postMessage`, receives signed requests or Socket Mode, and maps each error to an outcome. */
import { z } from 'zod'
import type { PackApp } from '../../../../src/app/pack.ts'
import {
  type Button,
  type ChannelAnswer,
  type ChannelRequest,
  header,
  type Inbox,
  jsonOf,
  type Push,
  type PushChannel,
  type PushOutcome,
} from '../../../../src/kernel/channel.ts'
import { ChannelConnection } from '../../hub/src/connection.ts'
import {
  askVendor,
  assertSent,
  Conversations,
  hmacHex,
  isSame,
  isYoung,
  type PartOutcome,
  sendParts,
  type VendorAnswer,
} from '../../hub/src/vendor.ts'
import { CHANNEL, escaped, heardOf, threadOf } from './payload.ts'

export interface SlackOptions {
  readonly token: string
  readonly signingSecret: string | null
  readonly apiRoot: string
}

/** A text with buttons is a section block: at most 3,000 characters, counted after escaping. */
const TEXT_MAX = 2_000
/** The address will never work. */
const GONE = new Set([
  ...['channel_not_found', 'is_archived', 'user_not_found', 'user_disabled'],
  ...['cannot_dm_bot', 'user_not_visible'],
])
/** This message cannot be sent; others can. */
const DROPPED = new Set([
  ...['msg_too_long', 'no_text', 'invalid_blocks', 'invalid_blocks_format'],
  ...['restricted_action', 'cannot_reply_to_message'],
])

const answered = z.object({
  ok: z.boolean(),
  error: z.string().optional(),
  ts: z.string().optional(),
  channel: z.union([z.string(), z.object({ id: z.string() })]).optional(),
})
type Answered = z.infer<typeof answered>

export class SlackChannel implements PushChannel {
  readonly name = CHANNEL
  readonly buttons = true
  readonly #options: SlackOptions
  readonly #conversations = new Conversations()

  constructor(options: SlackOptions) {
    this.#options = options
  }

  addressOf(text: string): string | null {
    return /^[UW][A-Z0-9]{1,30}$/.test(text) ? text : null
  }

  async invite(code: string) {
    return { words: `Write this to the app in Slack, as a direct message: link ${code}` }
  }

  async send(push: Push, signal: AbortSignal): Promise<PushOutcome> {
    const thread = threadOf(push.answers)
    return sendParts(push, TEXT_MAX, ({ text, last }) =>
      this.#post(push.address, {
        ...withButtons(escaped(text), last ? push.buttons : []),
        ...(thread === undefined ? {} : { thread_ts: thread }),
        unfurl_links: false,
        unfurl_media: false,
        signal,
      }),
    )
  }

  async say(address: string, text: string): Promise<void> {
    assertSent(await this.#post(address, { text: escaped(text) }))
  }

  async receive(request: ChannelRequest, inbox: Inbox): Promise<ChannelAnswer> {
    const { body, now } = request
    const secret = this.#options.signingSecret
    const seconds = header(request, 'x-slack-request-timestamp')
    const given = header(request, 'x-slack-signature')
    if (secret === null || !isYoung(seconds, now)) return { status: 401 }
    if (!isSame(given, `v0=${hmacHex(secret, `v0:${seconds}:`, body)}`)) return { status: 401 }
    const text = body.toString('utf8')
    // Buttons come as a form with one field.
    const payload = jsonOf(
      text.startsWith('payload=') ? (new URLSearchParams(text).get('payload') ?? '') : text,
    )
    if (payload === undefined) return { status: 400 }
    const { type, challenge } = payload as { type?: unknown; challenge?: unknown }
    if (type === 'url_verification') return { status: 200, body: { challenge } }
    await this.take(payload, inbox)
    return { status: 200 }
  }

  async take(payload: unknown, inbox: Inbox): Promise<void> {
    const heard = heardOf(payload)
    if (heard !== null) await inbox.heard(heard)
  }

  /** Calls a method of the Web API. */
  async ask(method: string, body: object, signal?: AbortSignal, token = this.#options.token) {
    const { apiRoot } = this.#options
    const headers = { authorization: `Bearer ${token}` }
    const answer = await askVendor({ url: `${apiRoot}/${method}`, body, headers, signal })
    return { answer, told: answered.safeParse(answer.json).data ?? null }
  }

  async #post(
    user: string,
    { signal, ...message }: { signal?: AbortSignal; [field: string]: unknown },
  ): Promise<PartOutcome> {
    const channel = await this.#conversations.of(user, async () => {
      const { answer, told } = await this.ask('conversations.open', { users: user }, signal)
      return told?.ok && typeof told.channel === 'object'
        ? { type: 'sent', id: told.channel.id }
        : outcomeOf(answer, told)
    })
    if (typeof channel !== 'string') return channel
    const { answer, told } = await this.ask('chat.postMessage', { channel, ...message }, signal)
    return told?.ok ? { type: 'sent', id: told.ts ?? null } : outcomeOf(answer, told)
  }
}

function withButtons(text: string, buttons: readonly Button[]) {
  if (buttons.length === 0) return { text }
  const elements = buttons.map(({ label, value }) => ({
    type: 'button',
    action_id: value,
    value,
    text: { type: 'plain_text', text: label },
  }))
  const section = { type: 'section', text: { type: 'mrkdwn', text } }
  return { text, blocks: [section, { type: 'actions', elements }] }
}

/** Errors of the token or its scopes are retried: an operator can fix them. */
function outcomeOf({ status, waitMs }: VendorAnswer, told: Answered | null): PartOutcome {
  const error = `Slack: ${told?.error ?? `answered ${status}`}`
  if (told?.error !== undefined && GONE.has(told.error)) return { type: 'gone', error }
  if (told?.error !== undefined && DROPPED.has(told.error)) return { type: 'dropped', error }
  return { type: 'later', waitMs, error }
}

const envelope = z.object({
  type: z.string(),
  envelope_id: z.string().optional(),
  payload: z.unknown().optional(),
})
const opened = z.object({ ok: z.literal(true), url: z.string() })

/** Socket Mode: the same payloads over a WebSocket. An envelope is acknowledged after its message is durable. */
export function socketMode(
  channel: SlackChannel,
  { appToken, leaseMs }: { readonly appToken: string; readonly leaseMs: number },
  { store, meter, inbox }: PackApp,
): ChannelConnection {
  return new ChannelConnection({
    // An app has one connection, in any process.
    account: { channel: CHANNEL, account: 'socket-mode' },
    db: store.commits,
    leaseMs,
    trouble: (error) => meter.trouble('slack', error),
    async prepare() {
      const { answer, told } = await channel.ask('apps.connections.open', {}, undefined, appToken)
      const open = opened.safeParse(answer.json)
      if (!open.success) throw new Error(`Slack: ${told?.error ?? `answered ${answer.status}`}`)
      return {
        url: open.data.url,
        async take(frame, connection) {
          const { type, envelope_id: id, payload } = envelope.parse(frame)
          if (type === 'disconnect') connection.end()
          if (id === undefined) return
          await channel.take(payload, inbox)
          connection.send({ envelope_id: id })
        },
      }
    },
  })
}
