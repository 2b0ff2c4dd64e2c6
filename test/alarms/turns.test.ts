/** Alarms that a turn asks for: set and cancelled with its commit, or not at all. */

import { expect, it } from 'vitest'
import * as commands from '../../src/agents/commands.ts'
import type { Turn } from '../../src/agents/function.ts'
import { type Row, type Stage, sharedStage, stage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const MINUTE = 60_000
const ALARMS = 'select * from wakeful.alarms order by id'

eachStore('alarms of turns', (store) => {
  let act: (turn: Turn) => unknown = () => undefined
  const shared = sharedStage(store, {
    agents: { bot: (turn) => act(turn), other: (turn) => act(turn) },
  })
  const say = (s: Stage, key = 'ann:bot:t') =>
    s.call('POST', `/v1/sessions/${key}/messages`, { text: 'go' })

  it('setAlarm answers with the id at once, writes with the commit, and wakes in the same thread', async () => {
    const s = shared()
    let id = ''
    const woken: Row[] = []
    act = async (turn) => {
      if (turn.event.type === 'alarm') {
        woken.push(turn.event.payload)
        return
      }
      id = commands.setAlarm(turn, {
        delay_seconds: 60,
        wake_message: 'tea',
        payload: { cups: 2 },
        label: 'l',
      })
      expect(await s.query(ALARMS)).toHaveLength(0)
    }
    await say(s)
    await s.settle()
    expect(await s.get(id)).toMatchObject({ id, status: 'active', agent_id: 'bot', label: 'l' })
    const [row] = await s.query<Row>(ALARMS)
    expect(row).toMatchObject({ owner_did: 'did:matrix:ann:0000000000000000', user_id: 'ann' })
    await s.advanceBy(MINUTE)
    expect(woken).toMatchObject([{ alarm_id: id, wake_message: 'tea', payload: { cups: 2 } }])
    const [event] = await s.query<Row>(
      `select session_key from wakeful.events where type = 'alarm'`,
    )
    expect(event.session_key).toBe('ann:bot:t')
  })

  it('an alarm is the agent’s own where it has a name, so that its key lists it; as many attempts as are set', async () => {
    const s = await stage(await store.database(), {
      agents: { bot: (turn) => act(turn), other: (turn) => act(turn) },
      env: { WAKEFUL_MAX_FAILURES: '2' },
    })
    const did = (hex: string) => `did:matrix:ann:${hex.repeat(16)}`
    const key = (body: object) =>
      s.call('POST', '/v1/keys', { role: 'agent', user_id: 'ann', ...body })
    await key({ agent_id: 'bot', owner_did: did('1') })
    await key({ agent_id: 'bot', owner_did: did('2') })
    // Of another agent, of all agents of the user, and of one that is no more.
    await key({ agent_id: 'third', owner_did: did('3') })
    await key({ owner_did: did('4') })
    const gone = await key({ agent_id: 'bot', owner_did: did('5') })
    await s.call('DELETE', `/v1/keys/${gone.body.id}`)
    act = (turn) =>
      commands.setAlarm(turn, { delay_seconds: 60, wake_message: turn.session.agentId })
    await say(s)
    await say(s, 'ann:other:t')
    await say(s, 'bea:bot:t')
    await s.settle()
    const rows = await s.query<Row>(
      'select user_id, wake_message, owner_did, max_failures from wakeful.alarms order by user_id, wake_message',
    )
    const nobody = '0'.repeat(16)
    expect(rows).toEqual([
      { user_id: 'ann', wake_message: 'bot', owner_did: did('2'), max_failures: 2 },
      {
        user_id: 'ann',
        wake_message: 'other',
        owner_did: `did:matrix:ann:${nobody}`,
        max_failures: 2,
      },
      {
        user_id: 'bea',
        wake_message: 'bot',
        owner_did: `did:matrix:bea:${nobody}`,
        max_failures: 2,
      },
    ])
    const listed = await s.call('GET', '/v1/alarms', undefined, { 'wakeful-act-as': did('2') })
    expect(listed.body.data).toMatchObject([{ wake_message: 'bot' }])
    expect(await s.set({ kind: 'once', delay_seconds: 60, agent_id: 'bot' })).toMatchObject({
      max_failures: 2,
    })
    expect(
      await s.set({ kind: 'once', delay_seconds: 60, agent_id: 'bot', max_failures: 7 }),
    ).toMatchObject({
      max_failures: 7,
    })
  })

  it('takes instants, cron and phrases; a time that passed during the turn fires at once', async () => {
    const s = shared()
    act = (turn) => {
      if (turn.event.type === 'alarm') return
      commands.setAlarm(turn, { fire_at: new Date('2026-01-01T00:10:00Z'), wake_message: 'a' })
      commands.setAlarm(turn, {
        fire_at: '2026-01-01T09:00',
        timezone: 'Asia/Tokyo',
        wake_message: 'b',
      })
      commands.setAlarm(turn, { cron_expr: '@every 5m', wake_message: 'c', conversation_id: '' })
      commands.setAlarm(turn, { schedule: 'in 20 minutes', wake_message: 'd' })
      commands.setAlarm(turn, { schedule: 'every weekday at 8:30', wake_message: 'e' })
      s.sleep(1000)
    }
    await say(s)
    await s.settle()
    const rows = await s.query<Row>(ALARMS)
    expect(
      rows.map((row) => [row.wake_message, row.kind, row.status, row.next_fire_at.toISOString()]),
    ).toEqual([
      ['a', 'once', 'active', '2026-01-01T00:10:00.000Z'],
      // Midnight in UTC: the instant this turn began.
      ['b', 'once', 'fired', '2026-01-01T00:00:00.000Z'],
      ['c', 'cron', 'active', '2026-01-01T00:05:01.000Z'],
      ['d', 'once', 'active', '2026-01-01T00:20:00.000Z'],
      ['e', 'cron', 'active', '2026-01-01T08:30:00.000Z'],
    ])
    expect(rows[2].conversation_id).toBe('')
  })

  it('invariant 3: a failing turn sets and cancels nothing', async () => {
    const s = shared()
    const kept = await s.set(
      { kind: 'once', delay_seconds: 7200, agent_id: 'bot' },
      { 'wakeful-act-as': 'ann' },
    )
    act = (turn) => {
      commands.setAlarm(turn, { delay_seconds: 1, wake_message: 'never' })
      commands.cancelAlarm(turn, kept.id)
      throw new Error('no luck')
    }
    await say(s)
    await s.advanceBy(MINUTE)
    expect(await s.query(ALARMS)).toHaveLength(1)
    expect((await s.get(kept.id)).status).toBe('active')
  })

  it('cancelAlarm reaches alarms of this user and agent only, also one set in the same turn', async () => {
    const s = shared()
    const once = { kind: 'once', delay_seconds: 7200 }
    const ann = { 'wakeful-act-as': 'ann' }
    const mine = await s.set({ ...once, agent_id: 'bot' }, ann)
    const others = await s.set({ ...once, agent_id: 'other' }, ann)
    const foreign = await s.set({ ...once, agent_id: 'bot' }, { 'wakeful-act-as': 'bea' })
    let own = ''
    act = (turn) => {
      own = commands.setAlarm(turn, { delay_seconds: 60, wake_message: 'x' })
      for (const id of [own, mine.id, others.id, foreign.id]) commands.cancelAlarm(turn, id)
    }
    await say(s)
    await s.settle()
    const status = async (id: string) => (await s.get(id)).status
    expect(await status(own)).toBe('cancelled')
    expect(await status(mine.id)).toBe('cancelled')
    expect(await status(others.id)).toBe('active')
    expect(await status(foreign.id)).toBe('active')
  })

  it('a turn may cancel the alarm that woke it: a cron ends there, a once has fired', async () => {
    const s = shared()
    act = (turn) => {
      if (turn.event.type === 'alarm')
        commands.cancelAlarm(turn, (turn.event.payload as Row).alarm_id)
      else {
        commands.setAlarm(turn, { cron_expr: '@every 1m', wake_message: 'again' })
        commands.setAlarm(turn, { delay_seconds: 60, wake_message: 'once' })
      }
    }
    await say(s)
    await s.advanceBy(10 * MINUTE)
    const rows = await s.query<Row>(ALARMS)
    expect(rows.map((row) => [row.kind, row.status, row.last_fired_at !== null])).toEqual([
      ['cron', 'cancelled', true],
      ['once', 'fired', true],
    ])
    expect(await s.query(`select 1 from wakeful.events where type = 'alarm'`)).toHaveLength(2)
  })

  it('an idempotency_key sets one alarm, however often turns ask', async () => {
    const s = shared()
    act = (turn) =>
      commands.setAlarm(turn, { delay_seconds: 60, wake_message: 'x', idempotency_key: 'daily' })
    for (let n = 0; n < 3; n++) {
      await say(s)
      await s.settle()
    }
    expect(await s.query(ALARMS)).toHaveLength(1)
  })

  it('what is asked wrongly throws at the call, in words', async () => {
    const s = shared()
    const wrong: [object, string][] = [
      [{ wake_message: 'x' }, 'takes exactly one of'],
      [{ wake_message: 'x', delay_seconds: 1, cron_expr: '* * * * *' }, 'takes exactly one of'],
      [{ wake_message: ' ', delay_seconds: 1 }, 'wake_message takes'],
      [{ delay_seconds: 1 }, 'wake_message takes'],
      [{ wake_message: 'x', delay_seconds: -1 }, 'delay_seconds takes'],
      [{ wake_message: 'x', fire_at: 'soon' }, 'fire_at takes'],
      [{ wake_message: 'x', fire_at: new Date(Number.NaN) }, 'fire_at takes'],
      [{ wake_message: 'x', cron_expr: '0 0 30 2 *' }, 'cron_expr'],
      [{ wake_message: 'x', schedule: 'banana' }, 'banana'],
      [{ wake_message: 'x', delay_seconds: 1, timezone: 'Mars/X' }, 'IANA'],
      [{ wake_message: 'x', delay_seconds: 1, conversation_id: 'a:b' }, 'conversation_id takes'],
      [{ wake_message: 'x', delay_seconds: 1, max_failures: 0 }, 'max_failures takes'],
      [{ wake_message: 'x', delay_seconds: 1, inSeconds: 5 }, 'has no field inSeconds'],
      [{ wake_message: 'x\0', delay_seconds: 1 }, 'wake_message takes'],
      [{ wake_message: 'x', delay_seconds: 1, payload: '\0' }, 'payload holds'],
      [{ wake_message: 'x', delay_seconds: 1, payload: 'x'.repeat(70_000) }, 'payload takes'],
    ]
    let checked = 0
    act = (turn) => {
      for (const [request, text] of wrong) {
        expect(() => commands.setAlarm(turn, request as never)).toThrow(text)
        checked++
      }
      expect(() => commands.cancelAlarm(turn, 'nope')).toThrow('cancelAlarm')
    }
    await say(s)
    await s.settle()
    expect(checked).toBe(wrong.length)
    expect(await s.query(ALARMS)).toHaveLength(0)
  })

  it('rule 17: with AUTONOMY_ENABLED=false alarms are kept, and nothing is promoted', async () => {
    const env = { AUTONOMY_ENABLED: 'false', WAKEFUL_WAKE_URL: 'http://127.0.0.1:9/' }
    const s = await stage(await store.database(), { env })
    const alarm = await s.set({ kind: 'once', delay_seconds: 60, agent_id: 'bot' })
    const wake = await s.set({ kind: 'once', delay_seconds: 60, agent_id: 'bot' })
    await s.advanceBy(3_600_000)
    expect((await s.get(alarm.id)).status).toBe('active')
    expect(await s.get(wake.id)).toMatchObject({ status: 'active', failure_count: 0 })
  })
})
