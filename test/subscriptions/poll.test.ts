/** MCP Events by asking: the catalogue, each event, cursors, owners and errors, with a real client over HTTP. */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { newId } from '../../src/core/ids.ts'
import { bucketOf } from '../../src/core/session.ts'
import { connect } from '../mcp/stage.ts'
import type { Loose } from '../setup/http.ts'
import { type Stage, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const MINUTE = 60_000
const ANY = z.looseObject({})
const NAMES = ['alarm.due', 'intent.met', 'work.finished', 'slot.missed', 'message.for_person']

async function mcp(s: Stage, mode: 'legacy' | 'auto' = 'legacy', actAs?: string) {
  const headers: Record<string, string> = actAs === undefined ? {} : { 'wakeful-act-as': actAs }
  const { client } = await connect(
    new StreamableHTTPClientTransport(new URL(`${s.url}/mcp`), { requestInit: { headers } }),
    mode,
  )
  const ask = async (method: string, params: object = {}): Promise<Loose> =>
    client.request({ method, params } as never, ANY)
  /** From where the last call of the same kind ended. */
  const follow = async (name: string, args: object = {}) => {
    let { cursor } = await ask('events/poll', { name, arguments: args, cursor: null })
    return async (): Promise<Loose[]> => {
      const answer = await ask('events/poll', { name, arguments: args, cursor })
      cursor = answer.cursor
      return answer.events
    }
  }
  return { client, ask, follow }
}

eachStore('events by polling', (store) => {
  const get = sharedStage(store, {
    agents: { bot: (turn) => turn.say(`said at ${turn.event.type}`) },
    work: {
      echo: async (run) => ({ title: 'Echo', content: run.task }),
      broken: async () => {
        throw new Error('no paper')
      },
    },
  })

  it.each(['legacy', 'auto'] as const)('lists what there is, by both drafts (%s)', async (mode) => {
    const { client, ask } = await mcp(get(), mode)
    const { events } = await ask('events/list')
    expect(events.map(({ name }: Loose) => name)).toEqual(NAMES)
    for (const event of events)
      expect(event).toMatchObject({
        description: expect.stringMatching(/\w/),
        inputSchema: { type: 'object', additionalProperties: false },
        payloadSchema: { type: 'object', required: expect.arrayContaining(['user_id']) },
      })
    if (mode === 'legacy') return
    const { capabilities } = (await client.request(
      { method: 'server/discover' } as never,
      ANY,
    )) as Loose
    expect(capabilities).toMatchObject({
      events: {},
      extensions: { 'io.modelcontextprotocol/events': {} },
    })
  })

  it('tells of an alarm once, with what was given to it, and then of nothing more', async () => {
    const s = get()
    const { follow } = await mcp(s)
    const next = await follow('alarm.due')
    const other = await follow('alarm.due', { label: 'other' })
    const alarm = await s.set({
      ...{ kind: 'once', delay_seconds: 60, label: 'tea', agent_id: 'bot', conversation_id: 'c1' },
      payload: { n: 1 },
    })
    expect(await next()).toEqual([])
    await s.advanceBy(MINUTE)
    const [told, ...more] = await next()
    expect(more).toEqual([])
    expect(told).toMatchObject({
      name: 'alarm.due',
      eventId: expect.any(String),
      timestamp: s.now().toISOString(),
      data: {
        ...{ alarm_id: alarm.id, label: 'tea', wake_message: 'wake up', payload: { n: 1 } },
        ...{ scheduled_for: alarm.next_fire_at, missed_count: 0 },
        ...{ user_id: 'local', agent_id: 'bot', thread_id: 'c1' },
      },
    })
    expect(await next()).toEqual([])
    await s.advanceBy(10 * MINUTE)
    expect(await next()).toEqual([])
    expect(await other()).toEqual([])
  })

  it('tells of an intent that is met', async () => {
    const s = get()
    const { follow } = await mcp(s)
    const next = await follow('intent.met', { user_id: 'ann', trigger_type: 'price' })
    const { body } = await s.call('POST', '/v1/intents', {
      ...{ user_id: 'ann', intent_name: 'cheap', trigger_type: 'price', agent_id: 'bot' },
      trigger_condition: { ticker: 'NVDA', operator: '<', value: 130 },
      action_context: 'Say that NVDA is cheap',
    })
    await s.settle()
    expect(await next()).toEqual([])
    await s.call('POST', '/v1/signals', { kind: 'price', ticker: 'NVDA', price: 129.5 })
    await s.settle()
    expect(await next()).toMatchObject([
      {
        data: {
          ...{ intent_id: body.id, intent_name: 'cheap', trigger_type: 'price', user_id: 'ann' },
          trigger_data: { price: 129.5 },
          action_context: 'Say that NVDA is cheap',
        },
      },
    ])
    await s.call('DELETE', `/v1/intents/${body.id}`)
  })

  it('tells of work that has finished, well or not', async () => {
    const s = get()
    const { follow } = await mcp(s)
    const next = await follow('work.finished')
    const failed = await follow('work.finished', { status: 'failed' })
    const made = await s.call('POST', '/v1/work', { task: 'say it', agent_type: 'echo' })
    await s.call('POST', '/v1/work', { task: 'print it', agent_type: 'broken' })
    await s.settle()
    const told = await next()
    expect(told).toHaveLength(2)
    expect(told).toContainEqual(
      expect.objectContaining({
        data: expect.objectContaining({
          ...{ work_id: made.body.work.id, run_number: 1, status: 'completed', title: 'Echo' },
          ...{ content: 'say it', error: null, agent_type: 'echo', user_id: 'local' },
        }),
      }),
    )
    expect(await failed()).toMatchObject([{ data: { status: 'failed', error: 'no paper' } }])
    expect(await next()).toEqual([])
  })

  it('tells of slots that passed while nothing ran', async () => {
    const s = get()
    const { follow } = await mcp(s)
    const next = await follow('slot.missed')
    const alarm = await s.set({
      kind: 'cron',
      cron_expr: '@every 1m',
      agent_id: 'bot',
      label: 'tick',
    })
    await s.advanceBy(MINUTE)
    expect(await next()).toEqual([])
    s.sleep(5 * MINUTE)
    await s.settle()
    expect(await next()).toMatchObject([
      { data: { trigger: 'alarm', trigger_id: alarm.id, name: 'tick', missed_count: 4 } },
    ])
    // What was not caught up with never becomes an event: its own row tells of it.
    const row = [bucketOf('local'), newId(), alarm.id, s.now()]
    await s.query(
      `insert into wakeful.missed (bucket, id, user_id, kind, trigger_id, name, scheduled_for, last_for, slots, missed_at)
       values ($1, $2, 'local', 'alarm', $3, 'tock', $4, $4, 3, $4)`,
      row,
    )
    expect(await next()).toMatchObject([
      { eventId: row[1], data: { trigger_id: alarm.id, name: 'tock', missed_count: 3 } },
    ])
    expect(await next()).toEqual([])
  })

  it('tells what agents say to a person, and why', async () => {
    const s = get()
    const { follow } = await mcp(s)
    const next = await follow('message.for_person', { user_id: 'ann' })
    const promised = await follow('message.for_person', { user_id: 'ann', reason: 'promise' })
    await s.call('POST', '/v1/sessions/ann:bot:t/messages', { text: 'hello' })
    await s.call('POST', '/v1/sessions/ben:bot:t/messages', { text: 'hello' })
    await s.settle()
    expect(await next()).toMatchObject([
      {
        data: {
          ...{ session_key: 'ann:bot:t', content: 'said at user_message', reason: 'answer' },
          ...{ in_reply_to: 1, user_id: 'ann', agent_id: 'bot', thread_id: 't' },
        },
      },
    ])
    await s.set(
      { kind: 'once', delay_seconds: 60, agent_id: 'bot', conversation_id: 't' },
      { 'wakeful-act-as': 'ann' },
    )
    await s.advanceBy(MINUTE)
    expect(await promised()).toMatchObject([{ data: { content: 'said at alarm' } }])
    expect(await next()).toHaveLength(1)
    expect(await next()).toEqual([])
  })

  it('pages, resumes behind any event, and leaves out what is too old', async () => {
    const s = get()
    const { ask } = await mcp(s)
    const poll = (more: object) => ask('events/poll', { name: 'alarm.due', ...more })
    const start = await poll({ cursor: null })
    for (let n = 1; n <= 5; n++)
      await s.set({ kind: 'once', delay_seconds: n * 60, agent_id: 'bot' })
    await s.advanceBy(5 * MINUTE)
    const seen: string[] = []
    let page = start
    do {
      page = await poll({ cursor: page.cursor, maxEvents: 2 })
      seen.push(...page.events.map(({ eventId }: Loose) => eventId))
    } while (page.hasMore)
    expect(new Set(seen).size).toBe(5)
    expect(seen).toHaveLength(5)
    const first = await poll({ cursor: start.cursor, maxEvents: 2 })
    const rest = await poll({ cursor: first.events[1].cursor })
    expect(rest.events.map(({ eventId }: Loose) => eventId)).toEqual(seen.slice(2))
    const young = await poll({ cursor: start.cursor, maxAgeMs: 90_000 })
    expect(young).toMatchObject({ truncated: true })
    expect(young.events).toHaveLength(2)
  })

  it('invariant 12: tells nobody of what is another’s', async () => {
    const s = get()
    const ann = await mcp(s, 'legacy', 'ann')
    const ben = await mcp(s, 'legacy', 'ben')
    const [anns, bens] = [await ann.follow('alarm.due'), await ben.follow('alarm.due')]
    await s.set({ kind: 'once', delay_seconds: 60, agent_id: 'bot' }, { 'wakeful-act-as': 'ann' })
    await s.advanceBy(MINUTE)
    expect(await anns()).toHaveLength(1)
    expect(await bens()).toEqual([])
    await expect(ben.follow('alarm.due', { user_id: 'ann' })).rejects.toMatchObject({
      code: -32_012,
    })
  })

  it('refuses what it does not know, in the numbers of the drafts', async () => {
    const { ask } = await mcp(get())
    const refused = (method: string, params: object) => expect(ask(method, params)).rejects
    await refused('events/poll', { name: 'nothing', cursor: null }).toMatchObject({ code: -32_011 })
    await refused('events/poll', { name: 'alarm.due', cursor: 'x' }).toMatchObject({
      code: -32_602,
    })
    await refused('events/poll', { name: 'alarm.due', arguments: { colour: 'red' } }).toMatchObject(
      {
        code: -32_602,
        message: expect.stringContaining('arguments.colour: is not a known field'),
      },
    )
    const delivery = { mode: 'push', url: 'https://a.example', secret: 'x' }
    await refused('events/subscribe', { name: 'alarm.due', delivery }).toMatchObject({
      code: -32_014,
    })
  })
})
