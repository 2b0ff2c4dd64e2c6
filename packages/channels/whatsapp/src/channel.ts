/** WhatsApp as a channel: an address is a phone number, digits only. */
import { z } from 'zod'
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
import {
  askVendor,
  assertSent,
  hmacHex,
  isSame,
  type PartOutcome,
  sendParts,
} from '../../hub/src/vendor.ts'
import type { WhatsAppSettings } from './pack.ts'
import { CHANNEL, failureOf, postedOf } from './payload.ts'

/** The limit of a text with buttons. */
const TEXT_MAX = 1_024
const TEMPLATE_MAX = 900
const BUTTONS_MAX = 3
const LABEL_MAX = 20
const WINDOW_MS = 86_400_000

const sent = z.object({ messages: z.array(z.object({ id: z.string() })).min(1) })
const refused = z.object({ error: z.object({ code: z.number(), message: z.string().optional() }) })

export class WhatsAppChannel implements PushChannel {
  readonly name = CHANNEL
  readonly buttons = true
  readonly windowMs = WINDOW_MS
  readonly templated: boolean
  readonly #options: NonNullable<WhatsAppSettings['whatsapp']>

  constructor(options: NonNullable<WhatsAppSettings['whatsapp']>) {
    this.#options = options
    this.templated = options.template !== null
  }

  addressOf(text: string): string | null {
    const digits = text.replaceAll(/[\s()+-]/g, '')
    return /^\d{6,15}$/.test(digits) ? digits : null
  }

  async invite(code: string) {
    return { words: `Write this to the number in WhatsApp: link ${code}` }
  }

  async send(push: Push, signal: AbortSignal): Promise<PushOutcome> {
    const { template } = this.#options
    if (push.template && template !== null) {
      // A template is one message: longer text is cut; the conversation holds all of it.
      const content = oneLine(push.content)
      return sendParts({ ...push, content, partsSent: 0 }, TEMPLATE_MAX + 1, ({ text }) =>
        this.#post(push.address, templated(template, text), signal),
      )
    }
    return sendParts(push, TEXT_MAX, ({ text, last }) =>
      this.#post(push.address, withButtons(text, last ? push.buttons : []), signal),
    )
  }

  async say(address: string, text: string): Promise<void> {
    assertSent(await this.#post(address, withButtons(text, [])))
  }

  async receive(request: ChannelRequest, inbox: Inbox): Promise<ChannelAnswer> {
    const { appSecret } = this.#options
    if (request.method === 'GET') return this.#verify(request)
    const given = header(request, 'x-hub-signature-256')
    if (!isSame(given, `sha256=${hmacHex(appSecret, request.body)}`)) return { status: 401 }
    const posted = postedOf(jsonOf(request.body.toString('utf8')))
    if (posted === null) return { status: 400 }
    for (const heard of posted.heard) await inbox.heard(heard)
    for (const failed of posted.failed) await inbox.failed(failed)
    return { status: 200 }
  }

  /** Meta calls this once, when the webhook is registered. */
  #verify({ query }: ChannelRequest): ChannelAnswer {
    const right = isSame(query['hub.verify_token'] ?? '', this.#options.verifyToken)
    return right ? { status: 200, body: query['hub.challenge'] ?? '' } : { status: 401 }
  }

  async #post(to: string, content: object, signal?: AbortSignal): Promise<PartOutcome> {
    const { apiRoot, phoneId, token } = this.#options
    const answer = await askVendor({
      url: `${apiRoot}/${phoneId}/messages`,
      body: { messaging_product: 'whatsapp', recipient_type: 'individual', to, ...content },
      headers: { authorization: `Bearer ${token}` },
      signal,
    })
    const taken = sent.safeParse(answer.json)
    if (taken.success) return { type: 'sent', id: taken.data.messages[0]?.id ?? null }
    const told = refused.safeParse(answer.json).data?.error
    const { outcome, error } = failureOf(told?.code ?? 0, told?.message ?? String(answer.status))
    return outcome === 'later'
      ? { type: 'later', waitMs: answer.waitMs, error }
      : { type: outcome, error }
  }
}

function withButtons(text: string, buttons: readonly Button[]) {
  if (buttons.length === 0) return { type: 'text', text: { body: text, preview_url: false } }
  const shown = buttons.slice(0, BUTTONS_MAX).map(({ label, value }) => ({
    type: 'reply',
    reply: { id: value, title: label.slice(0, LABEL_MAX) },
  }))
  const interactive = { type: 'button', body: { text }, action: { buttons: shown } }
  return { type: 'interactive', interactive }
}

function templated(
  { name, language }: { readonly name: string; readonly language: string },
  text: string,
) {
  const parameters = [{ type: 'text', text }]
  const components = [{ type: 'body', parameters }]
  return { type: 'template', template: { name, language: { code: language }, components } }
}

/** Template parameters allow no line breaks and no runs of spaces. */
function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= TEMPLATE_MAX ? line : `${line.slice(0, TEMPLATE_MAX).trimEnd()}…`
}
