/** Forecasts at the door: what they tell, what they are fed with, where they are cut, whose they are; they change nothing. */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, it } from 'vitest'
import { COPIED } from '../../packages/forecast/src/copy.ts'
import { OCCURRENCES_MAX } from '../../packages/forecast/src/forecast.ts'
import { movedTables } from '../../packages/shards/src/move-rows.ts'
import { Refusal } from '../../src/core/errors.ts'
import { connect } from '../mcp/stage.ts'
import type { Loose } from '../setup/http.ts'
import { eachStore, oneStore } from '../setup/stores.ts'
import { type World, world } from '../setup/worlds.ts'

const START = '2026-11-16T08:00:00Z'
const ADMIN_KEY = 'admin-key-for-tests-0123456789abcdef'
const ADMIN = { authorization: `Bearer ${ADMIN_KEY}` }

const open = (store: Parameters<typeof world>[0], env: Record<string, string> = {}) =>
  world(
    store,
    { bot: (turn) => turn.say('hello'), nag: (turn) => turn.say('hey') },
    { startAt: START, env },
  )

const forecast = (w: World, body: object = {}) =>
  w.call('forecast', { user_id: 'ann', days: 2, ...body }) as Promise<Loose>

const refused = async (asked: Promise<unknown>): Promise<Refusal> => {
  const error = await asked.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof Refusal)) throw new Error(`not refused: ${error}`)
  return error
}

const alarm = (more: object = {}) => ({
  ...{ kind: 'cron', cron_expr: '0 9 * * *', label: 'tea', wake_message: 'tea', agent_id: 'bot' },
  ...more,
})
const price = {
  intent_name: 'fall',
  trigger_type: 'price',
  trigger_condition: { ticker: 'ACME', operator: '<', value: 100 },
}
const watching = { ...price, action_context: 'tell', agent_id: 'bot', thread_id: 'main' }
const fallAt = (at: string) => ({ at, signal: { kind: 'price', ticker: 'acme', price: 90 } })

eachStore('forecasts', (store) => {
  it('tell what is set and what is drafted, deferred and gathered by the preferences of the person', async () => {
    const w = await open(store)
    await w.call('set_preferences', {
      user_id: 'ann',
      timezone: 'UTC',
      quiet_hours: [{ from: '22:00', to: '07:00' }],
    })
    await w.call('set_alarm', alarm(), { actAs: 'ann' })
    const told = await forecast(w, {
      draft: {
        alarms: [alarm({ label: 'new', agent_id: 'nag' })],
        intents: [watching, { ...watching, intent_name: 'fall too' }],
      },
      facts: [fallAt('2026-11-16T23:00:00Z')],
    })
    const night = told.occurrences.filter(
      (each: Loose) => each.trigger.kind === 'intent' && each.said_at !== null,
    )
    expect(night).toHaveLength(2)
    for (const each of night)
      expect(each).toMatchObject({
        ...{ at: '2026-11-16T23:00:00.000Z', said_at: '2026-11-17T07:00:00.000Z', outcome: 'sent' },
        deferred: { rule: 'quiet_hours', until: '2026-11-17T07:00:00.000Z' },
        gathered: { into: night[0].gathered.into, together: 2 },
      })
    const alarms = told.occurrences.filter((each: Loose) => each.trigger.kind === 'alarm')
    expect(
      alarms
        .map(({ at, trigger }: Loose) => `${at.slice(0, 13)} ${trigger.name} ${trigger.draft}`)
        .sort(),
    ).toEqual([
      ...['2026-11-16T09 new true', '2026-11-16T09 tea false'],
      ...['2026-11-17T09 new true', '2026-11-17T09 tea false'],
    ])
    expect(told.totals).toMatchObject({ said: 6, deferred: 2, gathered: 2, dropped: 0 })
    expect(told.by_day.map(({ day, said }: Loose) => `${day} ${said}`)).toEqual([
      '2026-11-16 2',
      '2026-11-17 4',
    ])
    expect(told).toMatchObject({ cut: null, to: '2026-11-18T08:00:00.000Z', timezone: 'UTC' })
    expect(await w.query('select 1 from wakeful.alarms')).toHaveLength(1)
    for (const table of ['scheduled_intents', 'signals', 'events', 'effects', 'turns', 'deferred'])
      expect(await w.query(`select 1 from wakeful.${table}`), table).toEqual([])
  })

  it('let out at midnight what a pause has held until the day was full', async () => {
    const w = await open(store)
    await w.call('set_preferences', { user_id: 'ann', timezone: 'UTC', most_unasked_per_day: 1 })
    for (const cron_expr of ['30 8 * * *', '0 10 * * *'])
      await w.call('set_alarm', alarm({ cron_expr, label: cron_expr }), { actAs: 'ann' })
    await w.advanceTo('2026-11-16T09:00:00Z')
    await w.call('pause', { user_id: 'ann', for: '4 hours' })
    const { occurrences } = await forecast(w, { days: 1 })
    expect(occurrences[0]).toMatchObject({
      ...{ at: '2026-11-16T10:00:00.000Z', said_at: '2026-11-17T00:00:00.000Z' },
      deferred: { rule: 'day_limit' },
    })
  })

  it('refuse a wrong draft at the door with all reasons, and by the rules of what it would be', async () => {
    const w = await open(store)
    const shape = await refused(
      forecast(w, { draft: { alarms: [alarm({ colour: 'red' })], works: [] }, days: 90 }),
    )
    expect(shape.code).toBe('shape')
    expect(shape.errors).toEqual([
      'days: must be at most 31',
      'draft.alarms[0].colour: is not a known field',
      'draft.works: is not a known field',
    ])
    const rule = await refused(
      forecast(w, { draft: { alarms: [alarm(), alarm({ agent_id: 'nobody' })] } }),
    )
    expect(rule.errors[0]).toMatch(/^draft\.alarms\[1\]\.agent_id: there is no agent nobody here/)
    const late = await refused(forecast(w, { facts: [fallAt('2027-01-01T00:00:00Z')] }))
    expect(late.errors[0]).toMatch(/^facts\[0\]\.at: must lie between/)
  })

  it('are of their own person: a key sees nobody else, whoever it names', async () => {
    const w = await open(store, { WAKEFUL_AUTH: 'keys', WAKEFUL_ADMIN_KEY: ADMIN_KEY })
    const url = await w.listen()
    const post = async (path: string, key: object, body: object) => {
      const answer = await fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...key },
        body: JSON.stringify(body),
      })
      return { status: answer.status, body: (await answer.json()) as Loose }
    }
    await w.call('set_alarm', alarm({ label: 'secret' }), { actAs: 'ann' })
    const key = async (user_id: string) => {
      const made = await post('/v1/keys', ADMIN, { role: 'user', user_id })
      return { authorization: `Bearer ${made.body.key}` }
    }
    const mine = await post('/v1/people/me/forecast', await key('ann'), { days: 1 })
    expect(mine.body.occurrences.map(({ trigger }: Loose) => trigger.name)).toEqual(['secret'])
    const other = await post('/v1/people/ann/forecast', await key('bob'), { days: 1 })
    expect(other.status).toBe(404)
    const admin = await post('/v1/people/ann/forecast', ADMIN, { days: 1 })
    expect(admin.body.occurrences).toHaveLength(1)
    expect((await post('/v1/people/ann/forecast', {}, { days: 1 })).status).toBe(401)
  })

  it('are told in words to a client of MCP', async () => {
    const w = await open(store)
    const url = await w.listen()
    const { call } = await connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
    const told = await call('forecast', { user_id: 'me', days: 1, draft: { alarms: [alarm()] } })
    expect(told.said).toContain(
      'nothing was set or sent. All in all: 1 said, 0 deferred, 0 gathered, 0 dropped.',
    )
    expect(told.said).toContain('alarm "tea" (draft): Sent at')
    expect(told.data).toMatchObject({ user_id: 'local', totals: { said: 1 } })
    expect((await call('list_alarms')).said).toBe('There are no alarms.')
  })

  it('know of every table of people whether it is copied', async () => {
    const w = await open(store)
    const known = [...Object.keys(COPIED), ...LEFT_OUT]
    const tables = await movedTables(w.app.store.db)
    expect(tables.filter((table) => !known.includes(table))).toEqual([])
  })

  it('are held one at a time for a person', async () => {
    const w = await open(store)
    const asked = await Promise.allSettled(
      Array.from({ length: 3 }, () => forecast(w, { days: 1 })),
    )
    const busy = asked.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
    expect(busy.map(({ code }) => code)).toEqual(['rate_limited', 'rate_limited'])
  })
})

/** What has been, and what concerns the outside: nothing of it comes due on a stage. */
const LEFT_OUT = [
  ...['alarm_wakes', 'audit_log', 'checkpoint_blobs', 'checkpoint_writes', 'deliveries', 'effects'],
  ...[
    'langgraph_crons',
    'link_codes',
    'links',
    'missed',
    'slot_marks',
    'subscription_deliveries',
    'subscriptions',
  ],
]

// They are held in a store of their own, of the same kind for everybody.
oneStore('forecasts', (store) => {
  it('are cut where too much would happen, and say of what; the next one begins with nothing of it', async () => {
    const w = await open(store)
    await w.call('set_alarm', alarm({ label: 'rare' }), { actAs: 'ann' })
    // Many at each instant: the bound is met sooner than by one at a time.
    const often = Array.from({ length: 20 }, () =>
      alarm({ label: 'often', cron_expr: '@every 1s' }),
    )
    const told = await forecast(w, { draft: { alarms: often } })
    expect(told.cut).toMatchObject({ busiest: { name: 'often', draft: true } })
    expect(told.occurrences.length).toBeLessThanOrEqual(OCCURRENCES_MAX)
    expect(told.cut.at).toBe(told.to)
    const again = await forecast(w)
    expect(again.occurrences.map(({ trigger }: Loose) => trigger.name)).toEqual(['rare', 'rare'])
  })
})
