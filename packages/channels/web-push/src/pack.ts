/** Web Push: browsers show messages even while no page is open. Without settings the operation exists and names the missing one. */
import { z } from 'zod'
import { operation } from '../../../../src/api/contract.ts'
import type { Pack } from '../../../../src/app/pack.ts'
import { Refusal } from '../../../../src/core/errors.ts'
import { isToken, type Reader } from '../../../../src/core/variables.ts'
import { CHANNEL } from './crypto.ts'

const SECRET_MIN = 32

export interface WebPushSettings {
  /** Null unless a secret is set. */
  readonly webPush: {
    /** Both keys are derived from it. */
    readonly secret: string
    /** How push services can reach the operator. */
    readonly contact: string
  } | null
}

/** What the operation uses of the channel. */
export interface Sender {
  readonly publicKey: string
}

/** The subscription itself is the address of a link. */
const operations = [
  operation({
    name: 'get_web_push_key',
    method: 'GET',
    path: '/v1/web-push/key',
    tag: 'Links',
    summary: 'The key that a browser subscribes with',
    description:
      'Given as `applicationServerKey` to `pushManager.subscribe`. What comes back, as JSON, is the `address` of `POST /v1/links` with the channel `web-push`.',
    owner: 'nobody',
    roles: ['admin', 'service', 'agent', 'user'],
    // It has no owner and needs no database.
    refuses: ['conflict'],
    output: z.object({ public_key: z.string() }),
    async run({ kernel }) {
      const sender = kernel.app.packs.own[CHANNEL] as Sender | undefined
      if (sender === undefined)
        throw new Refusal('conflict', 'Web Push is not set up here: set WEB_PUSH_SECRET')
      return { body: { public_key: sender.publicKey } }
    },
  }),
]

export const webPushPack = {
  name: CHANNEL,
  operations,
  readSettings(read: Reader): WebPushSettings {
    const isSecret = (value: string) => value.length >= SECRET_MIN && isToken(value)
    const long = `at least ${SECRET_MIN} characters`
    const secret = read.checked('WEB_PUSH_SECRET', isSecret, long, 'secret')
    const isContact = (value: string) => /^(mailto:[^@\s]+@[^@\s]+|https:\/\/\S+)$/.test(value)
    const form = 'an address such as mailto:me@a.example, or an https:// URL'
    const contact = read.checked('WEB_PUSH_CONTACT', isContact, form)
    if (secret === null) return { webPush: null }
    if (contact === null) {
      read.refuse('WEB_PUSH_SECRET', 'it alone', 'also WEB_PUSH_CONTACT')
      return { webPush: null }
    }
    return { webPush: { secret, contact } }
  },
  async open({ webPush, allowPrivateWebhooks: allowPrivate }) {
    if (webPush === null) return {}
    const [{ keysOf }, { WebPushChannel }] = await Promise.all([
      import('./crypto.ts'),
      import('./channel.ts'),
    ])
    const keys = keysOf(webPush.secret)
    const channel = new WebPushChannel({ contact: webPush.contact, allowPrivate, keys })
    const own: Sender = { publicKey: keys.publicKey }
    return { own, pushChannels: [channel], close: () => channel.close() }
  },
} as const satisfies Pack<WebPushSettings>
