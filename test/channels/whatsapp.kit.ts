/** WhatsApp: the Cloud API, its webhook, and a window of a day. */
import { createHmac } from 'node:crypto'
import { WhatsAppChannel } from '../../packages/channels/whatsapp/src/channel.ts'
import type { Loose } from '../setup/http.ts'
import type { Stage } from '../setup/listening-app.ts'
import { type Kit, LATER_MS, type Refusal } from './laws.ts'
import { type Answered, GIANT, OWN, post, startVendor } from './vendor.ts'

const TOKEN = 'EAAG-a-token-that-never-may-be-logged'
const SECRET = 'app-secret'
const PHONE = '106540352242922'

const refusal = (code: number, headers: Record<string, string> = {}): Answered => ({
  ...{ status: 400, headers, body: { error: { code, message: `(#${code}) no` } } },
})
const ANSWERS: Record<Refusal, Answered> = {
  later: { ...refusal(130_429, { 'retry-after': String(LATER_MS / 1000) }), status: 429 },
  gone: refusal(131_026),
  dropped: refusal(131_051),
  closed: refusal(131_047),
}

export async function whatsappKit(): Promise<Kit> {
  const sent: { to: string; text: string; id: string; type: string }[] = []
  let attempts = 0
  let next = 1
  const vendor = await startVendor(async ({ path, headers, body }) => {
    if (headers.authorization !== `Bearer ${TOKEN}`) return refusal(190)
    if (path !== `/${PHONE}/messages` || body.messaging_product !== 'whatsapp') return refusal(100)
    const text = body.text?.body ?? body.interactive?.body.text ?? templateText(body.template)
    if (!OWN.test(text)) attempts++
    const refused = kit.refuse(text)
    if (refused !== null) return ANSWERS[refused]
    const id = `wamid.${next++}`
    sent.push({ to: body.to, text, id, type: body.type })
    await kit.taken(text)
    return { body: { messaging_product: 'whatsapp', messages: [{ id }] } }
  })
  const options = {
    ...{ token: TOKEN, phoneId: PHONE, appSecret: SECRET, verifyToken: 'verify-me' },
    ...{ template: null, apiRoot: vendor.root },
  }
  const url = (s: Stage) => `${s.url}/v1/channels/whatsapp`
  const wrap = (value: object) => ({
    object: 'whatsapp_business_account',
    entry: [{ id: '1', changes: [{ field: 'messages', value }] }],
  })
  const signed = (s: Stage, body: string, secret = SECRET) => {
    const mac = createHmac('sha256', secret).update(body).digest('hex')
    const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${mac}` }
    return post(url(s), body, headers)
  }
  const tell = (s: Stage, value: object) => signed(s, JSON.stringify(wrap(value)))
  const newest = (address: string) => sent.findLast(({ to }) => to === address)?.id
  const kit: Kit = {
    name: 'whatsapp',
    env: {
      ...{ WHATSAPP_TOKEN: TOKEN, WHATSAPP_PHONE_ID: PHONE, WHATSAPP_APP_SECRET: SECRET },
      ...{ WHATSAPP_VERIFY_TOKEN: 'verify-me', WHATSAPP_API_ROOT: vendor.root },
    },
    address: (n) => `4917012${1000 + n}`,
    arrived: (address) =>
      sent.filter(({ to, text }) => to === address && !OWN.test(text)).map(({ text }) => text),
    attempts: () => attempts,
    refuse: () => null,
    taken: () => undefined,
    laterMs: LATER_MS,
    once: false,
    opens: true,
    channel: () => new WhatsAppChannel(options),
    async write(s, address, text, id = `wamid.in${next++}`) {
      const message = { from: address, id, timestamp: '0', type: 'text', text: { body: text } }
      return { id, status: await tell(s, { messages: [message] }) }
    },
    press: (s, address, value) =>
      tell(s, {
        messages: [
          {
            ...{ from: address, id: `wamid.in${next++}`, type: 'interactive' },
            interactive: { type: 'button_reply', button_reply: { id: value, title: value } },
            context: {
              id: sent.findLast(({ to, type }) => to === address && type === 'interactive')?.id,
            },
          },
        ],
      }),
    failLate: (s, address, how) =>
      tell(s, {
        statuses: [
          {
            ...{ id: newest(address), status: 'failed', recipient_id: address },
            errors: [{ code: how === 'closed' ? 131_047 : 131_053, title: 'it did not arrive' }],
          },
        ],
      }),
    async forged(s, address, text) {
      const message = { from: address, id: 'wamid.bad', type: 'text', text: { body: text } }
      const body = JSON.stringify(wrap({ messages: [message] }))
      const ask = (token: string) =>
        fetch(`${url(s)}?hub.mode=subscribe&hub.challenge=42&hub.verify_token=${token}`)
      await expectText(await ask('verify-me'), '42')
      return [
        ['unsigned', await post(url(s), body, { 'content-type': 'application/json' })],
        ['wrong secret', await signed(s, body, 'another')],
        ['wrong verify token', (await ask('guess')).status],
        ['malformed', await signed(s, '{"entry":')],
        ['giant', await signed(s, GIANT)],
      ]
    },
    reset: () => {
      sent.splice(0)
      attempts = 0
      kit.refuse = () => null
    },
    stop: () => vendor.stop(),
  }
  return kit
}

async function expectText(answer: Response, text: string): Promise<void> {
  const said = await answer.text()
  if (said !== text) throw new Error(`expected ${text}, got ${answer.status} ${said}`)
}

/** As the vendor fills it in; parameters with line breaks are refused there. */
function templateText({ name, language, components }: Loose): string {
  const [{ text }] = components[0].parameters
  if (/\n/.test(text)) throw new Error('no line breaks in parameters')
  return `${name} (${language.code}): ${text}`
}
