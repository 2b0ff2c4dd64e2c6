/** The events of other MCP servers as facts: subscribed to or polled, verified, taken once, and what they wake. */
import { expect, it } from 'vitest'
import { readConfig } from '../../src/app/packs.ts'
import { newWebhookSecret } from '../../src/core/calls/signature.ts'
import type { Loose } from '../setup/http.ts'
import { type Stage, stage } from '../setup/listening-app.ts'
import { eachStore, type StoreUnderTest } from '../setup/stores.ts'
import { type OtherServer, otherServer } from './mcp-server.ts'

const MINUTE = 60_000
const PUBLIC = 'https://wakeful.example'
const START = new Date('2026-03-01T12:00:00Z')

interface Town {
  readonly s: Stage
  readonly other: OtherServer
  /** Events of the intent that waits for an issue that burns. */
  fires(): Promise<Loose[]>
}

async function town(store: StoreUnderTest, env: Record<string, string> = {}): Promise<Town> {
  let s: Stage | undefined
  const other = await otherServer(
    () => s?.now() ?? START,
    (url) => url.replace(PUBLIC, s?.url ?? ''),
  )
  const wanted = {
    url: other.url,
    name: 'issue.opened',
    arguments: { repo: 'tea' },
    token: 'theirs',
  }
  const settings = { WAKEFUL_MCP_EVENTS: JSON.stringify([wanted]), ...env }
  const made = await stage(await store.database(), { env: settings, startAt: START })
  s = made
  const intent = await made.call('POST', '/v1/intents', {
    ...{ user_id: 'ann', intent_name: 'fires', trigger_type: 'event', agent_id: 'bot' },
    ...{ thread_id: 't', trigger_condition: { keywords: ['burning'] }, action_context: 'Say so' },
  })
  expect(intent.status, intent.text).toBe(201)
  const fires = async () => {
    await made.settle()
    return made.query(`select payload from wakeful.events where type = 'intent' order by seq`)
  }
  return { s: made, other, fires }
}

const sources = async (s: Stage): Promise<Loose[]> => {
  const { body } = await s.call('GET', '/v1/sources')
  return body.data ?? body
}

eachStore('events of other MCP servers', (store) => {
  it('subscribes, answers the challenge, and wakes an intent once for each event', async () => {
    const { s, other, fires } = await town(store, { WAKEFUL_PUBLIC_URL: PUBLIC })
    await s.settle()
    expect(other.asked.map(({ method }) => method)).toEqual([
      'events/list',
      'events/list',
      'events/subscribe',
    ])
    expect(other.asked.at(-1)).toMatchObject({
      authorization: 'Bearer theirs',
      params: { name: 'issue.opened', arguments: { repo: 'tea' }, cursor: null },
    })
    expect(other.challenges).toBe(1)
    expect(await other.tell({ eventId: 'e1', data: { title: 'the kitchen is burning' } })).toBe(204)
    expect(await other.tell({ eventId: 'e2', data: { title: 'a typo' } })).toBe(204)
    expect(await fires()).toHaveLength(1)
    // Told again it is the same one; the next is another, also with the same words.
    expect(await other.tell({ eventId: 'e1', data: { title: 'the kitchen is burning' } })).toBe(204)
    expect(await fires()).toHaveLength(1)
    await s.advanceBy(MINUTE)
    expect(await other.tell({ eventId: 'e3', data: { title: 'the kitchen is burning' } })).toBe(204)
    expect(await fires()).toHaveLength(2)
    expect(await s.query('select cursor from wakeful.mcp_sources')).toEqual([
      { cursor: 'after e3' },
    ])
  })

  it('believes nobody who does not sign, nor what is old, nor another subscription', async () => {
    const { s, other, fires } = await town(store, { WAKEFUL_PUBLIC_URL: PUBLIC })
    await s.settle()
    const event = {
      ...{ eventId: 'e1', name: 'issue.opened', timestamp: START.toISOString() },
      data: { title: 'burning' },
    }
    const status = async (...args: Parameters<OtherServer['post']>) =>
      (await other.post(...args)).status
    expect(await status(event, { secret: newWebhookSecret() })).toBe(401)
    expect(await status(event, { subscription: 'another' })).toBe(401)
    expect(await status(event, { at: new Date(START.getTime() - 6 * MINUTE) })).toBe(401)
    expect(await status({ ...event, name: 'other.event' })).toBe(400)
    expect(await status({ nonsense: true })).toBe(400)
    const there = other.delivery
    const hook = `${PUBLIC}/v1/channels/mcp-events`
    for (const url of [hook, `${hook}?source=nobody`]) {
      other.delivery = { url, secret: there?.secret ?? '' }
      expect(await status(event)).toBe(401)
    }
    expect(await fires()).toEqual([])
  })

  it('asks to come again while it does not know the subscription yet', async () => {
    const { s, other, fires } = await town(store, { WAKEFUL_PUBLIC_URL: PUBLIC })
    const early: number[] = []
    other.between = async () => {
      early.push(await other.tell({ eventId: 'e1', data: { title: 'burning' } }))
    }
    await s.settle()
    expect(early).toEqual([503])
    expect(await fires()).toEqual([])
    expect(await other.tell({ eventId: 'e1', data: { title: 'burning' } })).toBe(204)
    expect(await fires()).toHaveLength(1)
  })

  it('renews in time, with its cursor and the same secret, and stops when it is ended', async () => {
    const { s, other } = await town(store, { WAKEFUL_PUBLIC_URL: PUBLIC })
    other.ttlMs = 20 * MINUTE
    await s.settle()
    const secret = other.delivery?.secret
    await other.tell({ eventId: 'e1', data: {} })
    await s.advanceBy(8 * MINUTE)
    expect(other.asked.filter(({ method }) => method === 'events/subscribe')).toHaveLength(1)
    await s.advanceBy(5 * MINUTE)
    const asked = other.asked.filter(({ method }) => method === 'events/subscribe')
    expect(asked).toHaveLength(2)
    expect(asked[1]?.params).toMatchObject({ cursor: 'after e1', delivery: { secret } })
    expect((await other.post({ type: 'gap', cursor: 'behind the gap' })).status).toBe(204)
    expect(await s.query('select cursor from wakeful.mcp_sources')).toEqual([
      { cursor: 'behind the gap' },
    ])
    const error = { code: -32_012, message: 'you may not any more' }
    expect((await other.post({ type: 'terminated', error })).status).toBe(204)
    await s.advanceBy(120 * MINUTE)
    expect(other.asked.filter(({ method }) => method === 'events/subscribe')).toHaveLength(2)
    expect(await sources(s)).toMatchObject([
      { kind: 'mcp', last_error: expect.stringContaining('you may not any more') },
    ])
  })

  it('polls where nobody can reach it, from its cursor, page after page', async () => {
    const { s, other, fires } = await town(store)
    other.log.push({ eventId: 'e0', data: { title: 'burning long ago' } })
    await s.settle()
    expect(await fires()).toEqual([])
    for (let n = 1; n <= 5; n++)
      other.log.push({ eventId: `e${n}`, data: { title: n === 5 ? 'burning' : 'a typo' } })
    await s.advanceBy(2 * MINUTE)
    expect(await fires()).toHaveLength(1)
    expect(await s.query('select cursor from wakeful.mcp_sources')).toEqual([{ cursor: '6' }])
    expect(other.delivery).toBeNull()
    await s.advanceBy(10 * MINUTE)
    expect(await fires()).toHaveLength(1)
  })

  it('says what is wrong with a server that has no such event', async () => {
    const other = await otherServer(
      () => START,
      (url) => url,
    )
    const wanted = [{ url: other.url, name: 'nothing.here' }]
    const env = { WAKEFUL_MCP_EVENTS: JSON.stringify(wanted) }
    const s = await stage(await store.database(), { env })
    await s.settle()
    expect(await sources(s)).toMatchObject([
      { kind: 'mcp', failures: 1, last_error: 'this server has no event nothing.here' },
    ])
  })
})

it('takes no wrong list of events', () => {
  for (const text of ['x', '{}', '[{"url":"ftp://a","name":"n"}]', '[{"url":"https://a.example"}]'])
    expect(() => readConfig({ WAKEFUL_MCP_EVENTS: text })).toThrow(
      /WAKEFUL_MCP_EVENTS: got another/,
    )
  expect(() =>
    readConfig({ WAKEFUL_MCP_EVENTS: '[{"url":"http://127.0.0.1/","name":"n"}]' }),
  ).toThrow(/private address/)
})
