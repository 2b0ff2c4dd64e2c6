/** A clock that was ahead and is set right silences nothing: delivery goes on within a lease (contract, invariant 14). */
import { expect, it } from 'vitest'
import { pulledSlot } from '../../packages/schedule/src/moved.ts'
import { type Row, type Stage, stage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const LEASE = 3_000
const AS = { 'wakeful-act-as': 'ann' }

eachStore('a clock that was ahead', (store) => {
  const open = async (bot: () => void = () => undefined) =>
    stage(await store.database(), {
      agents: { bot },
      work: { echo: async () => ({ title: 't', content: '' }) },
      env: { WAKEFUL_LEASE_MS: String(LEASE) },
    })
  const say = (s: Stage, text: string) =>
    s.call('POST', '/v1/sessions/ann:bot:main/messages', { text })
  const every = { kind: 'cron', cron_expr: '@every 5s', agent_id: 'bot' }
  const events = async (s: Stage, type: string) =>
    (await s.query<Row>('select 1 from wakeful.events where type = $1', [type])).length

  it('lets every recurring trigger go on with its next slot by the right clock', async () => {
    const s = await open()
    await s.set(every, AS)
    await s.call('POST', '/v1/intents', {
      ...{ user_id: 'ann', intent_name: 'i', agent_id: 'bot', action_context: 'x' },
      ...{ trigger_type: 'interval', trigger_schedule: { interval_minutes: 5 } },
    })
    await s.call('POST', '/v1/intents', {
      ...{ user_id: 'ann', intent_name: 'p', agent_id: 'bot', action_context: 'x' },
      ...{ trigger_type: 'price', trigger_condition: { ticker: 'X', operator: '>', value: 1 } },
    })
    const task = { task: 't', agent_type: 'echo', frequency: '@every 10m', run_first: false }
    await s.call('POST', '/v1/work', { ...task, user_id: 'ann' })
    await s.settle()
    s.sleep(DAY)
    await s.settle()
    expect(await events(s, 'alarm')).toBe(1)
    s.sleep(-DAY)
    await s.settle()
    const at = s.now().getTime()
    const [alarm] = await s.query<Row>('select due_at, next_fire_at from wakeful.alarms')
    expect(alarm).toEqual({ due_at: new Date(at + 5_000), next_fire_at: new Date(at + 5_000) })
    const checks = await s.query<Row>(
      'select next_check from wakeful.scheduled_intents order by trigger_type',
    )
    expect(checks[0]?.next_check).toEqual(new Date(at + 300_000))
    expect(checks[1]?.next_check.getTime()).toBeLessThanOrEqual(at + 300_000)
    const [work] = await s.query<Row>('select next_run_at from wakeful.work')
    expect(work?.next_run_at).toEqual(new Date(at + 600_000))
    await s.advanceBy(5_000)
    expect(await events(s, 'alarm')).toBe(2)
  })

  it('goes on from now where the clock is set right while a slot has its turn', async () => {
    let back: () => void = () => undefined
    const s = await open(() => back())
    await s.set(every, AS)
    s.sleep(DAY)
    back = () => {
      back = () => undefined
      s.sleep(-DAY)
    }
    await s.app.engine.quiesce()
    await s.advanceBy(5_000)
    expect(await events(s, 'alarm')).toBe(2)
  })

  it('runs a message that was accepted while the clock was ahead, and one whose process died then', async () => {
    const s = await open()
    s.sleep(HOUR)
    await say(s, 'one')
    s.sleep(-HOUR)
    await s.settle()
    expect((await s.query('select 1 from wakeful.turns')).length).toBe(1)
    s.sleep(HOUR)
    await say(s, 'two')
    await s.query(
      `update wakeful.sessions set claim_token = gen_random_uuid(), claimed_at = $1::timestamptz, leased_until = $1::timestamptz + interval '3 s'`,
      [s.now()],
    )
    await s.settle()
    s.sleep(-HOUR)
    await s.advanceBy(LEASE)
    expect((await s.query('select 1 from wakeful.turns')).length).toBe(2)
  })

  it('pulls back every lease and every wait, and no time that somebody chose', async () => {
    const s = await open()
    const later = new Date(s.now().getTime() + 2 * HOUR).toISOString()
    const { id } = await s.set({ kind: 'once', fire_at: later, agent_id: 'bot' }, AS)
    s.sleep(HOUR)
    await s.query(
      `insert into wakeful.source_polls (bucket, key, kind, due_at, claim_token, claimed_at, created_at, updated_at)
      values (0, 'k', 'feed', $1::timestamptz + interval '3 s', gen_random_uuid(), $1, $1, $1), (0, 'l', 'feed', $1::timestamptz + interval '1 min', null, null, $1, $1)`,
      [s.now()],
    )
    await s.query(
      `insert into wakeful.channel_readers (channel, account, claim_token, leased_until, updated_at)
      values ('c', 'a', gen_random_uuid(), $1::timestamptz + interval '3 s', $1)`,
      [s.now()],
    )
    await s.query(
      `insert into wakeful.leases (token, ends_at, ids) values (gen_random_uuid(), $1::timestamptz + interval '3 s', '{}')`,
      [s.now()],
    )
    s.sleep(-HOUR)
    await s.app.engine.home.round()
    const ends = await s.query<Row>(
      `select due_at as at from wakeful.source_polls where key = 'k' union all select leased_until from wakeful.channel_readers
       union all select ends_at from wakeful.leases`,
    )
    expect(ends).toHaveLength(3)
    for (const { at } of ends)
      expect((at as Date).getTime()).toBeLessThanOrEqual(s.now().getTime() + LEASE)
    const [wait] = await s.query<Row>(`select due_at from wakeful.source_polls where key = 'l'`)
    expect(wait?.due_at).toEqual(new Date(s.now().getTime() + 60_000))
    expect((await s.get(id)).next_fire_at).toBe(later)
  })

  it('is told by health and doctor', async () => {
    const s = await open()
    const stamps = async () =>
      (await s.call('GET', '/v1/doctor')).body.findings.find((each: Row) => each.check === 'stamps')
    expect(await stamps()).toMatchObject({ health: 'ok' })
    s.sleep(HOUR)
    await say(s, 'one')
    s.sleep(-HOUR)
    const { status, body } = await s.call('GET', '/healthz')
    expect([status, body.status]).toEqual([200, 'the clock was set back by 3600 s'])
    expect(await stamps()).toMatchObject({ health: 'warn' })
  })
})

it('a slot is pulled back to the next one by the right clock, also where its grid begins later, and never pushed', () => {
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))
  const every = { cron_expr: '@every 5s', timezone: 'UTC', anchor_at: at(0) }
  expect(pulledSlot(every, at(40), at(11))).toEqual(at(15))
  expect(pulledSlot(every, at(15), at(11))).toBeNull()
  expect(pulledSlot({ ...every, anchor_at: at(50) }, at(55), at(11))).toEqual(at(16))
})
