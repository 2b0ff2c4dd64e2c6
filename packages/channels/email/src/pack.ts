/** E-mail: sent over SMTP; received as raw messages that a mail server or service posts to us. */
import type { Pack } from '../../../../src/app/pack.ts'
import { HTTP_URL, isHttpUrl, isToken, type Reader } from '../../../../src/core/variables.ts'
import { addressIn } from './mail.ts'

const SECRET_MIN = 16

export interface EmailSettings {
  /** Null unless a mail server is set. */
  readonly email: {
    /** `smtp://user:password@host:587`, `smtps://…` */
    readonly smtpUrl: string
    readonly from: string
    /** Callers that post mail to us send it, and it signs reply addresses. Null: incoming mail is off. */
    readonly secret: string | null
    /** The public address of this server, for one-click unsubscribing. */
    readonly publicUrl: string | null
  } | null
}

export const emailPack = {
  name: 'email',
  readSettings(read: Reader): EmailSettings {
    const isSmtp = (value: string) => /^smtps?:\/\//i.test(value) && URL.canParse(value)
    const smtpUrl = read.checked('EMAIL_SMTP_URL', isSmtp, 'an smtp:// or smtps:// URL', 'secret')
    const isFrom = (value: string) => addressIn(value) !== null
    const from = read.checked('EMAIL_FROM', isFrom, 'an address, such as Agent <agent@a.example>')
    const isSecret = (value: string) => value.length >= SECRET_MIN && isToken(value)
    const form = `at least ${SECRET_MIN} characters`
    const secret = read.checked('EMAIL_SECRET', isSecret, form, 'secret')
    const publicUrl = read.checked('EMAIL_PUBLIC_URL', isHttpUrl, HTTP_URL)
    if (smtpUrl === null) return { email: null }
    if (from === null) {
      read.refuse('EMAIL_SMTP_URL', 'it alone', 'also EMAIL_FROM')
      return { email: null }
    }
    return {
      email: { smtpUrl, from, secret, publicUrl: publicUrl?.replace(/\/+$/, '') ?? null },
    }
  },
  async open({ email }) {
    if (email === null) return {}
    const { EmailChannel } = await import('./channel.ts')
    const channel = new EmailChannel(email)
    return { pushChannels: [channel], close: () => channel.close() }
  },
} as const satisfies Pack<EmailSettings>
