/** E-mail: a mail server that takes what we send, and mail that is posted to us. */
import PostalMime from 'postal-mime'
import { EmailChannel } from '../../packages/channels/email/src/channel.ts'
import type { Stage } from '../setup/listening-app.ts'
import type { Kit, Refusal } from './laws.ts'
import { startSmtp } from './smtp.ts'
import { GIANT, OWN, post } from './vendor.ts'

const SECRET = 'a-secret-of-the-mail-server'
const FROM = 'Agent <agent@wakeful.example>'

const AT_RECIPIENT: Partial<Record<Refusal, string>> = { gone: '550 5.1.1 no such user' }
const AT_CONTENT: Partial<Record<Refusal, string>> = {
  later: '451 4.7.1 try again later',
  dropped: '554 5.7.1 looks like spam',
}

export interface MailKit extends Kit {
  /** The newest mail to an address, as its program shows it. */
  newest(address: string): Promise<Awaited<ReturnType<typeof PostalMime.parse>>>
}

export async function emailKit(): Promise<MailKit> {
  const smtp = await startSmtp()
  const arrivals = new Map<string, string[]>()
  let attempts = 0
  let next = 1
  smtp.recipient = () => {
    // Whether somebody is there does not depend on what is said.
    const refused = AT_RECIPIENT[kit.refuse('') ?? 'closed']
    if (refused !== undefined) attempts++
    return refused ?? null
  }
  smtp.content = (raw, to) => {
    const text = textOf(raw)
    if (OWN.test(text)) return null
    attempts++
    const refused = AT_CONTENT[kit.refuse(text) ?? 'closed']
    if (refused !== undefined) return refused
    arrivals.set(to, [...(arrivals.get(to) ?? []), text])
    return null
  }
  smtp.kept = (raw) => kit.taken(textOf(raw))
  const options = {
    ...{ smtpUrl: smtp.url, from: FROM, secret: SECRET },
    publicUrl: 'https://wakeful.example',
  }
  const url = (s: Stage) => `${s.url}/v1/channels/email`
  const newest = async (address: string) => {
    const raw = smtp.taken.findLast(({ to }) => to === address)?.raw ?? ''
    return PostalMime.parse(raw)
  }
  const posted = (s: Stage, raw: string, secret = SECRET) =>
    post(url(s), raw, { 'content-type': 'message/rfc822', authorization: `Bearer ${secret}` })
  const mail = (address: string, to: string, id: string, text: string, more: string[] = []) =>
    [
      ...[`From: Ann <${address}>`, `To: ${to}`, `Message-ID: ${id}`, 'Subject: Re: hello'],
      ...[...more, 'MIME-Version: 1.0', 'Content-Type: text/plain; charset=utf-8', '', text, ''],
    ].join('\r\n')
  /** The address that answers go to, as the person's program would take it. */
  const answerTo = async (s: Stage, address: string) => {
    const { replyTo } = await newest(address)
    if (replyTo?.[0]?.address !== undefined) return replyTo[0].address
    const links = await s.query('select 1 from wakeful.links where address = $1', [address])
    if (links.length === 0) return 'agent@wakeful.example'
    const { answersTo } = await import('../../packages/channels/email/src/mail.ts')
    return answersTo('agent@wakeful.example', SECRET, address)
  }
  const kit: MailKit = {
    name: 'email',
    env: {
      ...{ EMAIL_SMTP_URL: smtp.url, EMAIL_FROM: FROM, EMAIL_SECRET: SECRET },
      EMAIL_PUBLIC_URL: 'https://wakeful.example',
    },
    address: (n) => `ann${n}@people.example`,
    arrived: (address) => arrivals.get(address) ?? [],
    attempts: () => attempts,
    handles: (address) =>
      smtp.taken
        .filter(({ to, raw }) => to === address && !OWN.test(textOf(raw)))
        .map(({ raw }) => /^Message-ID: (.+)$/im.exec(raw)?.[1]?.trim() ?? ''),
    refuse: () => null,
    taken: () => undefined,
    laterMs: 1_000,
    once: false,
    newest,
    channel: () => new EmailChannel(options),
    async write(s, address, text, id = `<in${next++}@people.example>`) {
      const raw = mail(address, await answerTo(s, address), id, text)
      return { id, status: await posted(s, raw) }
    },
    async answer(s, address, text) {
      const { messageId = '' } = await newest(address)
      const own = `<in${next++}@people.example>`
      const quoted = `${text}\r\n\r\nOn Thu, 1 Jan 2026 at 00:00, Agent wrote:\r\n> something`
      const to = await answerTo(s, address)
      await posted(s, mail(address, to, own, quoted, [`In-Reply-To: ${messageId}`]))
      await s.settle()
      return (await newest(address)).inReplyTo === own
    },
    async failLate(s, address) {
      const { messageId } = await newest(address)
      return posted(s, bounce(address, messageId ?? ''))
    },
    async forged(s, address, text) {
      const raw = mail(address, 'agent@wakeful.example', '<bad@x.example>', text)
      const headers = { 'content-type': 'message/rfc822' }
      return [
        ['unsigned', await post(url(s), raw, headers)],
        ['wrong secret', await posted(s, raw, 'another-secret-altogether')],
        ['malformed', await posted(s, 'no mail at all')],
        ['giant', await posted(s, GIANT)],
      ]
    },
    reset: () => {
      smtp.taken.splice(0)
      arrivals.clear()
      attempts = 0
      kit.refuse = () => null
    },
    stop: () => smtp.stop(),
  }
  return kit
}

/** What follows the headers; our texts are short enough to be sent as they are. */
function textOf(raw: string): string {
  return raw.slice(raw.indexOf('\r\n\r\n') + 4).trim()
}

/** What a mail server sends back (RFC 3464). */
function bounce(address: string, messageId: string): string {
  return [
    ...['From: MAILER-DAEMON@people.example', 'To: agent@wakeful.example', 'Message-ID: <dsn@x>'],
    ...['Auto-Submitted: auto-replied', 'MIME-Version: 1.0'],
    'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
    ...['', '--b', 'Content-Type: text/plain', '', 'It could not be delivered.', ''],
    ...[
      '--b',
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; mx.people.example',
    ],
    ...['', `Final-Recipient: rfc822; ${address}`, 'Action: failed', 'Status: 5.2.2'],
    ...['Diagnostic-Code: smtp; 552 5.2.2 mailbox full', ''],
    ...[
      '--b',
      'Content-Type: text/rfc822-headers',
      '',
      `Message-ID: ${messageId}`,
      '',
      '--b--',
      '',
    ],
  ].join('\r\n')
}
