/** Web Push: browsers that show what agents say, also while no page is open. Its operation is there without it, too, and says what is missing. */
import type { Pack } from '../../../../src/app/pack.ts'
import { isToken, type Reader } from '../../../../src/core/variables.ts'
import { CHANNEL, operations, type Sender } from './operations.ts'

const SECRET_MIN = 32

export interface WebPushSettings {
  /** Null unless a secret is set. */
  readonly webPush: {
    /** Both keys are made from it. */
    readonly secret: string
    /** Whom push services can turn to. */
    readonly contact: string
  } | null
}

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
