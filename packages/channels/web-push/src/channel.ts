/** Web Push as a channel: an address is a browser's subscription, which only that browser can create. */
import { lookup } from 'node:dns'
import { Agent, request } from 'undici'
import { z } from 'zod'
import { wallClock } from '../../../../src/clock.ts'
import { askedMs } from '../../../../src/core/backoff.ts'
import { callError, callRefusal, checkedLookup } from '../../../../src/core/calls/address.ts'
import { retryAfterOf } from '../../../../src/core/calls/signature.ts'
import { parseSessionKey } from '../../../../src/core/session.ts'
import type { Reason } from '../../../../src/features/sessions/gate.ts'
import {
  jsonOf,
  type Push,
  type PushChannel,
  type PushOutcome,
} from '../../../../src/kernel/channel.ts'
import { pushWaitMs } from '../../hub/src/text.ts'
import {
  authorization,
  CHANNEL,
  encrypted,
  isSubscription,
  type Keys,
  type Subscription,
} from './crypto.ts'

export interface WebPushOptions {
  readonly contact: string
  readonly allowPrivate: boolean
  readonly keys: Keys
}

const TIMEOUT_MS = 20_000
const ADDRESS_MAX = 2_000
/** A record holds 4,096 bytes including its header; the conversation holds the whole text. */
const TEXT_MAX_BYTES = 3_000
/** How long a push service keeps the message for an offline browser. */
const KEPT_SECONDS: Readonly<Record<Reason, number>> = {
  answer: 86_400,
  follow_up: 3_600,
  promise: 7 * 86_400,
  notice: 7 * 86_400,
}

const shape = z.object({
  endpoint: z.string().max(1_000),
  keys: z.object({ p256dh: z.string().max(200), auth: z.string().max(50) }),
})

export class WebPushChannel implements PushChannel {
  readonly name = CHANNEL
  readonly provesItself = true
  readonly #options: WebPushOptions
  readonly #agent: Agent

  constructor(options: WebPushOptions) {
    this.#options = options
    this.#agent = new Agent({ connect: { lookup: checkedLookup(options.allowPrivate, lookup) } })
  }

  /** The subscription as `pushManager.subscribe` returns it, reduced to the fields that matter. */
  addressOf(text: string): string | null {
    const subscription = this.#subscriptionIn(text)
    if (subscription === null) return null
    const { endpoint, p256dh, auth } = subscription
    const address = JSON.stringify({ endpoint, keys: { p256dh, auth } })
    return address.length > ADDRESS_MAX ? null : address
  }

  async send(push: Push, signal: AbortSignal): Promise<PushOutcome> {
    const subscription = this.#subscriptionIn(push.address)
    if (subscription === null) return { type: 'gone', error: 'Web Push: no subscription' }
    const { endpoint } = subscription
    const { contact, keys } = this.#options
    try {
      const { statusCode, headers, body } = await request(endpoint, {
        method: 'POST',
        dispatcher: this.#agent,
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
        headers: {
          authorization: authorization(keys, endpoint, contact, new Date(wallClock())),
          'content-encoding': 'aes128gcm',
          'content-type': 'application/octet-stream',
          ttl: String(KEPT_SECONDS[push.reason]),
          urgency: push.reason === 'follow_up' ? 'normal' : 'high',
        },
        body: encrypted(shownOf(push), subscription),
      })
      await body.dump()
      const asked = retryAfterOf(String(headers['retry-after'] ?? ''))
      const waitMs = asked === null ? null : askedMs(asked, new Date(wallClock()))
      return outcomeOf(statusCode, pushWaitMs(push.attempt, waitMs))
    } catch (error) {
      const waitMs = pushWaitMs(push.attempt, null)
      return { type: 'later', waitMs, error: `Web Push: ${callError(error)}`, partsSent: 0 }
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  #subscriptionIn(text: string): Subscription | null {
    const read = shape.safeParse(jsonOf(text))
    if (!read.success) return null
    const { endpoint, keys } = read.data
    const subscription = { endpoint, ...keys }
    const refused = callRefusal(endpoint, this.#options.allowPrivate) !== null
    return refused || !isSubscription(subscription) ? null : subscription
  }
}

/** What the page's service worker shows. */
function shownOf({ id, content, sessionKey }: Push): string {
  const bytes = Buffer.from(content)
  const cut = bytes
    .subarray(0, TEXT_MAX_BYTES)
    .toString('utf8')
    .replace(/\uFFFD+$/, '')
  const body = bytes.length <= TEXT_MAX_BYTES ? content : `${cut}…`
  const title = parseSessionKey(sessionKey)?.agentId ?? 'Wakeful'
  return JSON.stringify({ id, title, body, session_key: sessionKey })
}

/** 403: the subscription was made with another sender key. */
function outcomeOf(status: number, waitMs: number): PushOutcome {
  const error = `Web Push: answered ${status}`
  if (status >= 200 && status < 300) return { type: 'sent' }
  if (status === 404 || status === 410 || status === 403) return { type: 'gone', error }
  if (status === 429 || status >= 500 || status === 401)
    return { type: 'later', waitMs, error, partsSent: 0 }
  return { type: 'dropped', error }
}
