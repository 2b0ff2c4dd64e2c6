/** `timezone: "person"`: nine o'clock wherever somebody is, for alarms, intents, work and schedules. */
import { beforeEach, expect, it } from 'vitest'
import { type Stage, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const HOUR = 3_600_000
const ANN = { 'wakeful-act-as': 'ann' }

const KINDS: Readonly<Record<string, readonly [string, object]>> = {
  alarm: ['/v1/alarms', { kind: 'cron', cron_expr: '0 9 * * *', wake_message: 'wake up' }],
  intent: [
    '/v1/intents',
    {
      ...{ user_id: 'ann', intent_name: 'nine', agent_id: 'bot', action_context: 'say hello' },
      ...{ trigger_type: 'cron', trigger_schedule: { cron: '0 9 * * *' } },
    },
  ],
  work: [
    '/v1/work',
    { task: 'nine', agent_type: 'note', frequency: '0 9 * * *', run_first: false },
  ],
}

eachStore('schedules that follow a person', (store) => {
  const stage = sharedStage(store, {
    startAt: '2026-01-05T00:00:00Z',
    work: { note: async () => ({ title: 'done', content: 'done' }) },
  })
  beforeEach(() => stage().query('delete from wakeful.scheduled_intents'))

  const live = async (s: Stage, timezone: string) => {
    const moved = await s.call('PUT', '/v1/people/ann', { timezone })
    expect(moved.status).toBe(200)
  }
  const fired = async (s: Stage) =>
    (
      await s.query<{ at: string }>(
        `select to_char(scheduled_for at time zone 'UTC', 'MM-DD HH24:MI') as at from wakeful.events
         where scheduled_for is not null order by scheduled_for, id`,
      )
    ).map(({ at }) => at)
  const make = async (s: Stage, kind: string, timezone = 'person') => {
    const [path, body] = KINDS[kind] ?? ['', {}]
    const made = await s.call('POST', path, { ...body, timezone }, ANN)
    expect(made.text.includes('"follows_zone":true')).toBe(timezone === 'person')
    expect(made.status).toBe(201)
    return made.body
  }

  for (const kind of Object.keys(KINDS))
    it(`${kind}: from Berlin to Tokyo, nine o'clock there, once a day`, async () => {
      const s = stage()
      await live(s, 'Europe/Berlin')
      await make(s, kind)
      await s.advanceBy(12 * HOUR)
      // 21:00 in Tokyo: the next nine o'clock there is at midnight UTC.
      await live(s, 'Asia/Tokyo')
      await s.advanceBy(36 * HOUR)
      expect(await fired(s)).toEqual(['01-05 08:00', '01-06 00:00', '01-07 00:00'])
    })

  for (const kind of Object.keys(KINDS))
    it(`${kind}: a date that has fired in Tokyo does not fire again in Los Angeles`, async () => {
      const s = stage()
      await live(s, 'Asia/Tokyo')
      await make(s, kind)
      await s.advanceBy(25 * HOUR)
      expect(await fired(s)).toEqual(['01-06 00:00'])
      // 17:00 on the 5th there; the 6th has fired, so the 7th is next.
      await live(s, 'America/Los_Angeles')
      await s.advanceBy(48 * HOUR)
      expect(await fired(s)).toEqual(['01-06 00:00', '01-07 17:00'])
    })

  it('a time that has passed there is skipped, and what does not follow stays', async () => {
    const s = stage()
    await live(s, 'America/New_York')
    await make(s, 'alarm')
    const stays = await make(s, 'alarm', 'America/New_York')
    await s.advanceBy(10 * HOUR)
    // 19:00 in Tokyo: nine o'clock of the 5th is over.
    await live(s, 'Asia/Tokyo')
    await s.advanceBy(15 * HOUR)
    expect(await fired(s)).toEqual(['01-05 14:00', '01-06 00:00'])
    expect(await s.get(String(stays.id))).toMatchObject({
      timezone: 'America/New_York',
    })
  })

  it('what happens once moves by the clock, a delay and an instant do not', async () => {
    const s = stage()
    await live(s, 'Europe/Berlin')
    const set = async (body: object) => s.set({ timezone: 'person', ...body }, ANN)
    const clock = await set({ schedule: 'tomorrow at 9am' })
    const later = await set({ schedule: 'in 30 hours' })
    const instant = await set({ kind: 'once', fire_at: '2026-01-06T10:00:00Z' })
    await live(s, 'Asia/Tokyo')
    const next = async ({ id }: { id?: unknown }) => (await s.get(String(id))).next_fire_at
    expect(await next(clock)).toBe('2026-01-06T00:00:00.000Z')
    expect(await next(later)).toBe('2026-01-06T06:00:00.000Z')
    expect(await next(instant)).toBe('2026-01-06T10:00:00.000Z')
  })

  it('a schedule follows too, also while it is paused, and keeps that when it is changed', async () => {
    const s = stage()
    await live(s, 'Europe/Berlin')
    const put = (name: string, body: object) =>
      s.call('PUT', `/v1/schedules/${name}`, { user_id: 'ann', timezone: 'person', ...body })
    await put('plan', { every: 'day at 9:00' })
    await s.call('POST', '/v1/schedules/plan/pause?user_id=ann')
    await live(s, 'Asia/Tokyo')
    await s.call('PATCH', '/v1/schedules/plan?user_id=ann', { note: 'good morning' })
    const resumed = await s.call('POST', '/v1/schedules/plan/resume?user_id=ann')
    expect(resumed.body).toMatchObject({
      timezone: 'Asia/Tokyo',
      next_at: '2026-01-06T00:00:00.000Z',
    })
    await live(s, 'UTC')
    const [row] = (await s.call('GET', '/v1/schedules?user_id=ann')).body.data as {
      next_at: string
    }[]
    expect(row?.next_at).toBe('2026-01-05T09:00:00.000Z')
  })

  it('a zone that becomes known by a message is followed', async () => {
    const s = stage()
    const made = await make(s, 'alarm')
    expect(made).toMatchObject({ timezone: 'UTC', follows_zone: true })
    await s.call('POST', '/v1/sessions/ann:bot:main/messages', {
      ...{ text: 'hello', timezone: 'Asia/Tokyo' },
    })
    expect(await s.get(String(made.id))).toMatchObject({
      timezone: 'Asia/Tokyo',
      next_fire_at: '2026-01-06T00:00:00.000Z',
    })
  })
})
