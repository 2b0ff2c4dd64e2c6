/** E-mail as a channel: an address is a lower-case e-mail address. */
import { createHash } from 'node:crypto'
import { createTransport, type SendMailOptions, type Transporter } from 'nodemailer'
import { errorText } from '../../../../src/core/errors.ts'
import {
  type ChannelAnswer,
  type ChannelRequest,
  header,
  type Inbox,
  type Push,
  type PushChannel,
  type PushOutcome,
} from '../../../../src/kernel/channel.ts'
import { pushWaitMs } from '../../hub/src/text.ts'
import { isSame } from '../../hub/src/vendor.ts'
import { takeMail } from './incoming.ts'
import { addressIn, answersTo, subjectOf, tokenOf } from './mail.ts'
import type { EmailSettings } from './pack.ts'

export const CHANNEL = 'email'
const TIMEOUT_MS = 20_000
/** The mailbox does not exist or refuses us for good. */
const GONE = new Set([550, 551, 553])

interface SmtpError {
  readonly code?: string
  readonly responseCode?: number
  readonly response?: string
}

export class EmailChannel implements PushChannel {
  readonly name = CHANNEL
  /** Anyone can forge the sender of a mail. */
  readonly origin = 'mail'
  readonly #options: NonNullable<EmailSettings['email']>
  readonly #own: string
  readonly #transport: Transporter

  constructor(options: NonNullable<EmailSettings['email']>) {
    this.#options = options
    this.#own = addressIn(options.from) ?? ''
    this.#transport = createTransport(options.smtpUrl, {
      from: options.from,
      // A message must not make nodemailer read a file or fetch a URL.
      disableFileAccess: true,
      disableUrlAccess: true,
    })
  }

  addressOf(text: string): string | null {
    return addressIn(text)
  }

  async invite(code: string) {
    const url = `mailto:${this.#own}?subject=${encodeURIComponent('Link')}&body=${encodeURIComponent(`link ${code}`)}`
    return { url, words: `Send an e-mail to ${this.#own} with nothing in it but: link ${code}` }
  }

  async send(push: Push, signal: AbortSignal): Promise<PushOutcome> {
    const messageId = this.#id(push.id)
    // Mail programs group messages by their first ancestor, so one id for the session is enough.
    const root = this.#id(createHash('sha256').update(push.sessionKey).digest('hex').slice(0, 32))
    const asked = push.answers !== null && /^<.+>$/.test(push.answers) ? push.answers : null
    try {
      await this.#mail(push.address, {
        messageId,
        subject: subjectOf(push.content),
        text: push.content,
        references: asked === null ? [root] : [root, asked],
        ...(asked === null ? {} : { inReplyTo: asked }),
        signal,
      })
      return { type: 'sent', ids: [messageId] }
    } catch (error) {
      return outcomeOf(error, push)
    }
  }

  async say(address: string, text: string): Promise<void> {
    await this.#mail(address, { subject: subjectOf(text), text })
  }

  /** Posted mail carries the secret; an unsubscribe link carries a token. */
  async receive(request: ChannelRequest, inbox: Inbox): Promise<ChannelAnswer> {
    const { secret } = this.#options
    if (secret === null) return { status: 401 }
    const { stop, t: token = '' } = request.query
    if (stop !== undefined) {
      if (!isSame(token, tokenOf(secret, 'stop', stop))) return { status: 401 }
      // Link scanners send GET, which must not unsubscribe.
      if (request.method === 'GET') return { status: 200, body: ASK_AGAIN }
      await inbox.stop(CHANNEL, stop)
      return { status: 200, body: 'Nothing more will come to this address.' }
    }
    if (!isSame(header(request, 'authorization'), `Bearer ${secret}`)) return { status: 401 }
    if (request.method === 'GET') return { status: 200 }
    return takeMail(request.body, secret, inbox)
  }

  async close(): Promise<void> {
    this.#transport.close()
  }

  #id(name: string): string {
    return `<${name}@${this.#own.split('@')[1]}>`
  }

  async #mail(
    to: string,
    { signal, ...mail }: SendMailOptions & { signal?: AbortSignal },
  ): Promise<void> {
    const { secret, publicUrl } = this.#options
    const stop = secret === null ? '' : tokenOf(secret, 'stop', to)
    const unsubscribe = `${publicUrl}/v1/channels/email?stop=${encodeURIComponent(to)}&t=${stop}`
    const late = AbortSignal.timeout(TIMEOUT_MS)
    const sent = this.#transport.sendMail({
      from: this.#options.from,
      to,
      ...mail,
      ...(secret === null ? {} : { replyTo: answersTo(this.#own, secret, to) }),
      headers: {
        'Auto-Submitted': 'auto-generated',
        ...(secret === null || publicUrl === null
          ? {}
          : {
              'List-Unsubscribe': `<${unsubscribe}>`,
              'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
            }),
      },
    })
    const cut = new Promise<never>((_, fail) => {
      const end = () => fail(new Error('the mail server did not answer in time'))
      ;(signal === undefined ? late : AbortSignal.any([signal, late])).addEventListener(
        'abort',
        end,
      )
    })
    await Promise.race([sent, cut])
  }
}

const ASK_AGAIN =
  'To get nothing more, press "unsubscribe" in your mail program, or answer to any mail with: unlink'

/** Errors of our own mail server are retried: an operator can fix them. */
function outcomeOf(error: unknown, { attempt }: Push): PushOutcome {
  const { code, responseCode = 0, response } = error as SmtpError
  const words = `e-mail: ${response ?? errorText(error, 300)}`
  const refused = responseCode >= 500 && code !== 'EAUTH'
  if (refused && code === 'EENVELOPE' && GONE.has(responseCode))
    return { type: 'gone', error: words }
  if (refused) return { type: 'dropped', error: words }
  return { type: 'later', waitMs: pushWaitMs(attempt, null), error: words, partsSent: 0 }
}
