/** MCP Events by signed calls: the challenge, deliveries and their retries, renewal, secrets, and every way it ends. */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Webhook } from 'standardwebhooks'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { wallClock } from '../../src/clock.ts'
import { newWebhookSecret } from '../../src/core/calls/signature.ts'
import { connect } from '../mcp/stage.ts'
import type { Loose } from '../setup/http.ts'
import {
  type Received,
  type Receiver,
  receiver,
  type Stage,
  sharedStage,
  stage,
} from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const MINUTE = 60_000
const DAY = 1_440 * MINUTE
const ANY = z.looseObject({})
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

/** Echoes challenges; what else comes is answered as the test says, and gathered. */
async function home(answer: Receiver['answer'] = (_, response) => response.writeHead(204).end()) {
  const events: Received[] = []
  const made = { events, answer, hook: await receiver() }
  made.hook.answer = (request, response) => {
    const { type, challenge } = request.body
    if (type === 'verification') {
      response.end(JSON.stringify({ challenge }))
      return
    }
    events.push(request)
    made.answer(request, response)
  }
  return made
}

async function mcp(s: Stage, headers: Record<string, string> = {}) {
  const transport = new StreamableHTTPClientTransport(new URL(`${s.url}/mcp`), {
    requestInit: { headers },
  })
  const { client } = await connect(transport)
  const ask = async (method: string, params: object): Promise<Loose> =>
    client.request({ method, params } as never, ANY)
  const subscribe = (hook: { url: string }, more: object = {}, secret = SECRET) =>
    ask('events/subscribe', {
      ...{ name: 'alarm.due', arguments: {} },
      delivery: { mode: 'webhook', url: hook.url, secret },
      ...more,
    })
  return { ask, subscribe }
}

const alarm = (s: Stage, seconds = 60) =>
  s.set({ kind: 'once', delay_seconds: seconds, agent_id: 'bot' })
const rowsOf = async (s: Stage): Promise<Loose[]> =>
  (await s.call('GET', '/v1/subscriptions')).body.data

eachStore('events by signed calls', (store) => {
  // The oracle of signatures compares with the time of day.
  const get = sharedStage(store, { startAt: new Date(wallClock() + MINUTE) })

  it('asks the receiver, then tells it of each alarm once, signed with its own secret', async () => {
    const s = get()
    const { events, hook } = await home()
    const { subscribe } = await mcp(s)
    const made = await subscribe(hook)
    expect(made).toMatchObject({
      refreshBefore: new Date(s.now().getTime() + DAY).toISOString(),
      truncated: false,
      deliveryStatus: { active: true, lastDeliveryAt: null, lastError: null },
    })
    const [question] = hook.received
    expect(question?.headers['x-mcp-subscription-id']).toBe(made.id)
    const set = await s.set({
      ...{ kind: 'once', delay_seconds: 60, agent_id: 'bot' },
      payload: { n: 1 },
    })
    await s.advanceBy(MINUTE)
    expect(events).toHaveLength(1)
    const [told] = events as [Received]
    expect(told.body).toMatchObject({
      ...{ name: 'alarm.due', eventId: told.headers['webhook-id'], cursor: expect.any(String) },
      data: { alarm_id: set.id, user_id: 'local', payload: { n: 1 } },
    })
    expect(told.headers['x-mcp-subscription-id']).toBe(made.id)
    for (const { text, headers } of hook.received)
      expect(() =>
        new Webhook(SECRET).verify(text, headers as Record<string, string>),
      ).not.toThrow()
    await s.advanceBy(10 * MINUTE)
    expect(events).toHaveLength(1)
    expect(await rowsOf(s)).toMatchObject([
      { id: made.id, waiting: 0, delivery_status: { active: true, last_error: null } },
    ])
  })

  it('signs with both secrets for a while after a change', async () => {
    const s = get()
    const { events, hook } = await home()
    const { subscribe } = await mcp(s)
    const fresh = newWebhookSecret()
    await subscribe(hook)
    await subscribe(hook, {}, fresh)
    await alarm(s)
    await s.advanceBy(MINUTE)
    const [told] = events as [Received]
    for (const secret of [SECRET, fresh])
      expect(() => new Webhook(secret).verify(told.text, told.headers as never)).not.toThrow()
    await alarm(s, 15 * 60)
    await s.advanceBy(15 * MINUTE)
    expect(String(events[1]?.headers['webhook-signature']).split(' ')).toHaveLength(1)
  })

  it('takes nobody who does not echo the challenge, and no address that may not be called', async () => {
    const s = get()
    const { subscribe } = await mcp(s)
    const answers: Receiver['answer'][] = [
      (_, response) => response.writeHead(204).end(),
      (_, response) => response.end('{"challenge":"another"}'),
      (request, response) =>
        response.writeHead(500).end(JSON.stringify({ challenge: request.body.challenge })),
    ]
    for (const answer of answers)
      await expect(subscribe(await receiver(answer))).rejects.toMatchObject({ code: -32_015 })
    const gone = await receiver()
    await gone.stop()
    await expect(subscribe(gone)).rejects.toMatchObject({ code: -32_015 })
    for (const url of ['ftp://a.example', 'http://u:p@a.example', 'nonsense'])
      await expect(subscribe({ url })).rejects.toMatchObject({ code: -32_602 })
    const { hook } = await home()
    await expect(subscribe(hook, {}, 'whsec_short')).rejects.toMatchObject({ code: -32_602 })
    expect(await rowsOf(s)).toEqual([])
    expect(hook.received).toEqual([])
  })

  it('calls only public https addresses unless private ones are allowed', async () => {
    const s = await stage(await store.database(), {
      env: { WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'false' },
    })
    const { hook } = await home()
    const { subscribe } = await mcp(s)
    for (const url of [hook.url, 'http://there.example/hook', 'https://10.0.0.1/hook'])
      await expect(subscribe({ url })).rejects.toMatchObject({ code: -32_602 })
    expect(hook.received).toEqual([])
  })

  it('tries again with the same id and a new time, five times, and says what went wrong', async () => {
    const s = get()
    const there = await home((_, response) => response.writeHead(503).end('not now'))
    const { subscribe } = await mcp(s)
    await subscribe(there.hook, { ttlMs: null })
    await alarm(s)
    await s.advanceBy(2 * MINUTE)
    expect(there.events.length).toBeGreaterThan(1)
    expect(await rowsOf(s)).toMatchObject([
      {
        waiting: 1,
        delivery_status: {
          ...{ active: true, last_error: 'http_5xx', last_delivery_at: null },
          failed_since: expect.any(String),
        },
      },
    ])
    await s.advanceBy(30 * MINUTE)
    expect(there.events).toHaveLength(5)
    expect(new Set(there.events.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    const times = there.events.map(({ headers }) => Number(headers['webhook-timestamp']))
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBe(850)
    // Given up: the receiver hears of it when it asks next, and of what comes after.
    there.answer = (_, response) => response.writeHead(204).end()
    expect(await subscribe(there.hook, { ttlMs: null })).toMatchObject({ truncated: true })
    expect(await subscribe(there.hook, { ttlMs: null })).toMatchObject({ truncated: false })
    await alarm(s)
    await s.advanceBy(MINUTE)
    expect(there.events).toHaveLength(6)
    expect(await rowsOf(s)).toMatchObject([
      { waiting: 0, delivery_status: { failed_since: null, last_delivery_at: expect.any(String) } },
    ])
  })

  it.each([410, 413])('never repeats what was answered with %i', async (status) => {
    const s = get()
    const there = await home((_, response) => response.writeHead(status).end())
    const { subscribe } = await mcp(s)
    await subscribe(there.hook)
    await alarm(s)
    await s.advanceBy(30 * MINUTE)
    expect(there.events).toHaveLength(1)
  })

  it('invariant 14: one receiver that is away holds up nobody else', async () => {
    const s = get()
    const [away, well] = [await home((_, response) => response.writeHead(500).end()), await home()]
    const { subscribe } = await mcp(s)
    await subscribe(away.hook)
    await subscribe(well.hook)
    await alarm(s)
    await s.advanceBy(MINUTE)
    expect(well.events).toHaveLength(1)
    expect(away.events).toHaveLength(1)
    expect(away.events[0]?.headers['webhook-id']).toBe(well.events[0]?.headers['webhook-id'])
  })

  it('is renewed by the same wish, with no second challenge, and expires without', async () => {
    const s = get()
    const { events, hook } = await home()
    const { subscribe } = await mcp(s)
    const first = await subscribe(hook, { ttlMs: 10 * MINUTE })
    await s.advanceBy(5 * MINUTE)
    const again = await subscribe(hook, { ttlMs: 10 * MINUTE })
    expect(again.id).toBe(first.id)
    expect(hook.received).toHaveLength(1)
    await alarm(s, 8 * 60)
    await s.advanceBy(8 * MINUTE)
    expect(events).toHaveLength(1)
    await alarm(s, 5 * 60)
    await s.advanceBy(5 * MINUTE)
    expect(events).toHaveLength(1)
    expect(await rowsOf(s)).toEqual([])
    // It is asked anew, and goes on where the receiver says it was.
    await subscribe(hook, { cursor: events[0]?.body.cursor })
    await s.settle()
    expect(hook.received.filter(({ body }) => body.type === 'verification')).toHaveLength(2)
    expect(events).toHaveLength(2)
  })

  it('ends without a word for its own receiver, and with one when it is removed', async () => {
    const s = get()
    const [one, two] = [await home(), await home()]
    const { ask, subscribe } = await mcp(s)
    await subscribe(one.hook)
    const { id } = await subscribe(two.hook)
    const delivery = { mode: 'webhook', url: one.hook.url }
    for (let n = 0; n < 2; n++)
      expect(
        await ask('events/unsubscribe', { name: 'alarm.due', arguments: {}, delivery }),
      ).toEqual(expect.objectContaining({}))
    expect((await s.call('DELETE', `/v1/subscriptions/${id}`)).status).toBe(204)
    expect((await s.call('DELETE', `/v1/subscriptions/${id}`)).status).toBe(404)
    await alarm(s)
    await s.advanceBy(MINUTE)
    expect(one.events).toEqual([])
    expect(two.events.map(({ body }) => body)).toEqual([
      { type: 'terminated', error: { code: -32_012, message: expect.stringContaining('removed') } },
    ])
    expect(await rowsOf(s)).toEqual([])
    expect(await s.query('select id from wakeful.subscriptions')).toEqual([])
  })

  it('ends with the key that asked for it, and says so', async () => {
    const admin = 'the-admin-key-of-the-environment-0123456789'
    const keys = { WAKEFUL_AUTH: 'keys', WAKEFUL_ADMIN_KEY: admin }
    const s = await stage(await store.database(), { env: keys })
    const as = (key: string) => ({ authorization: `Bearer ${key}` })
    const { body } = await s.call('POST', '/v1/keys', { role: 'agent', user_id: 'ann' }, as(admin))
    const { events, hook } = await home()
    const { subscribe } = await mcp(s, as(body.key))
    await subscribe(hook)
    const set = () =>
      s.set(
        { kind: 'once', delay_seconds: 60, agent_id: 'bot' },
        {
          ...as(admin),
          'wakeful-act-as': 'ann',
        },
      )
    await set()
    await s.advanceBy(MINUTE)
    await set()
    await s.call('DELETE', `/v1/keys/${body.id}`, undefined, as(admin))
    await s.advanceBy(MINUTE)
    expect(events.map(({ body }) => body.name ?? body.type)).toEqual(['alarm.due', 'terminated'])
    expect(await s.query('select id from wakeful.subscriptions')).toEqual([])
  })

  it('invariant 12: shows nobody another’s subscriptions, nor ends them', async () => {
    const s = get()
    const { hook } = await home()
    const ann = await mcp(s, { 'wakeful-act-as': 'ann' })
    const { id } = await ann.subscribe(hook)
    const as = (user: string) => ({ 'wakeful-act-as': user })
    const listed = async (user: string) =>
      (await s.call('GET', '/v1/subscriptions', undefined, as(user))).body.data
    expect(await listed('ben')).toEqual([])
    expect(await listed('ann')).toMatchObject([{ id, user_id: 'ann' }])
    const path = `/v1/subscriptions/${id}`
    expect((await s.call('DELETE', path, undefined, as('ben'))).status).toBe(404)
    const ben = await mcp(s, as('ben'))
    const delivery = { mode: 'webhook', url: hook.url }
    await ben.ask('events/unsubscribe', { name: 'alarm.due', arguments: {}, delivery })
    expect(await listed('ann')).toHaveLength(1)
    expect(JSON.stringify(await listed('ann'))).not.toContain(SECRET)
  })

  it('writes nothing while nothing happens', async () => {
    const s = get()
    const { hook } = await home()
    const { subscribe } = await mcp(s)
    await subscribe(hook)
    const state = () => s.query('select xmin, cursor from wakeful.subscriptions')
    const before = await state()
    await s.advanceBy(MINUTE)
    expect(await state()).toEqual(before)
  })
})
