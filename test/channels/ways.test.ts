/** A person with several links: what is promised arrives by the next one where the first is closed or dies, in order, and the ledger shows where. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Push, PushChannel, PushOutcome } from '../../src/kernel/channel.ts'
import { type Row, type Stage, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { emailKit } from './email.kit.ts'
import type { Kit } from './laws.ts'
import { slackKit } from './slack.kit.ts'

const DAY_MS = 86_400_000

const agents = {
  bot: (turn: { event: { payload: unknown }; say(text: string): void }) => {
    const { wake_message: wake, text } = turn.event.payload as Record<string, string | undefined>
    turn.say(wake ?? `you said: ${text}`)
  },
}

const promise = (s: Stage, text: string, seconds: number, thread = 't') =>
  s.set(
    {
      ...{ kind: 'once', delay_seconds: seconds, wake_message: text },
      ...{ agent_id: 'bot', conversation_id: thread },
    },
    { 'wakeful-act-as': 'ann' },
  )
const ledger = async (s: Stage): Promise<Row[]> =>
  (await s.call('GET', '/v1/ledger?user_id=ann')).body.data.toReversed()

eachStore('a person linked to Slack and e-mail', (store) => {
  let slack: Kit
  let email: Kit
  beforeAll(async () => {
    slack = await slackKit(false)()
    email = await emailKit()
  })
  afterAll(() => Promise.all([slack.stop(), email.stop()]))
  const at = sharedStage(store, {
    agents,
    get env() {
      return { ...slack.env, ...email.env }
    },
  })
  beforeEach(() => {
    slack.reset()
    email.reset()
  })

  it('a person has at most 20 links; replacing one is no more, and ending one makes room', async () => {
    const s = at()
    const link = (n: number, more: object = { address: email.address(n) }) =>
      s.call('POST', '/v1/links', { channel: 'email', session_key: `ann:bot:t${n}`, ...more })
    for (let n = 1; n <= 20; n++) expect((await link(n)).status).toBe(201)
    const refused = await link(21)
    expect(refused.status).toBe(400)
    expect(refused.body.errors).toEqual([expect.stringContaining('at most 20 links')])
    expect((await link(21, {})).status).toBe(400)
    expect((await link(20, { address: email.address(22) })).status).toBe(201)
    const [first] = (await s.call('GET', '/v1/links?user_id=ann')).body.data
    await s.call('DELETE', `/v1/links/${first.id}`)
    expect((await link(21)).status).toBe(201)
    expect((await s.call('GET', '/v1/links?user_id=ann')).body.data).toHaveLength(20)
  })

  it('Slack’s link dies in the middle of three promises: all three arrive, in order, and the ledger shows where', async () => {
    const s = at()
    const [user, mail] = [slack.address(1), email.address(1)]
    for (const [channel, address] of [
      ['slack', user],
      ['email', mail],
    ])
      await s.call('POST', '/v1/links', { channel, address, session_key: 'ann:bot:t' })
    slack.refuse = (text) => (text === 'take your pills' ? 'gone' : null)
    // Three at one instant: what comes first leaves first, whichever way.
    for (const text of ['water the plants', 'take your pills', 'call mum'])
      await promise(s, text, 60)
    await s.advanceBy(60_000)
    expect(slack.arrived(user)).toEqual(['water the plants'])
    expect(email.arrived(mail)).toEqual(['take your pills', 'call mum'])
    const shown = (await ledger(s)).map(({ outcome, effects, words }) => ({
      ...{ outcome, words, channel: effects[0].channel },
      before: effects[0].detours?.map((d: Row) => [d.channel, d.outcome]),
    }))
    expect(shown).toMatchObject([
      { outcome: 'delivered', channel: 'slack', before: undefined },
      {
        outcome: 'delivered',
        channel: 'email',
        before: [['slack', 'gone']],
        words: expect.stringContaining('by email (slack: Slack: channel_not_found)'),
      },
      { outcome: 'delivered', channel: 'email', before: undefined },
    ])
    const links = (await s.call('GET', '/v1/links?user_id=ann&ended=true')).body.data
    expect(links.map((each: Row) => [each.channel, each.last.outcome, !each.ended_at])).toEqual(
      expect.arrayContaining([
        ['slack', 'gone', false],
        ['email', 'sent', true],
      ]),
    )
  })

  it('a person is reached by any of their agents’ sessions, and what was asked over HTTP is answered there alone', async () => {
    const s = at()
    const user = slack.address(2)
    await s.call('POST', '/v1/links', {
      ...{ channel: 'slack', address: user, session_key: 'ann:bot:t' },
    })
    await promise(s, 'from another thread', 60, 'elsewhere')
    await s.call('POST', '/v1/sessions/ann:bot:elsewhere/messages', { text: 'hi' })
    await s.advanceBy(60_000)
    expect(slack.arrived(user)).toEqual(['from another thread'])
  })
})

/** A channel with a window of an hour, in memory. */
class Windowed implements PushChannel {
  readonly windowMs = 3_600_000
  readonly got: string[] = []
  readonly name: string
  readonly templated: boolean
  constructor(name: string, templated = false) {
    this.name = name
    this.templated = templated
  }
  async send({ content, template }: Push): Promise<PushOutcome> {
    this.got.push(template ? `template: ${content}` : content)
    return { type: 'sent', ids: [String(this.got.length)] }
  }
}

class Plain implements PushChannel {
  readonly got: string[] = []
  readonly name = 'plain'
  async send({ content }: Push): Promise<PushOutcome> {
    this.got.push(content)
    return { type: 'sent' }
  }
}

eachStore('a closed window', (store) => {
  const windowed = new Windowed('windowed')
  const templated = new Windowed('templated', true)
  const plain = new Plain()
  const channels = [windowed, templated, plain]
  const at = sharedStage(store, {
    channels,
    agents: {
      bot: (turn) => {
        const { wake_message: wake } = turn.event.payload as { wake_message?: string }
        turn.say(wake ?? 'still there?')
        if (turn.event.type === 'user_message')
          turn.schedule('nudge', { in: 7_200, cancelOnReply: true })
      },
    },
  })
  beforeEach(() => {
    for (const channel of channels) channel.got.splice(0)
  })
  const link = async (s: Stage, channel: string) => {
    const body = { channel, address: `${channel}-ann`, session_key: 'ann:bot:t' }
    expect((await s.call('POST', '/v1/links', body)).status).toBe(201)
  }

  it('a promise goes by the next channel of the person, and the ledger says why', async () => {
    const s = at()
    await link(s, 'windowed')
    await link(s, 'plain')
    await promise(s, 'take your pills', 60)
    await s.advanceBy(60_000)
    expect([windowed.got, plain.got]).toEqual([[], ['take your pills']])
    const [entry] = await ledger(s)
    expect(entry).toMatchObject({
      outcome: 'delivered',
      effects: [{ channel: 'plain', detours: [{ channel: 'windowed', outcome: 'closed' }] }],
    })
  })

  it('or as the template of the channel, where it has one', async () => {
    const s = at()
    await link(s, 'templated')
    await link(s, 'plain')
    await promise(s, 'take your pills', 60)
    await s.advanceBy(60_000)
    expect([templated.got, plain.got]).toEqual([['template: take your pills'], []])
  })

  it('or waits where there is no other way, and the ledger says for what; a follow-up is dropped, also where there is another way', async () => {
    const s = at()
    await link(s, 'windowed')
    await promise(s, 'take your pills', 60)
    await s.advanceBy(DAY_MS)
    expect((await ledger(s))[0]).toMatchObject({
      outcome: 'sent',
      words: expect.stringContaining('windowed takes nothing before they write there'),
    })
    await link(s, 'plain')
    await s.settle()
    expect(plain.got).toEqual(['take your pills'])
    await s.call('POST', '/v1/sessions/ann:bot:t/messages', { text: 'hello' })
    await s.advanceBy(DAY_MS)
    expect(windowed.got).toEqual([])
    const effects = (await s.call('GET', '/v1/sessions/ann:bot:t/effects')).body.data
    expect(effects.at(-1)).toMatchObject({ reason: 'follow_up', status: 'failed' })
  })
})
