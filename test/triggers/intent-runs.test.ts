/** Intents from due to event to turn to settled: records, promises, failures, meters, and who may fire when. */
import { expect, it } from 'vitest'
import { intentTrigger } from '../../src/features/intents/trigger.ts'
import type { Row } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { HOUR, intentsStage, MINUTE, NVDA } from './intents-stage.ts'

const HALF_HOURLY = { trigger_type: 'interval', trigger_schedule: { interval_minutes: 30 } }

eachStore('intents run by Wakeful', (store) => {
  let act: (turn: Row) => unknown = () => undefined
  const open = intentsStage(store, { agents: { bot: (turn) => act(turn) } })
  const fresh = async () => {
    act = (turn) => turn.say('hello '.repeat(100))
    return open()
  }
  const meters = async (i: Awaited<ReturnType<typeof fresh>>) =>
    (
      await i.s.query<Row>(
        'select checks::int as checks, calls_avoided::int as avoided, execution_count as fires from wakeful.scheduled_intents',
      )
    )[0]

  it('invariant 3: the record of a fire is written with its turn: message, preview, verdict, timings, slot', async () => {
    const i = await fresh()
    const made = await i.make({ ...HALF_HOURLY, thread_id: 'c' })
    await i.s.advanceBy(30 * MINUTE)
    const [effect] = await i.s.query<Row>('select id from wakeful.effects')
    const [row] = await i.history(made.id)
    expect(row).toMatchObject({
      status: 'success',
      trigger_type: 'interval',
      message_id: effect.id,
      gate_result: { allowed: true, rule: 'promised' },
      error_message: null,
    })
    expect(row.message_preview).toHaveLength(200)
    expect(row.evaluation_ms).toBeGreaterThanOrEqual(0)
    expect(row.generation_ms).toBe(0)
    const [kept] = await i.s.query<Row>(
      'select session_key, event_seq, scheduled_for from wakeful.intent_executions',
    )
    expect(kept).toEqual({
      session_key: 'ann:bot:c',
      event_seq: 1,
      scheduled_for: new Date('2026-01-01T00:30:00Z'),
    })
    expect(await i.get(made.id)).toMatchObject({
      last_execution_status: 'success',
      last_message_id: effect.id,
      last_executed: '2026-01-01T00:30:00.000Z',
      next_check: '2026-01-01T01:00:00.000Z',
      execution_count: 1,
    })
  })

  it('rule 6: slots missed while nobody ran coalesce into the first, and the grid goes on', async () => {
    const i = await fresh()
    const made = await i.make(HALF_HOURLY)
    i.s.sleep(100 * MINUTE)
    await i.s.settle()
    expect((await i.payloads())[0]).toMatchObject({
      scheduled_for: '2026-01-01T00:30:00.000Z',
      missed_count: 2,
      trigger_data: {},
    })
    expect((await i.get(made.id)).next_check).toBe('2026-01-01T02:00:00.000Z')
    expect(await i.events()).toHaveLength(1)
  })

  it('once fires at its instant and is disabled; max_executions disables, too', async () => {
    const i = await fresh()
    const once = await i.make({
      trigger_type: 'once',
      trigger_schedule: { datetime: '2026-01-01T00:10:00Z' },
    })
    const twice = await i.make({ ...HALF_HOURLY, max_executions: 2 })
    await i.s.advanceBy(3 * HOUR)
    expect(await i.get(once.id)).toMatchObject({
      enabled: false,
      next_check: null,
      execution_count: 1,
    })
    expect(await i.get(twice.id)).toMatchObject({
      enabled: false,
      next_check: null,
      execution_count: 2,
    })
    expect(await i.events()).toHaveLength(3)
  })

  it('an expired intent never fires: it is disabled, and the record says why', async () => {
    const i = await fresh()
    const made = await i.make({ ...NVDA, expires_at: '2026-01-01T00:07:00Z' })
    await i.s.advanceBy(8 * MINUTE)
    expect((await i.price(100)).promoted).toBe(0)
    await i.s.advanceBy(HOUR)
    expect(await i.events()).toHaveLength(0)
    expect(await i.get(made.id)).toMatchObject({ enabled: false, next_check: null })
    expect((await i.history(made.id))[0]).toMatchObject({
      status: 'condition_not_met',
      error_message: 'expires_at passed',
    })
  })

  it('checks with nothing new keep one record: how often, since when, what was seen last; the meter counts', async () => {
    const i = await fresh()
    const made = await i.make(NVDA)
    await i.price(140)
    for (let n = 1; n <= 3; n++) {
      await i.s.advanceBy(MINUTE)
      await i.price(140 + n)
    }
    await i.s.advanceBy(20 * MINUTE)
    const rows = await i.s.query<Row>(
      'select status, repeats, executed_at, last_seen_at, trigger_data from wakeful.intent_executions order by executed_at, id',
    )
    const looks = rows.reduce((sum, row) => sum + row.repeats, 0)
    expect(
      rows.map((row) => [
        row.status,
        JSON.parse(row.trigger_data).reason,
        JSON.parse(row.trigger_data).price,
      ]),
    ).toEqual([['condition_not_met', 'false', 143]])
    expect(rows[0].last_seen_at - rows[0].executed_at).toBeGreaterThan(15 * MINUTE)
    expect(await meters(i)).toEqual({ checks: looks, avoided: looks, fires: 0 })
    await i.price(129)
    expect(await meters(i)).toEqual({ checks: looks + 1, avoided: looks, fires: 1 })
    expect(await i.get(made.id)).toMatchObject({ execution_count: 1 })
  })

  it('invariant 11a: a condition that comes true is told, however many follow-ups nobody answered', async () => {
    const i = await fresh()
    const made = await i.make({ ...NVDA, thread_id: 'c' })
    await i.s.call('POST', '/v1/sessions/ann:bot:c/messages', { text: 'hi' })
    await i.s.settle()
    await i.s.query(
      `update wakeful.sessions set consecutive_autonomous_msgs = 3, last_autonomous_at = '2026-01-01T00:00:00Z'`,
    )
    expect((await i.price(129)).promoted).toBe(1)
    expect((await i.history(made.id))[0]).toMatchObject({
      status: 'success',
      trigger_data: { price: 129 },
      gate_result: { allowed: true, rule: 'promised' },
    })
    const { data } = (await i.s.call('GET', '/v1/sessions/ann:bot:c/effects')).body
    expect(data.map((effect: Row) => effect.reason)).toEqual(['answer', 'promise'])
    expect((await i.s.call('GET', '/v1/sessions/ann:bot:c')).body).toMatchObject({
      consecutive_autonomous_msgs: 3,
    })
  })

  it('invariant 11a: two intents that one headline makes true are two messages', async () => {
    const i = await fresh()
    const news = {
      trigger_type: 'news',
      trigger_condition: { keywords: ['nvidia'] },
      thread_id: 'c',
    }
    const [a, b] = [await i.make(news), await i.make({ ...news, intent_name: 'other' })]
    await i.s.settle()
    expect((await i.tell({ kind: 'news', headline: 'Nvidia' })).promoted).toBe(2)
    for (const { id } of [a, b]) {
      expect((await i.history(id))[0].status).toBe('success')
      expect((await i.get(id)).execution_count).toBe(1)
    }
  })

  it('rule 27: a failed turn is tried again after 15 minutes with the same fact or slot, never past a sooner slot', async () => {
    const i = await fresh()
    let failures = 1
    let failing = 'watch'
    act = (turn) => {
      if (turn.event.payload.intent_name === failing && failures-- > 0) throw new Error('no luck')
      turn.say('ok')
    }
    const made = await i.make({ trigger_type: 'news', trigger_condition: { keywords: ['nvidia'] } })
    await i.tell({ kind: 'news', headline: 'Nvidia' })
    expect((await i.history(made.id))[0]).toMatchObject({
      status: 'failed',
      error_message: 'no luck',
    })
    expect(await i.get(made.id)).toMatchObject({
      next_check: '2026-01-01T00:15:00.000Z',
      last_execution_error: 'no luck',
    })
    await i.s.advanceBy(15 * MINUTE)
    expect((await i.payloads()).map((p) => p.trigger_data.headline)).toEqual(['Nvidia', 'Nvidia'])
    failures = 1
    failing = 'tick'
    await i.make({
      trigger_type: 'interval',
      trigger_schedule: { interval_minutes: 10 },
      intent_name: 'tick',
    })
    await i.s.advanceBy(20 * MINUTE)
    const ticks = (await i.payloads()).filter((p) => p.intent_name === 'tick')
    expect(ticks.map((p) => p.scheduled_for)).toEqual([
      '2026-01-01T00:25:00.000Z',
      '2026-01-01T00:35:00.000Z',
    ])
    failures = 1
    failing = 'one'
    await i.make({
      trigger_type: 'once',
      trigger_schedule: { datetime: '2026-01-01T01:00:30Z' },
      intent_name: 'one',
    })
    await i.s.advanceBy(HOUR)
    const once = (await i.payloads()).filter((p) => p.intent_name === 'one')
    expect(once.map((p) => p.scheduled_for)).toEqual(Array(2).fill('2026-01-01T01:00:30.000Z'))
  })

  it('a price whose turn failed fires again if it still holds', async () => {
    const i = await fresh()
    let failures = 1
    act = () => {
      if (failures-- > 0) throw new Error('no luck')
    }
    const made = await i.make(NVDA)
    await i.price(129)
    await i.s.advanceBy(15 * MINUTE)
    expect(await i.events()).toHaveLength(2)
    expect((await i.history(made.id))[0]).toMatchObject({ status: 'success', message_id: null })
  })

  it.each(['deleted', 'disabled'] as const)(
    'invariant 10: %s in flight, its turn does not run, and that is recorded',
    async (how) => {
      const i = await fresh()
      let ran = 0
      act = () => {
        ran++
      }
      const made = await i.make(NVDA)
      await i.s.settle()
      expect((await i.price(129, false)).promoted).toBe(1)
      const path = `/v1/intents/${made.id}`
      if (how === 'deleted') await i.s.call('DELETE', path)
      else await i.s.call('PUT', path, { enabled: false })
      await i.s.settle()
      expect(ran).toBe(0)
      const rows = await i.s.query<Row>(
        `select intent_id, status, error_message, trigger_type from wakeful.intent_executions where status = 'failed'`,
      )
      expect(rows).toEqual([
        {
          intent_id: how === 'deleted' ? null : made.id,
          status: 'failed',
          error_message: 'not run: the intent was cancelled before its turn began',
          trigger_type: 'price',
        },
      ])
      if (how === 'disabled')
        expect(await i.get(made.id)).toMatchObject({ enabled: false, next_check: null })
      await i.s.advanceBy(HOUR)
      expect(await i.events()).toHaveLength(1)
    },
  )

  it('invariant 4: two clocks and signals at once promote each slot once', async () => {
    const i = await fresh()
    for (let n = 0; n < 20; n++) await i.make({ ...HALF_HOURLY, user_id: `u${n}` })
    for (let n = 0; n < 20; n++) await i.make({ ...NVDA, user_id: `u${n}` })
    await i.s.settle()
    i.s.sleep(30 * MINUTE)
    const trigger = intentTrigger
    const { engine } = i.s.app.store
    await Promise.all([
      trigger.promote(engine),
      i.price(129, false),
      trigger.promote(engine),
      trigger.promote(engine),
      i.price(128, false),
    ])
    await i.s.settle()
    const events = await i.events()
    expect(events).toHaveLength(40)
    expect(new Set(events.map((event) => event.trigger_id)).size).toBe(40)
  })

  it('more than one batch is due: all are checked, none twice', async () => {
    const i = await fresh()
    await i.s.query(
      `insert into wakeful.scheduled_intents (bucket, id, user_id, intent_name, trigger_type, trigger_condition, action_context, next_check,
         created_at, updated_at, anchor_at, agent_id)
       select n % 1024, gen_random_uuid(), 'u' || n, 'many', 'price', '{"ticker":"NVDA","operator":"<","value":130}', 'x',
         $1::timestamptz, $1, $1, $1, 'bot' from generate_series(1, 1500) n`,
      [i.s.now()],
    )
    await i.s.settle()
    const [row] = await i.s.query<Row>(
      'select count(*)::int as n, sum(checks)::int as checks from wakeful.scheduled_intents',
    )
    expect(row).toEqual({ n: 1500, checks: 1500 })
  })
})

eachStore('signals without autonomy', (store) => {
  const open = intentsStage(store, { env: { AUTONOMY_ENABLED: 'false' } })

  it('rule 17: facts are kept, nothing is looked at or fired', async () => {
    const i = await open()
    await i.make(NVDA)
    expect(await i.price(100)).toMatchObject({ known: false, promoted: 0 })
    await i.s.advanceBy(HOUR)
    expect(await i.events()).toHaveLength(0)
    expect(await i.s.query('select 1 from wakeful.signals')).toHaveLength(1)
  })
})
