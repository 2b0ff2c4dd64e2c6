/** What single vendors have of their own: forged senders, unsubscribing, programs that write to programs, templates, a line that is resumed, tests of a link. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { type Stage, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { discordKit } from './discord.kit.ts'
import { emailKit, type MailKit } from './email.kit.ts'
import type { Kit } from './laws.ts'
import { whatsappKit } from './whatsapp.kit.ts'

const SECRET = 'a-secret-of-the-mail-server'
const agents = {
  bot: (turn: { event: { payload: unknown }; say(text: string): void }) => {
    const { wake_message: wake, text } = turn.event.payload as Record<string, string | undefined>
    turn.say(wake ?? `you said: ${text}`)
  },
}

eachStore('single vendors', (store) => {
  let email: MailKit
  let whatsapp: Kit
  let discord: Kit
  beforeAll(async () => {
    email = await emailKit()
    whatsapp = await whatsappKit()
    discord = await discordKit()
  })
  afterAll(() => Promise.all([email.stop(), whatsapp.stop(), discord.stop()]))
  const at = sharedStage(store, {
    agents,
    get env() {
      return { ...email.env, ...whatsapp.env, ...discord.env, WHATSAPP_TEMPLATE: 'news:en_US' }
    },
  })
  beforeEach(() => {
    for (const kit of [email, whatsapp, discord]) kit.reset()
  })
  const link = async (s: Stage, channel: string, address: string) => {
    const body = { channel, address, session_key: 'ann:bot:t' }
    const made = await s.call('POST', '/v1/links', body)
    expect(made.status, made.text).toBe(201)
    return made.body
  }
  const promise = async (s: Stage, text: string) => {
    const alarm = { kind: 'once', delay_seconds: 1, wake_message: text, agent_id: 'bot' }
    await s.set({ ...alarm, conversation_id: 't' }, { 'wakeful-act-as': 'ann' })
    await s.advanceBy(1_000)
  }
  const events = (s: Stage) =>
    s.query(`select payload ->> 'text' as text from wakeful.events where type = 'user_message'`)
  const post = async (s: Stage, lines: string[], path = '') => {
    const answer = await fetch(`${s.url}/v1/channels/email${path}`, {
      method: 'POST',
      headers: { 'content-type': 'message/rfc822', authorization: `Bearer ${SECRET}` },
      body: [...lines, '', 'hello there', ''].join('\r\n'),
    })
    return answer.status
  }

  it('e-mail: a From proves nothing, and what a program wrote is not answered', async () => {
    const s = at()
    const ann = email.address(1)
    await link(s, 'email', ann)
    await promise(s, 'take your pills')
    const mail = await email.newest(ann)
    const given = mail.replyTo?.[0]?.address ?? ''
    const id = (n: number) => `Message-ID: <${n}@x.example>`
    expect(await post(s, [`From: ${ann}`, 'To: agent@wakeful.example', id(1)])).toBe(200)
    expect(await post(s, ['From: eve@evil.example', `To: ${given}`, id(2)])).toBe(200)
    const auto = 'Auto-Submitted: auto-replied'
    expect(await post(s, [`From: ${ann}`, `To: ${given}`, auto, id(3)])).toBe(200)
    expect(await events(s)).toEqual([])
    expect(await post(s, [`From: Ann <${ann}>`, `To: ${given}`, id(4)])).toBe(200)
    expect(await events(s)).toEqual([{ text: 'hello there' }])
  })

  it('e-mail: says that a program wrote it, gathers in one thread, and is unsubscribed by one click, by nobody else', async () => {
    const s = at()
    const ann = email.address(2)
    await link(s, 'email', ann)
    await promise(s, 'take your pills')
    const [first, second] = [
      await email.newest(ann),
      await promise(s, 'and water').then(() => email.newest(ann)),
    ]
    expect([first.subject, first.references, first.messageId !== second.messageId]).toEqual([
      ...['take your pills', second.references, true],
    ])
    const header = (name: string) => first.headers.find(({ key }) => key === name)?.value ?? ''
    expect(header('auto-submitted')).toBe('auto-generated')
    expect(header('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
    const url = new URL(/<(.+)>/.exec(header('list-unsubscribe'))?.[1] ?? '')
    const ask = async (search: string, method: string) =>
      (await fetch(`${s.url}${url.pathname}${search}`, { method })).status
    const wrong = url.search.replace(/t=.*/, 't=000000000000000000000000')
    expect(await ask(wrong, 'POST')).toBe(401)
    // Programs look at links: only a POST ends it.
    expect(await ask(url.search, 'GET')).toBe(200)
    expect((await s.call('GET', '/v1/links')).body.data).toHaveLength(1)
    expect(await ask(url.search, 'POST')).toBe(200)
    expect((await s.call('GET', '/v1/links')).body.data).toEqual([])
  })

  it('WhatsApp: outside its day a promise goes as the template', async () => {
    const s = at()
    const ann = whatsapp.address(3)
    await link(s, 'whatsapp', ann)
    await promise(s, 'take your\n\npills')
    expect(whatsapp.arrived(ann)).toEqual(['news (en_US): take your pills'])
    await whatsapp.write?.(s, ann, 'hi')
    await s.settle()
    await promise(s, 'within the day')
    expect(whatsapp.arrived(ann).slice(1)).toEqual(['you said: hi', 'within the day'])
    await s.advanceBy(86_400_000)
    await promise(s, 'after it')
    expect(whatsapp.arrived(ann).at(-1)).toBe('news (en_US): after it')
  })

  it('Discord: what was said while nobody held the line is told when it is resumed', async () => {
    const s = at()
    const ann = discord.address(4)
    await link(s, 'discord', ann)
    await discord.write?.(s, ann, 'one')
    await discord.away?.(ann, 'two')
    await until('the line is laid again', async () => {
      await s.settle()
      return (await events(s)).length === 2
    })
    expect(await events(s)).toEqual([{ text: 'one' }, { text: 'two' }])
  })

  it('a link can be tried, and says what came of it; one that is gone ends', async () => {
    const s = at()
    const { id } = await link(s, 'email', email.address(5))
    expect((await s.call('POST', `/v1/links/${id}/test`)).body).toMatchObject({ outcome: 'sent' })
    expect(email.arrived(email.address(5))[0]).toContain('This is a test')
    email.refuse = () => 'gone'
    expect((await s.call('POST', `/v1/links/${id}/test`)).body).toMatchObject({
      ...{ outcome: 'gone', error: expect.stringContaining('no such user') },
    })
    expect((await s.call('POST', `/v1/links/${id}/test`)).status).toBe(404)
  })
})
