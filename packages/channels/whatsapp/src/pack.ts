/** WhatsApp, by Meta's Cloud API. Free text is allowed for 24 hours after a person wrote; after that only templates. */
import type { Pack } from '../../../../src/app/pack.ts'
import { HTTP_URL, isHttpUrl, isToken, type Reader } from '../../../../src/core/variables.ts'

const API_ROOT = 'https://graph.facebook.com/v25.0'
const SETTINGS = ['WHATSAPP_PHONE_ID', 'WHATSAPP_APP_SECRET', 'WHATSAPP_VERIFY_TOKEN'] as const

export interface WhatsAppSettings {
  /** Null unless a token is set. */
  readonly whatsapp: {
    readonly token: string
    /** The sending number. */
    readonly phoneId: string
    /** Signs webhook requests. */
    readonly appSecret: string
    /** Chosen by the operator; Meta sends it when the webhook is registered. */
    readonly verifyToken: string
    /** Its only parameter is the text. Null: messages wait until the window is open. */
    readonly template: { readonly name: string; readonly language: string } | null
    readonly apiRoot: string
  } | null
}

export const whatsappPack = {
  name: 'whatsapp',
  readSettings(read: Reader): WhatsAppSettings {
    const token = read.checked('WHATSAPP_TOKEN', isToken, 'an access token', 'secret')
    const [phoneId, appSecret, verifyToken] = SETTINGS.map((name) =>
      read.checked(name, isToken, 'what the app’s page shows', 'secret'),
    )
    const form = 'a template and its language, such as news:en_US'
    const template = read.parsed('WHATSAPP_TEMPLATE', templateOf, form) ?? null
    const apiRoot = read.checked('WHATSAPP_API_ROOT', isHttpUrl, HTTP_URL) ?? API_ROOT
    if (token === null) return { whatsapp: null }
    if (!phoneId || !appSecret || !verifyToken) {
      read.refuse('WHATSAPP_TOKEN', 'it alone', `also ${SETTINGS.join(', ')}`)
      return { whatsapp: null }
    }
    const account = { token, phoneId, appSecret, verifyToken, template }
    return { whatsapp: { ...account, apiRoot: apiRoot.replace(/\/+$/, '') } }
  },
  async open({ whatsapp }) {
    if (whatsapp === null) return {}
    const { WhatsAppChannel } = await import('./channel.ts')
    return { pushChannels: [new WhatsAppChannel(whatsapp)] }
  },
} as const satisfies Pack<WhatsAppSettings>

function templateOf(text: string) {
  const [, name, language] = /^([a-z0-9_]{1,512}):([a-z]{2,3}(?:_[A-Z]{2})?)$/.exec(text) ?? []
  return name === undefined || language === undefined ? undefined : { name, language }
}
