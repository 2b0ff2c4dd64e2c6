/** The pure rules of channels: which way a message takes, what people say to the engine, what is new in a mail, and what is encrypted how. */
import { createECDH } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  addressIn,
  answersTo,
  bounceOf,
  isAnswer,
  newText,
} from '../../packages/channels/email/src/mail.ts'
import {
  type Candidate,
  chooseRoute,
  type Sending,
  settleSent,
  type Told,
  type Window,
} from '../../packages/channels/hub/src/route.ts'
import { readWord } from '../../packages/channels/hub/src/text.ts'
import { heardOf } from '../../packages/channels/slack/src/payload.ts'
import { encrypted } from '../../packages/channels/web-push/src/crypto.ts'
import { postedOf } from '../../packages/channels/whatsapp/src/payload.ts'
import { REASONS } from '../../src/features/sessions/gate.ts'

const HOUR = 3_600_000
const WINDOWS: Record<string, Window> = {
  plain: { windowMs: null, templated: false },
  windowed: { windowMs: HOUR, templated: false },
  templated: { windowMs: HOUR, templated: true },
}
const windowOf = (channel: string) => WINDOWS[channel] as Window
const links = fc.array(
  fc.record({
    id: fc.uuid(),
    channel: fc.constantFrom('plain', 'windowed', 'templated'),
    address: fc.constant('a'),
    closed: fc.boolean(),
    silentMs: fc.option(fc.integer({ min: 0, max: 2 * HOUR })),
  }),
  { maxLength: 5 },
)
const isOpen = ({ channel, closed, silentMs }: Candidate) =>
  !closed && (channel === 'plain' || (silentMs !== null && silentMs < HOUR))

describe('the way of a message', () => {
  it('property: nothing goes into a closed window but a template; what is promised goes by the first link that takes it, or waits', () => {
    fc.assert(
      fc.property(links, fc.constantFrom(...REASONS), (all, reason) => {
        const route = chooseRoute(reason, all, windowOf)
        if (route.type === 'send') {
          expect(isOpen(route.link)).toBe(!route.template)
          if (route.template) expect(route.link.channel).toBe('templated')
        }
        if (reason === 'follow_up') {
          // It neither waits for a window nor looks for another way.
          const [first] = all
          const wanted = first === undefined ? 'wait' : isOpen(first) ? 'send' : 'drop'
          expect([route.type, route.link]).toEqual([wanted, first ?? null])
          return
        }
        expect(route.type).not.toBe('drop')
        const first = all.findIndex((link) => isOpen(link) || link.channel === 'templated')
        expect(route.link).toBe(all[first === -1 ? 0 : first] ?? null)
        if (route.type === 'send') expect(route.passed).toEqual(all.slice(0, first))
        else expect(first).toBe(-1)
      }),
    )
  })

  it('property: after any answer of a channel a promise with another way left is not given up, and only what was sent is sent', () => {
    const told = fc.oneof(
      fc.constantFrom<Told>({ type: 'sent', ids: ['1'] }, { type: 'elsewhere' }),
      fc.constantFrom('closed', 'dropped', 'gone').map((type): Told => ({ type, error: 'no' })),
      fc.nat(3).map((partsSent): Told => ({ type: 'later', waitMs: 5, error: 'no', partsSent })),
    )
    fc.assert(
      fc.property(
        told,
        links,
        fc.boolean(),
        fc.constantFrom(...REASONS),
        (said, all, template, reason) => {
          const [link] = all
          if (link === undefined) return
          const message: Sending = { reason, links: all, partsSent: 0, refused: false }
          const { outcome, tried } = settleSent(
            { type: 'send', link, template, passed: [] },
            said,
            message,
          )
          expect(outcome === 'sent').toBe(said.type === 'sent')
          expect(tried).toBe(said.type !== 'elsewhere')
          if (all.length > 1 && reason !== 'follow_up') expect(outcome).not.toBe('dropped')
          if (said.type === 'gone') expect(outcome).not.toBe('dropped')
        },
      ),
    )
  })
})

describe('what is said to the engine', () => {
  it.each([
    ['snooze 10m', { type: 'snooze', seconds: 600 }],
    ['Snooze 1 hour', { type: 'snooze', seconds: 3_600 }],
    ['snooze', { type: 'snooze', seconds: 3_600 }],
    ['snooze tomorrow', { type: 'snooze', seconds: 86_400 }],
    ['snooze 2 days', { type: 'snooze', seconds: 172_800 }],
    ['Stop this.', { type: 'stop' }],
    ['why?', { type: 'why' }],
    ['Why did you write?', { type: 'why' }],
    ['snooze 0m', null],
    ['snooze 9999d', null],
    ['snooze this until I am back', null],
    ['why not?', null],
    ['please stop this', null],
  ])('%j', (text, word) => expect(readWord(text)).toEqual(word))
})

describe('a mail', () => {
  it('is from a bare address in small letters, or from nobody', () => {
    expect(addressIn('Ann B <Ann.B@People.Example>')).toBe('ann.b@people.example')
    for (const wrong of ['', 'ann', 'ann@', 'a b@c.de', 'a@b@c.de', '<>', 'a@-'])
      expect(addressIn(wrong)).toBeNull()
  })

  it('says what is new in it: no quotes, no signature', () => {
    expect(
      newText('Done!\r\n\r\nOn Thu, 1 Jan 2026 at 09:00, Agent <a@b.c>\r\nwrote:\r\n> x'),
    ).toBe('Done!')
    expect(newText('One\n> quoted\nTwo\n-- \nAnn\nHead of Tea')).toBe('One\nTwo')
    expect(newText('link abc')).toBe('link abc')
  })

  it('speaks for its sender only at the address that they were given', () => {
    const given = answersTo('agent@w.example', 'secret', 'ann@people.example')
    expect(isAnswer([given], 'secret', 'ann@people.example')).toBe(true)
    expect(isAnswer([given], 'secret', 'bea@people.example')).toBe(false)
    expect(isAnswer([given], 'another', 'ann@people.example')).toBe(false)
    expect(isAnswer(['agent@w.example', ''], 'secret', 'ann@people.example')).toBe(false)
  })

  it('may say that another did not arrive', () => {
    const status = (action: string, code: string) =>
      `Reporting-MTA: dns; x\n\nFinal-Recipient: RFC822; Ann@people.example\nAction: ${action}\nStatus: ${code}\n`
    const returned = 'Message-ID: <1@w.example>\n'
    expect(bounceOf(status('failed', '5.1.1'), returned)).toEqual({
      ...{ recipient: 'ann@people.example', messageId: '<1@w.example>' },
      ...{ gone: true, words: 'status 5.1.1' },
    })
    expect(bounceOf(status('delayed', '4.4.1'), returned)).toBeNull()
    expect(bounceOf(status('failed', '5.2.2'), 'Subject: no id')).toBeNull()
  })
})

describe('what vendors post', () => {
  const message = {
    type: 'message',
    channel_type: 'im',
    user: 'U1',
    ts: '1.1',
    text: 'a &amp; <b>',
  }
  const said = (event: object) => heardOf({ type: 'event_callback', event })
  it('of Slack: people’s own words, no edits, no bots, no channels', () => {
    expect(said({ ...message, text: '1 &lt; 2 &amp; <https://a.example|a>' })).toMatchObject({
      ...{ text: '1 < 2 & https://a.example', address: 'U1', id: '1.1', to: null },
    })
    expect(said({ ...message, thread_ts: '1.0' })).toMatchObject({ id: '1.1/1.0', to: '1.0' })
    // Slack repeats an event under its id, whatever else of it has changed.
    const repeated = (ts: string, thread_ts?: string) =>
      heardOf({ type: 'event_callback', event_id: 'Ev1', event: { ...message, ts, thread_ts } })
    expect(repeated('1.2')).toMatchObject({ id: 'Ev1' })
    expect(repeated('1.3', '1.0')).toMatchObject({ id: 'Ev1/1.0', to: '1.0' })
    expect(said({ ...message, subtype: 'message_changed' })).toBeNull()
    expect(said({ ...message, bot_id: 'B1' })).toBeNull()
    expect(said({ ...message, channel_type: 'channel' })).toBeNull()
  })

  it('property: whatever it is, it is read or passed over, never an error', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        heardOf(value)
        postedOf(value)
        postedOf({ entry: [{ changes: [{ value: { messages: [value], statuses: value } }] }] })
      }),
    )
  })
})

it('Web Push encrypts as the example of RFC 8291 does', () => {
  const pair = createECDH('prime256v1')
  pair.setPrivateKey('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw', 'base64url')
  const subscription = {
    endpoint: 'https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV',
    p256dh:
      'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
    auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  }
  const salt = Buffer.from('DGv6ra1nlYgDCS1FRnbzlw', 'base64url')
  const text = 'When I grow up, I want to be a watermelon'
  expect(encrypted(text, subscription, pair, salt).toString('base64url')).toBe(
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
  )
})
