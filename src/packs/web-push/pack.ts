/** Web Push: browsers that show what agents say, also while no page is open. Its operation is there without it, too, and says what is missing. */
import type { Pack } from '../../app/pack.ts'
import type { Reader } from '../../core/variables.ts'
import { keepSetting } from '../../store/db/settings.ts'
import { CHANNEL, operations, type Sender } from './operations.ts'

export interface WebPushSettings {
  /** Null unless somebody is named whom push services can turn to. */
  readonly webPush: { readonly contact: string } | null
}

export const webPushPack = {
  name: CHANNEL,
  operations,
  readSettings(read: Reader): WebPushSettings {
    const isContact = (value: string) => /^(mailto:[^@\s]+@[^@\s]+|https:\/\/\S+)$/.test(value)
    const form = 'an address such as mailto:me@a.example, or an https:// URL'
    const contact = read.checked('WEB_PUSH_CONTACT', isContact, form)
    return { webPush: contact === null ? null : { contact } }
  },
  async open({ webPush, allowPrivateWebhooks: allowPrivate }, { store }) {
    if (webPush === null) return {}
    const [{ newKeys }, { WebPushChannel }] = await Promise.all([
      import('./crypto.ts'),
      import('./channel.ts'),
    ])
    // Made once and kept: whoever subscribed did so for these.
    const keys = async () =>
      JSON.parse(await keepSetting(store.db, 'web_push_keys', JSON.stringify(newKeys())))
    const channel = new WebPushChannel({ contact: webPush.contact, allowPrivate, keys })
    const own: Sender = { publicKey: async () => (await keys()).publicKey }
    return { own, pushChannels: [channel], close: () => channel.close() }
  },
} as const satisfies Pack<WebPushSettings>
