/** /v1/intents over HTTP: what is taken, what is refused and in which words, who sees what. */
import { describe, expect, it } from 'vitest'
import { type Actor, execute } from '../../src/api/contract.ts'
import { operations } from '../../src/app/operations.ts'
import { Refusal } from '../../src/core/errors.ts'
import {
  ACTION_TYPES,
  OPERATORS,
  PRIORITIES,
  TRIGGER_TYPES,
} from '../../src/features/intents/rules.ts'
import { house } from '../sessions/house.ts'
import { INSTANT, type Loose, problem, UUID } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { CRON, desk, INTERVAL, ONCE, PRICE } from './intents-stage.ts'

const MINUTE = 60_000
const LIMIT = 'Limit reached: 25 active triggers max'

eachStore('intents over HTTP', (store) => {
  const open = house(store, { bot: () => undefined, other: () => undefined })

  it('creates with every field that workers know, null where empty, and the first check', async () => {
    const d = desk(open())
    const made = await d.make(CRON)
    expect(made).toEqual({
      id: expect.stringMatching(UUID),
      user_id: d.user,
      intent_name: 'weekly review',
      description: null,
      trigger_type: 'cron',
      trigger_schedule: { cron: '0 9 * * 1' },
      trigger_condition: null,
      action_type: 'notify',
      action_context: 'look at the portfolio',
      action_priority: 'normal',
      next_check: '2026-01-05T09:00:00.000Z',
      last_checked: null,
      last_executed: null,
      execution_count: 0,
      last_execution_status: null,
      last_execution_error: null,
      last_message_id: null,
      enabled: true,
      expires_at: null,
      max_executions: null,
      created_at: expect.stringMatching(INSTANT),
      updated_at: expect.stringMatching(INSTANT),
      created_by: 'admin',
      metadata: {},
      timezone: 'UTC',
      agent_id: null,
      thread_id: null,
      catch_up: 'once',
      catch_up_within_seconds: null,
      unattended: 'ask',
      schedule_description: 'every Monday at 09:00 (UTC)',
      next_checks: [
        '2026-01-05T09:00:00.000Z',
        '2026-01-12T09:00:00.000Z',
        '2026-01-19T09:00:00.000Z',
      ],
      words: expect.stringMatching(/^Intent "weekly review" was created and is on: every Monday/),
    })
    const words = made.words.replace('was created and ', '')
    expect(await d.get(made.id)).toEqual({ ...made, words })
  })

  it('rule 23: first checks; null members count as left out; trigger_at is datetime', async () => {
    const d = desk(open())
    const first = async (body: object) => (await d.make(body)).next_check
    expect(await first(INTERVAL)).toBe(d.later(60 * MINUTE))
    expect(await first(ONCE)).toBe('2040-01-01T00:00:00.000Z')
    const at = { trigger_at: '2040-01-01T09:00', datetime: null, cron: null }
    expect(await first({ ...ONCE, trigger_schedule: at, timezone: 'Asia/Tokyo' })).toBe(
      '2040-01-01T00:00:00.000Z',
    )
    for (const type of ['price', 'silence', 'event', 'news', 'calendar']) {
      const trigger_condition = { ...PRICE.trigger_condition, keywords: ['x'], threshold_hours: 48 }
      const body = { ...PRICE, trigger_type: type, trigger_schedule: null, trigger_condition }
      if (type === 'calendar') Object.assign(trigger_condition, { value: 30 })
      expect(await first({ ...body, description: null, max_executions: null })).toBe(d.later(0))
    }
  })

  it('keeps metadata digit for digit, and takes every value of the enumerations', async () => {
    const d = desk(open())
    const metadata = '{"b":9007199254740993,"a":[1E2,0.10]}'
    const text = `{"user_id":"${d.user}","intent_name":"m","trigger_type":"interval","trigger_schedule":{"interval_minutes":5},"action_context":"x","metadata":${metadata}}`
    const made = await open().call('POST', '/v1/intents', text)
    expect(made.status).toBe(201)
    expect(made.text).toContain(`"metadata":${metadata},`)
    for (const action_type of ACTION_TYPES) await d.make({ ...CRON, action_type })
    for (const action_priority of PRIORITIES) await d.make({ ...CRON, action_priority })
    for (const operator of OPERATORS)
      await d.make({ ...PRICE, trigger_condition: { ...PRICE.trigger_condition, operator } })
    expect(TRIGGER_TYPES).toHaveLength(9)
  })

  it('rule 22: wrong shape is 422 with all errors at once, and changes nothing', async () => {
    const h = open()
    const answer = await h.call('POST', '/v1/intents', {
      intent_name: ' ',
      trigger_type: 'sometimes',
      trigger_schedule: { interval_minutes: 7.5, datetime: 'soon', color: 'red' },
      trigger_condition: { operator: '=~', value: '130', keywords: ['!!'] },
      action_type: 'shout',
      action_priority: 'urgent',
      max_executions: 0,
      color: 'red',
    })
    problem(answer, 422)
    for (const part of [
      'body.intent_name: must not be blank',
      'body.trigger_type: must be one of "cron"',
      'body.trigger_schedule.interval_minutes: must be a whole number',
      'body.trigger_schedule.datetime: must be an instant',
      'body.trigger_schedule.color: is not a known field',
      'body.trigger_condition.operator: must be one of "<", "<=", ">", ">=", "==", "!="',
      'body.trigger_condition.value: must be a number',
      'body.trigger_condition.keywords[0]: must hold a letter',
      'body.action_type: must be one of',
      'body.action_priority: must be one of',
      'body.action_context: is required',
      'body.max_executions: must be at least 1',
      'body.color: is not a known field',
      'body.user_id: is required',
    ])
      expect(
        answer.body.errors.some((text: string) => text.startsWith(part)),
        part,
      ).toBe(true)
    const d = desk(h)
    for (const wrong of [
      { intent_name: 'x'.repeat(257) },
      { action_context: 'ü'.repeat(4097) },
      { action_context: '' },
      { user_id: 'a b' },
      { user_id: 'x'.repeat(129) },
      { trigger_schedule: [] },
      { trigger_schedule: { cron: 'x'.repeat(257) } },
      { trigger_condition: { keywords: Array.from({ length: 26 }, () => 'x') } },
      { trigger_condition: { ticker: 'x'.repeat(33) } },
      { trigger_condition: { threshold_hours: 0 } },
      { expires_at: '10000-01-01T00:00:00Z' },
      { max_executions: 2 ** 31 },
      { thread_id: 'a:b' },
      { enabled: 'yes' },
      { intent_name: null },
      { id: '0195f5a0-0000-7000-8000-000000000001' },
    ])
      problem(await d.post({ ...CRON, ...wrong }), 422)
    problem(await d.post({ ...CRON, metadata: 'x'.repeat(65_537) }), 422)
    // Invariant 13: what cannot be stored is the client's mistake, wherever it stands.
    for (const text of ['a\0b', 'a\ud800b'])
      for (const body of [
        { intent_name: text },
        { action_context: text },
        { trigger_condition: { keywords: [text] } },
        { metadata: { deep: [text] } },
      ]) {
        const { status } = await d.post({ ...CRON, ...body })
        expect([400, 422]).toContain(status)
      }
    problem(await h.call('GET', `/v1/intents?user_id=${d.user}&ticker=%00`), 400)
    expect(
      await h.query('select 1 from wakeful.scheduled_intents where user_id = $1', [d.user]),
    ).toHaveLength(0)
  })

  it('rules 22 to 24: a broken rule is 400 with all errors, in the known words with the field', async () => {
    const d = desk(open())
    const rule = async (body: object) => {
      const answer = await d.post({ ...CRON, ...body })
      problem(answer, 400)
      return answer.body.errors
    }
    expect(await rule({ trigger_schedule: null })).toEqual([
      `trigger_schedule.cron required for type 'cron'`,
    ])
    expect(await rule({ trigger_schedule: { cron: '@every 30s' } })).toEqual([
      'trigger_schedule.cron: Cron too frequent: every 30s. Minimum: 60s',
      'trigger_schedule.cron: Cron would fire 2880x/day. Max: 96',
    ])
    expect(
      await rule({ trigger_schedule: { cron: '*/15 * * * *' }, timezone: 'Europe/Berlin' }),
    ).toEqual(['trigger_schedule.cron: Cron would fire 100x/day. Max: 96'])
    expect(await rule({ ...INTERVAL, trigger_schedule: { interval_minutes: 4 } })).toEqual([
      'trigger_schedule.interval_minutes: Interval too short: 4m. Minimum: 5m',
    ])
    expect(await rule({ ...ONCE, trigger_schedule: { datetime: d.later(0) } })).toEqual([
      'trigger_schedule.datetime: One-time trigger must be in the future',
    ])
    expect(
      await rule({ ...PRICE, trigger_condition: {}, agent_id: 'nobody', timezone: 'Mars/X' }),
    ).toEqual([
      'agent_id: there is no agent nobody here; known are bot, other',
      expect.stringContaining('timezone: "Mars/X" is not an IANA time zone'),
      `trigger_condition.ticker required for type 'price'`,
      `trigger_condition.operator required for type 'price'`,
      `trigger_condition.value required for type 'price'`,
    ])
    for (let n = 0; n < 25; n++) await d.make(CRON)
    expect(await rule({ trigger_schedule: {} })).toEqual([
      `trigger_schedule.cron required for type 'cron'`,
      LIMIT,
    ])
  })

  it('rule 25: the limit holds under 40 parallel creates, and counts what is enabled', async () => {
    const h = open()
    const d = desk(h)
    const made = await Promise.all(Array.from({ length: 40 }, () => d.post(INTERVAL)))
    expect(made.filter((each) => each.status === 201)).toHaveLength(25)
    for (const refused of made.filter((each) => each.status !== 201)) {
      problem(refused, 400)
      expect(refused.body.errors).toEqual([LIMIT])
    }
    const [one, two] = made.filter((each) => each.status === 201).map((each) => each.body.id)
    await d.make({ ...INTERVAL, enabled: false })
    problem(await d.post(INTERVAL), 400)
    expect((await d.put(one, { enabled: false })).body).toMatchObject({
      enabled: false,
      next_check: null,
    })
    await d.put(two, { expires_at: d.later(-1) })
    await d.make(INTERVAL)
    await d.make(INTERVAL)
    problem(await d.post(INTERVAL), 400)
    const again = await d.put(one, { enabled: true })
    problem(again, 400)
    expect(again.body.errors).toEqual([LIMIT])
    // More time for what has expired is one more that counts.
    problem(await d.put(two, { expires_at: null }), 400)
    await d.put(one, { intent_name: 'still off' })
    const other = desk(h)
    await other.make(INTERVAL)
  })

  it('rule 25: parallel re-enabling stays within the limit', async () => {
    const d = desk(open())
    const off = await Promise.all(
      Array.from({ length: 30 }, () => d.make({ ...INTERVAL, enabled: false })),
    )
    const on = await Promise.all(off.map((each) => d.put(each.id, { enabled: true })))
    expect(on.filter((each) => each.status === 200)).toHaveLength(25)
  })

  it('lists the owner’s own, newest first, by type, state and ticker, in plain arrays', async () => {
    const h = open()
    const d = desk(h)
    const made: Loose[] = []
    for (const body of [CRON, PRICE, INTERVAL, { ...PRICE, enabled: false }])
      made.unshift(await d.make(body))
    const ids = async (query: string) => {
      const { body } = await h.call('GET', `/v1/intents?user_id=${d.user}${query}`)
      return body.map((each: Loose) => each.id)
    }
    const all = made.map((each) => each.id)
    expect(await ids('')).toEqual(all)
    expect(await ids('&limit=2')).toEqual(all.slice(0, 2))
    expect(await ids('&limit=2&offset=2')).toEqual(all.slice(2))
    expect(await ids('&trigger_type=price')).toEqual([all[0], all[2]])
    expect(await ids('&ticker=nvda&enabled=true')).toEqual([all[2]])
    expect(await ids('&enabled=false')).toEqual([all[0]])
    for (const query of ['limit=0', 'limit=101', 'limit=x', 'offset=-1', 'enabled=no', 'color=red'])
      problem(await h.call('GET', `/v1/intents?user_id=${d.user}&${query}`), 422)
    const nobody = await h.call('GET', '/v1/intents')
    problem(nobody, 422)
    expect(nobody.body.errors).toEqual(['query.user_id: is required'])
    const other = desk(h)
    await other.make(CRON)
    const { body: both } = await h.call('GET', '/v1/intents?everybody=true&limit=5')
    expect(both.map((each: Loose) => each.user_id)).toEqual([other.user, ...all.map(() => d.user)])
    const mine = await h.call('GET', '/v1/intents', undefined, { 'wakeful-act-as': d.user })
    expect(mine.body).toHaveLength(4)
  })

  it('changes what is given, empties what is null, and keeps the rest', async () => {
    const d = desk(open())
    const made = await d.make({
      ...PRICE,
      description: 'dip',
      expires_at: '2030-01-01T00:00',
      timezone: 'Europe/Berlin',
      max_executions: 3,
      metadata: { a: 1 },
      created_by: 'annie',
    })
    expect(made).toMatchObject({ expires_at: '2029-12-31T23:00:00.000Z', created_by: 'annie' })
    await open().wakeful.advanceBy(MINUTE)
    const { body } = await d.put(made.id, { intent_name: 'renamed', metadata: { b: 2 } })
    expect(body).toEqual({
      ...made,
      intent_name: 'renamed',
      metadata: { b: 2 },
      updated_at: d.later(0),
      words: expect.stringMatching(/^Intent "renamed" was changed and is on/),
    })
    const emptied = await d.put(made.id, {
      description: null,
      expires_at: null,
      max_executions: null,
      metadata: null,
      trigger_schedule: null,
    })
    expect(emptied.body).toMatchObject({
      description: null,
      expires_at: null,
      max_executions: null,
      metadata: {},
      trigger_schedule: null,
      trigger_condition: PRICE.trigger_condition,
    })
    problem(await d.put(made.id, { intent_name: null }), 422)
    problem(await d.put(made.id, { user_id: 'eve' }), 422)
    expect((await d.put(made.id, {})).status).toBe(200)
    const refused = await d.put(made.id, { trigger_condition: null, agent_id: 'nobody' })
    problem(refused, 400)
    expect(refused.body.errors).toHaveLength(4)
  })

  it('rule 25: next_check is set anew with the schedule, the type, the zone and by enabling', async () => {
    const h = open()
    const d = desk(h)
    const { id } = await d.make(INTERVAL)
    await h.wakeful.advanceBy(7 * MINUTE)
    const next = async (body: object) => (await d.put(id, body)).body.next_check
    expect(await next({ trigger_schedule: { interval_minutes: 60 } })).toBe(d.later(53 * MINUTE))
    expect(await next({ trigger_schedule: { interval_minutes: 30 } })).toBe(d.later(30 * MINUTE))
    expect(await next({ enabled: false })).toBeNull()
    await h.wakeful.advanceBy(40 * MINUTE)
    // A pause keeps the grid.
    expect(await next({ enabled: true })).toBe(d.later(20 * MINUTE))
    const cron = { trigger_type: 'cron', trigger_schedule: { cron: '0 9 1 6 *' } }
    expect(await next(cron)).toBe('2026-06-01T09:00:00.000Z')
    expect(await next({ timezone: 'Asia/Tokyo' })).toBe('2026-06-01T00:00:00.000Z')
    const price = { trigger_type: 'price', trigger_condition: PRICE.trigger_condition }
    expect(await next(price)).toBe(d.later(0))
  })

  it('rule 25: a past once can be renamed, but not set going again', async () => {
    const h = open()
    const d = desk(h)
    const { id } = await d.make({ ...ONCE, trigger_schedule: { datetime: d.later(5 * MINUTE) } })
    await h.wakeful.advanceBy(10 * MINUTE)
    expect((await d.put(id, { intent_name: 'late' })).body.intent_name).toBe('late')
    await d.fire(id, { status: 'success' })
    const again = await d.put(id, { enabled: true })
    problem(again, 400)
    expect(again.body.errors).toEqual([
      'trigger_schedule.datetime: One-time trigger must be in the future',
    ])
    const moved = { enabled: true, trigger_schedule: { datetime: d.later(MINUTE) } }
    expect((await d.put(id, moved)).body).toMatchObject({
      enabled: true,
      next_check: d.later(MINUTE),
    })
  })

  it('rule 28: deleting answers 204 and keeps the executions without their link', async () => {
    const h = open()
    const d = desk(h)
    const { id } = await d.make(INTERVAL)
    await d.fire(id, { status: 'success' })
    const gone = await h.call('DELETE', `/v1/intents/${id}`)
    expect(gone).toMatchObject({ status: 204, text: '' })
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/history'],
    ] as const)
      problem(await h.call(method, `/v1/intents/${id}${path}`), 404)
    const kept = 'select intent_id, status from wakeful.intent_executions where user_id = $1'
    expect(await h.query(kept, [d.user])).toEqual([{ intent_id: null, status: 'success' }])
  })

  it('rule 28: with an agent it is ours: watched, metered, and not served outside', async () => {
    const h = open()
    const d = desk(h)
    const ours = { ...PRICE, agent_id: 'bot', thread_id: 't1', enabled: false }
    const { id } = await d.make(ours)
    const watches = () =>
      h.query('select kind, key, user_id from wakeful.intent_watches where intent_id = $1', [id])
    expect(await watches()).toEqual([])
    const on = { enabled: true, trigger_condition: { ...PRICE.trigger_condition, ticker: 'tsm' } }
    expect((await d.put(id, on)).body).toMatchObject({
      agent_id: 'bot',
      checks: 0,
      calls_avoided: 0,
    })
    expect(await watches()).toEqual([{ kind: 'price', key: 'TSM', user_id: d.user }])
    expect(await d.pending()).toEqual([])
    problem(await d.fire(id, { status: 'success' }), 409)
    problem(await h.call('POST', `/v1/intents/${id}/claim`, { seconds: 5 }), 409)
    const news = {
      trigger_type: 'news',
      trigger_condition: { keywords: ['Fed rates', 'ECB', 'fed'] },
    }
    await d.put(id, news)
    expect((await watches()).map((each: Loose) => each.key).sort()).toEqual(['ecb', 'fed'])
    await d.put(id, { agent_id: null })
    expect(await watches()).toEqual([])
    expect((await d.pending()).map((each) => each.id)).toEqual([id])
  })

  it('invariant 12: foreign, unknown and what is no id is 404; the owner is the credential’s own', async () => {
    const h = open()
    const d = desk(h)
    const { id } = await d.make(INTERVAL)
    const eve = { 'wakeful-act-as': 'eve' }
    const routes = [
      ['GET', '', undefined],
      ['PUT', '', { intent_name: 'x' }],
      ['DELETE', '', undefined],
      ['POST', '/fire', { status: 'success' }],
      ['POST', '/claim', { seconds: 5 }],
      ['GET', '/history', undefined],
    ] as const
    for (const [method, path, body] of routes) {
      problem(await h.call(method, `/v1/intents/${id}${path}`, body, eve), 404)
      for (const wrong of ['nope', '0195f5a0-0000-7000-8000-000000000001'])
        problem(await h.call(method, `/v1/intents/${wrong}${path}`, body), 404)
    }
    expect(await d.get(id)).toMatchObject({ execution_count: 0, intent_name: 'weekly review' })
  })

  describe('roles', () => {
    const as = async (actor: Partial<Actor>, name: string, raw: Loose = {}) => {
      const op = operations.find((each) => each.name === name)
      if (op === undefined) throw new Error(`no operation ${name}`)
      const who = {
        role: 'admin',
        ownerDid: null,
        userId: null,
        agentId: null,
        keyId: null,
        actAs: false,
      } as const
      const caller = { requestId: 'r', signal: new AbortController().signal }
      const ctx = open().wakeful.app.context({ ...who, ...actor }, caller)
      try {
        const { body } = await execute(op, ctx, { params: {}, query: {}, body: undefined, ...raw })
        return body as Loose
      } catch (error) {
        if (error instanceof Refusal) return error.code
        throw error
      }
    }

    it('agent keys have their owner’s own, whatever user_id says; user keys read and delete', async () => {
      const { user } = desk(open())
      const agentKey = { role: 'agent', userId: user, agentId: 'bot' } as const
      const userKey = { role: 'user', userId: user } as const
      const made = await as(agentKey, 'create_intent', { body: { ...INTERVAL, user_id: 'eve' } })
      expect(made).toMatchObject({ user_id: user, created_by: 'bot' })
      expect(await as(agentKey, 'list_intents', { query: { user_id: 'eve' } })).toHaveLength(1)
      const params = { id: made.id }
      expect(await as(userKey, 'list_intents')).toHaveLength(1)
      expect(await as(userKey, 'create_intent', { body: INTERVAL })).toBe('forbidden')
      expect(await as(userKey, 'fire_intent', { params, body: { status: 'success' } })).toBe(
        'forbidden',
      )
      const stranger = { role: 'user', userId: 'eve' } as const
      expect(await as(stranger, 'delete_intent', { params })).toBe('not_found')
      expect(await as(userKey, 'delete_intent', { params })).toBeNull()
    })

    it('worker keys take and report, and nothing else; service keys must say for whom', async () => {
      const d = desk(open())
      const { id } = await d.make(PRICE)
      const worker = { role: 'worker' } as const
      const found = await as(worker, 'list_pending_intents', { query: { user_id: d.user } })
      expect(found).toHaveLength(1)
      expect(await as(worker, 'list_intents', { query: { user_id: d.user } })).toBe('forbidden')
      const fired = { params: { id }, body: { status: 'success' } }
      expect(JSON.parse((await as(worker, 'fire_intent', fired)).text)).toMatchObject({
        execution_count: 1,
      })
      expect(await as({ role: 'service' }, 'create_intent', { body: INTERVAL })).toBe('shape')
      expect(
        await as({ role: 'service' }, 'create_intent', { body: { ...INTERVAL, user_id: d.user } }),
      ).toMatchObject({ user_id: d.user })
    })
  })
})
