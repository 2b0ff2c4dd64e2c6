/** Alarms of an agent known here: from due to event to turn to settled, on the test clock. */
import { expect, it } from 'vitest'
import { RetryableError, TerminalError } from '../../src/core/errors.ts'
import { alarmTrigger } from '../../src/features/alarms/trigger.ts'
import { claimTurns } from '../../src/features/sessions/rows.ts'
import { type Row, type Stage, sharedStage, stage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const MINUTE = 60_000
const EVENTS =
  'select session_key, seq, type, payload, created_at from wakeful.events order by created_at, id'

eachStore('alarms of agents', (store) => {
  /** What the agent does with an event, as each test wants it. */
  let act: (turn: Row) => unknown = () => undefined
  const shared = sharedStage(store, {
    agents: { bot: (turn) => act(turn), other: () => undefined },
  })
  const fresh = (): Stage => {
    act = () => undefined
    return shared()
  }
  const bot = { agent_id: 'bot' }
  const payloads = async (s: Stage): Promise<Row[]> =>
    (await s.query<{ payload: string }>(EVENTS)).map((event) => JSON.parse(event.payload))

  it('a due alarm becomes the event of its session, exactly as the contract says', async () => {
    const s = fresh()
    const alarm = await s.set({
      ...bot,
      kind: 'once',
      delay_seconds: 60,
      label: 'te"a',
      conversation_id: 'c1',
      wake_message: 'line\n"two" 🙂',
      payload: { b: 1, a: [2] },
    })
    await s.advanceBy(MINUTE - 1)
    expect(await s.query(EVENTS)).toHaveLength(0)
    await s.advanceBy(1)
    const [event] = await s.query<Row>(EVENTS)
    expect(event).toMatchObject({ session_key: 'local:bot:c1', seq: 1, type: 'alarm' })
    expect(event.payload).toBe(
      `{"alarm_id":"${alarm.id}","label":"te\\"a","wake_message":"line\\n\\"two\\" 🙂","payload":{"b":1,"a":[2]},` +
        '"scheduled_for":"2026-01-01T00:01:00.000Z","missed_count":0,"attempt":1}',
    )
    expect(await s.get(alarm.id)).toMatchObject({
      status: 'fired',
      last_fired_at: '2026-01-01T00:01:00.000Z',
    })
    await s.advanceBy(3_600_000)
    expect(await s.query(EVENTS)).toHaveLength(1)
  })

  it('rule 7: a clock that looks a millisecond before takes nothing, and at the very instant takes it', async () => {
    const s = fresh()
    await s.set({ ...bot, kind: 'once', delay_seconds: 60 })
    s.sleep(MINUTE - 1)
    const { engine } = s.app.store
    expect(await alarmTrigger.promote(engine)).toMatchObject({ promoted: 0, nextMs: 1 })
    s.sleep(1)
    expect(await alarmTrigger.promote(engine)).toMatchObject({ promoted: 1, nextMs: null })
  })

  it('with an empty conversation every slot has a thread of its own, which its attempts share', async () => {
    const s = fresh()
    let failures = 2
    act = () => {
      if (failures-- > 0) throw new Error('not yet')
    }
    await s.set({ ...bot, kind: 'cron', cron_expr: '@every 10m', conversation_id: '' })
    await s.advanceBy(21 * MINUTE)
    const keys = (await s.query<Row>(EVENTS)).map((event) => event.session_key)
    expect(keys).toHaveLength(4)
    expect(new Set(keys.slice(0, 3)).size).toBe(1)
    expect(new Set(keys).size).toBe(2)
  })

  it('invariant 1: alarms of one conversation get gapless numbers beside what users say', async () => {
    const s = fresh()
    for (let n = 0; n < 25; n++)
      await s.set({ ...bot, kind: 'once', delay_seconds: 60, conversation_id: 'c', label: `n${n}` })
    await s.call('POST', '/v1/sessions/local:bot:c/messages', { text: 'hello' })
    await s.advanceBy(MINUTE)
    const events = await s.query<Row>('select seq, type from wakeful.events order by seq')
    expect(events.map((event) => event.seq)).toEqual(Array.from({ length: 26 }, (_, n) => n + 1))
    const [head] = await s.query<Row>('select last_seq, done_seq from wakeful.sessions')
    expect(head).toEqual({ last_seq: 26, done_seq: 26 })
  })

  it('rule 18: a failing turn is tried again after 30, 60, 120, 240 s, then the alarm failed', async () => {
    const s = fresh()
    act = () => {
      throw new Error('no luck')
    }
    const alarm = await s.set({ ...bot, kind: 'once', delay_seconds: 60, conversation_id: 'c' })
    await s.advanceBy(MINUTE)
    expect(await s.get(alarm.id)).toMatchObject({
      status: 'active',
      failure_count: 1,
      last_error: 'no luck',
      next_fire_at: '2026-01-01T00:01:30.000Z',
    })
    await s.advanceBy(3_600_000)
    const events = await s.query<Row>(EVENTS)
    const seconds = events.map((event) => (event.created_at - events[0].created_at) / 1000)
    expect(seconds).toEqual([0, 30, 90, 210, 450])
    const seen = await payloads(s)
    expect(seen.map((payload) => payload.attempt)).toEqual([1, 2, 3, 4, 5])
    expect(new Set(seen.map((payload) => payload.scheduled_for)).size).toBe(1)
    const ended = await s.get(alarm.id)
    expect(ended).toMatchObject({ status: 'failed', failure_count: 5, last_error: 'no luck' })
    expect(ended).not.toHaveProperty('next_fire_at')
    const turns = await s.query<Row>('select status from wakeful.turns')
    expect(turns.map((turn) => turn.status)).toEqual(Array(5).fill('failed'))
  })

  it('a failing alarm does not hold up its session (rule 15)', async () => {
    const s = fresh()
    act = (turn) => {
      if (turn.event.type === 'alarm') throw new Error('no luck')
      turn.say('hello')
    }
    await s.set({ ...bot, kind: 'once', delay_seconds: 60, conversation_id: 'c' })
    await s.advanceBy(MINUTE)
    await s.call('POST', '/v1/sessions/local:bot:c/messages', { text: 'hi' })
    await s.settle()
    expect(await s.query('select 1 from wakeful.effects')).toHaveLength(1)
  })

  it('rule 18: a cron skips to its next slot, counter reset, error kept; a slot that fails twice and is taken goes on', async () => {
    const s = fresh()
    let failing = true
    act = () => {
      if (failing) throw new Error('no luck')
    }
    const alarm = await s.set({ ...bot, kind: 'cron', cron_expr: '0 * * * *', max_failures: 3 })
    await s.advanceBy(3_600_000 + 89_000)
    expect(await s.get(alarm.id)).toMatchObject({ failure_count: 2, status: 'active' })
    await s.advanceBy(1000)
    expect(await s.get(alarm.id)).toMatchObject({
      status: 'active',
      failure_count: 0,
      last_error: 'no luck',
      next_fire_at: '2026-01-01T02:00:00.000Z',
    })
    await s.advanceBy(3_600_000 - 90_000)
    failing = false
    await s.advanceBy(30_000)
    expect(await s.get(alarm.id)).toMatchObject({
      failure_count: 0,
      last_fired_at: '2026-01-01T02:00:30.000Z',
      next_fire_at: '2026-01-01T03:00:00.000Z',
    })
  })

  it('TerminalError gives up at once; RetryableError waits as long as it says', async () => {
    const s = fresh()
    act = (turn) => {
      if (turn.event.payload.label === 'hopeless') throw new TerminalError('never')
      if (turn.event.payload.attempt === 1) throw new RetryableError({ retryAfterMs: 120_000 })
    }
    const once = { ...bot, kind: 'once', delay_seconds: 60 }
    const hopeless = await s.set({ ...once, label: 'hopeless' })
    const patient = await s.set(once)
    await s.advanceBy(MINUTE)
    expect(await s.get(hopeless.id)).toMatchObject({ status: 'failed', failure_count: 1 })
    expect((await s.get(patient.id)).next_fire_at).toBe('2026-01-01T00:03:00.000Z')
    await s.advanceBy(120_000)
    expect((await s.get(patient.id)).status).toBe('fired')
  })

  it('rule 6: slots that pass while a slot has its turn are told with the next event, with the first and last of them', async () => {
    let takes = 0
    const s: Stage = await stage(await store.database(), {
      agents: { bot: () => s.sleep(takes) },
    })
    await s.set({ kind: 'cron', cron_expr: '@every 1s', agent_id: 'bot', conversation_id: 'c' })
    await s.call('POST', '/v1/intents', {
      ...{ user_id: 'ann', intent_name: 'i', agent_id: 'bot', action_context: 'x' },
      ...{ trigger_type: 'interval', trigger_schedule: { interval_minutes: 5 } },
    })
    const told = async (type: string) => {
      const rows = await s.query<Row>(
        'select payload from wakeful.events where type = $1 order by seq',
        [type],
      )
      return rows.map(({ payload }) => {
        const { scheduled_for, missed_count, missed } = JSON.parse(payload) as Row
        const at = (text: string) => text.slice(14, 19)
        return [
          at(scheduled_for),
          missed_count,
          ...(missed ? [missed.count, at(missed.from), at(missed.to)] : []),
        ]
      })
    }
    await s.advanceBy(999)
    takes = 2_500
    for (let n = 0; n < 3; n++) {
      const [{ due_at } = {} as Row] = await s.query<Row>('select due_at from wakeful.alarms')
      s.sleep(due_at.getTime() - s.now().getTime())
      await s.app.engine.home.round()
    }
    expect(await told('alarm')).toEqual([
      ['00:01', 0],
      ['00:04', 2, 2, '00:02', '00:03'],
      ['00:07', 2, 2, '00:05', '00:06'],
    ])
    await s.query(`update wakeful.alarms set status = 'cancelled', due_at = null, in_flight = null`)
    takes = 11 * MINUTE
    for (let n = 0; n < 2; n++) {
      const [{ next_check } = {} as Row] = await s.query<Row>(
        'select next_check from wakeful.scheduled_intents',
      )
      s.sleep(next_check.getTime() - s.now().getTime())
      await s.app.engine.home.round()
    }
    expect(await told('intent')).toEqual([
      ['05:00', 0],
      ['20:00', 2, 2, '10:00', '15:00'],
    ])
  })

  it('rule 6: after downtime a cron fires once for the first missed slot, and goes on after now', async () => {
    const s = fresh()
    const alarm = await s.set({ ...bot, kind: 'cron', cron_expr: '0 * * * *' })
    const late = await s.set({ ...bot, kind: 'once', delay_seconds: 60, conversation_id: 'other' })
    s.sleep(5.5 * 3_600_000)
    await s.settle()
    const seen = await payloads(s)
    expect(seen).toHaveLength(2)
    expect(seen.find((payload) => payload.alarm_id === alarm.id)).toMatchObject({
      scheduled_for: '2026-01-01T01:00:00.000Z',
      missed_count: 4,
    })
    expect(seen.find((payload) => payload.alarm_id === late.id)).toMatchObject({
      scheduled_for: '2026-01-01T00:01:00.000Z',
      missed_count: 0,
    })
    expect(await s.get(alarm.id)).toMatchObject({
      next_fire_at: '2026-01-01T06:00:00.000Z',
      missed_count: 4,
    })
    await s.advanceBy(3_600_000)
    expect(await s.get(alarm.id)).toMatchObject({ missed_count: 0 })
    expect((await payloads(s)).at(-1)).toMatchObject({ missed_count: 0 })
  })

  it('@every stays on the grid of its creation, however late it is served', async () => {
    const s = fresh()
    await s.set({ ...bot, kind: 'cron', cron_expr: '@every 7m' })
    await s.advanceBy(7 * MINUTE)
    s.sleep(8.5 * MINUTE)
    await s.settle()
    await s.advanceBy(6 * MINUTE)
    expect((await payloads(s)).map((payload) => payload.scheduled_for)).toEqual([
      '2026-01-01T00:07:00.000Z',
      '2026-01-01T00:14:00.000Z',
      '2026-01-01T00:21:00.000Z',
    ])
  })

  it('rule 7: no early fire, ten years out too', async () => {
    const s = fresh()
    const far = await s.set({ ...bot, kind: 'once', fire_at: '2035-12-31T23:59:59Z' })
    const month = await s.set({ ...bot, kind: 'once', delay_seconds: 30 * 86_400 })
    await s.advanceBy(30 * 86_400_000 - 1)
    expect(await s.query(EVENTS)).toHaveLength(0)
    await s.advanceBy(1)
    expect((await s.get(month.id)).status).toBe('fired')
    expect((await s.get(far.id)).status).toBe('active')
    s.sleep(new Date('2035-12-31T23:59:58.999Z').getTime() - s.now().getTime())
    await s.settle()
    expect((await s.get(far.id)).status).toBe('active')
    await s.advanceBy(1)
    expect((await s.get(far.id)).status).toBe('fired')
  })

  it('invariant 4: a slot is promoted once, by several clocks side by side too', async () => {
    const s = fresh()
    await s.set({ ...bot, kind: 'once', delay_seconds: 1, agent_id: 'other' })
    await s.query(
      `insert into wakeful.alarms (bucket, id, owner_did, user_id, agent_id, kind, fire_at, anchor_at, next_fire_at, scheduled_for, due_at,
         delivery_id, conversation_id, wake_message, created_at, updated_at)
       select n % 7, gen_random_uuid(), owner_did, 'u' || n % 7, agent_id, kind, fire_at, anchor_at, next_fire_at, scheduled_for, due_at,
         gen_random_uuid(), case when n % 2 = 0 then 'c' else '' end, 'x', created_at, updated_at
       from wakeful.alarms, generate_series(1, 1500) n`,
    )
    s.sleep(1000)
    await Promise.all([s.settle(), s.settle(), s.settle()])
    await s.settle()
    const [row] = await s.query<Row>(
      `select count(*)::int as events, count(distinct trigger_id)::int as triggers,
         (select count(*)::int from wakeful.alarms where status = 'fired') as fired,
         (select count(*)::int from (select 1 from wakeful.events group by session_key having count(*) <> max(seq)) g) as gaps
       from wakeful.events`,
    )
    expect(row).toEqual({ events: 1501, triggers: 1501, fired: 1501, gaps: 0 })
  })

  it('invariant 5: a turn whose process died is run again, and the slot is settled once', async () => {
    const s = fresh()
    const alarm = await s.set({ ...bot, kind: 'once', delay_seconds: 60, conversation_id: 'c' })
    // The clock promotes, and somebody else claims the turn and dies.
    s.sleep(MINUTE)
    const { alarmTrigger } = await import('../../src/features/alarms/trigger.ts')
    await alarmTrigger.promote(s.app.store.db)
    const claim = await claimTurns(s.app.store.db, 10, 30_000, crypto.randomUUID(), ['bot'])
    expect(claim.turns).toHaveLength(1)
    await s.settle()
    expect((await s.get(alarm.id)).status).toBe('active')
    await s.advanceBy(31_000)
    expect((await s.get(alarm.id)).status).toBe('fired')
    expect(await s.query(EVENTS)).toHaveLength(1)
  })

  it('fire-now uses up a once, as the slot of this instant', async () => {
    const s = fresh()
    const alarm = await s.set({ ...bot, kind: 'once', delay_seconds: 3600 })
    s.sleep(1500)
    const answer = await s.call('POST', `/v1/alarms/${alarm.id}/fire-now`)
    expect(answer.status).toBe(202)
    await s.settle()
    expect(await payloads(s)).toMatchObject([
      { alarm_id: alarm.id, scheduled_for: '2026-01-01T00:00:01.500Z', attempt: 1 },
    ])
    expect((await s.get(alarm.id)).status).toBe('fired')
    expect((await s.call('POST', `/v1/alarms/${alarm.id}/fire-now`)).status).toBe(409)
    await s.advanceBy(3_600_000)
    expect(await s.query(EVENTS)).toHaveLength(1)
  })

  it('fire-now is an extra wake of a cron: each answer 202 is one, and no slot of its own is used', async () => {
    const s = fresh()
    const alarm = await s.set({ ...bot, kind: 'cron', cron_expr: '0 * * * *' })
    s.sleep(1000)
    for (let n = 0; n < 3; n++)
      expect((await s.call('POST', `/v1/alarms/${alarm.id}/fire-now`)).body).toMatchObject({
        id: alarm.id,
        next_fire_at: '2026-01-01T01:00:00.000Z',
      })
    await s.settle()
    const extra = { alarm_id: alarm.id, scheduled_for: '2026-01-01T00:00:01.000Z', attempt: 1 }
    expect(await payloads(s)).toMatchObject([extra, extra, extra])
    expect(await s.get(alarm.id)).toMatchObject({
      status: 'active',
      last_fired_at: '2026-01-01T00:00:01.000Z',
      next_fire_at: '2026-01-01T01:00:00.000Z',
    })
    expect((await s.call('GET', '/v1/alarms')).body.data).toHaveLength(1)
    expect(await s.query('select 1 from wakeful.alarms')).toHaveLength(1)
    await s.advanceBy(3_600_000)
    expect(await s.query(EVENTS)).toHaveLength(4)
  })

  it('a failing extra wake has attempts of its own, says so on its alarm, and ends with it', async () => {
    const s = fresh()
    act = () => {
      throw new Error('no luck')
    }
    const alarm = await s.set({ ...bot, kind: 'cron', cron_expr: '0 * * * *', max_failures: 2 })
    await s.call('POST', `/v1/alarms/${alarm.id}/fire-now`)
    await s.settle()
    expect(await s.get(alarm.id)).toMatchObject({ last_error: 'no luck', failure_count: 0 })
    await s.advanceBy(30_000)
    expect((await payloads(s)).map((payload) => payload.attempt)).toEqual([1, 2])
    expect(await s.query('select 1 from wakeful.alarms')).toHaveLength(1)
    await s.call('POST', `/v1/alarms/${alarm.id}/fire-now`)
    await s.settle()
    await s.call('DELETE', `/v1/alarms/${alarm.id}`)
    await s.advanceBy(7_200_000)
    expect(await s.query(EVENTS)).toHaveLength(3)
    expect((await s.call('POST', `/v1/alarms/${alarm.id}/fire-now`)).status).toBe(409)
  })

  it('a user message touches no alarm (rule 9)', async () => {
    const s = fresh()
    const alarm = await s.set({ ...bot, kind: 'once', delay_seconds: 60, conversation_id: 'c' })
    await s.call('POST', '/v1/sessions/local:bot:c/messages', { text: 'hi' })
    await s.advanceBy(MINUTE)
    expect((await s.get(alarm.id)).status).toBe('fired')
  })
})
