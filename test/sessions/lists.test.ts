/** Reading sessions over real HTTP: shapes, order, paging, whose they are (contract "Sessions", invariants 12 and 13). */
import { expect, it } from 'vitest'
import { INSTANT, type Loose, problem, UUID } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { house } from './house.ts'

const cursorOf = (...position: unknown[]) =>
  Buffer.from(JSON.stringify(position)).toString('base64url')

eachStore('lists of sessions', (store) => {
  const at = house(store, {
    bot: (turn) => {
      if (turn.event.type !== 'user_message') return
      turn.say('a')
      turn.schedule('later', { in: 3600, data: { n: 1 }, cancelOnReply: true })
    },
    mute: () => undefined,
    broken: () => {
      throw new Error('no luck')
    },
  })
  const path = (key: string, rest = '') => `/v1/sessions/${key}${rest}`
  const post = (key: string, body: unknown, headers: Record<string, string> = {}) =>
    at().call('POST', path(key, '/messages'), body, headers)
  const get = (url: string, headers: Record<string, string> = {}) =>
    at().call('GET', url, undefined, headers)

  /** Follows next_cursor to the end. */
  async function pages(url: string, limit: number): Promise<Loose[][]> {
    const all: Loose[][] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { status, body }: Loose = await get(
        `${url}${url.includes('?') ? '&' : '?'}limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`,
      )
      expect(status).toBe(200)
      expect(Object.keys(body)).toEqual(['data', 'next_cursor'])
      all.push(body.data)
      cursor = body.next_cursor
      expect(all.length).toBeLessThan(50)
    }
    return all
  }

  it('contract: head, effects, turns and timers, exactly so', async () => {
    const key = 'ann:bot:shape'
    await post(key, { text: 'hi' })
    await at().wakeful.settle()
    const { body: head } = await get(path(key))
    const timer = {
      id: expect.stringMatching(UUID),
      session_key: key,
      timer_id: 'later',
      fire_at: expect.stringMatching(INSTANT),
      payload: { data: { n: 1 } },
      status: 'pending',
      created_at: expect.stringMatching(INSTANT),
      updated_at: expect.stringMatching(INSTANT),
    }
    expect(head).toEqual({
      session_key: key,
      last_seq: 1,
      done_seq: 1,
      checkpoint_id: expect.any(String),
      consecutive_autonomous_msgs: 0,
      last_autonomous_at: null,
      gate: { allowed: true },
      timers: [timer],
      created_at: expect.stringMatching(INSTANT),
      updated_at: expect.stringMatching(INSTANT),
      last_activity_at: expect.stringMatching(INSTANT),
    })
    const { body: effects } = await get(path(key, '/effects'))
    const effect = {
      id: expect.stringMatching(UUID),
      reason: 'answer',
      channel: null,
      attempt_count: 0,
      last_attempt_at: null,
      last_error: null,
      dedupe_key: expect.stringMatching(/^[0-9a-f]{64}$/),
      checkpoint_id: head.checkpoint_id,
      created_at: expect.stringMatching(INSTANT),
      updated_at: expect.stringMatching(INSTANT),
    }
    expect(effects.data).toEqual([
      { ...effect, type: 'send_message', payload: { content: 'a' }, status: 'pending' },
      {
        ...effect,
        type: 'schedule_timer',
        payload: {
          timer_id: 'later',
          fire_at: head.timers[0].fire_at,
          payload: { data: { n: 1 } },
        },
        status: 'completed',
      },
    ])
    const { body: turns } = await get(path(key, '/turns'))
    const { body: events } = await get(path(key, '/events'))
    expect(turns.data).toEqual([
      {
        event_seq: 1,
        event_id: events.data[0].id,
        attempt: 1,
        status: 'committed',
        started_at: expect.stringMatching(INSTANT),
        finished_at: expect.stringMatching(INSTANT),
        checkpoint_id: head.checkpoint_id,
        effect_ids: effects.data.map((e: Loose) => e.id),
        verdicts: [],
      },
    ])
    expect((await get(path(key, '/timers'))).body).toEqual({ data: [timer], next_cursor: null })
    const pending = await get(path(key, '/effects?status=pending'))
    expect(pending.body.data.map((e: Loose) => e.type)).toEqual(['send_message'])
  })

  it('contract: a failed turn is listed with its error, attempt by attempt', async () => {
    const key = 'ann:broken:t'
    await post(key, { text: 'hi' })
    await at().wakeful.settle()
    const [turn] = (await get(path(key, '/turns'))).body.data
    expect(turn).toMatchObject({ attempt: 1, status: 'retrying', error: 'no luck' })
    expect(turn).not.toHaveProperty('checkpoint_id')
  })

  it('contract: lists come in order, page by page, each row once', async () => {
    const key = 'ann:bot:paged'
    for (let n = 0; n < 5; n++) await post(key, { text: `m${n}` })
    await at().wakeful.settle()
    const events = await pages(path(key, '/events'), 2)
    expect(events.map((p) => p.map((e) => e.seq))).toEqual([[1, 2], [3, 4], [5]])
    const later = await pages(path(key, '/events?after_seq=3'), 500)
    expect(later.flat().map((e) => e.seq)).toEqual([4, 5])
    const effects = await pages(path(key, '/effects'), 3)
    expect(effects.map((p) => p.length)).toEqual([3, 3, 3, 1])
    expect(new Set(effects.flat().map((e) => e.id)).size).toBe(10)
    const turns = await pages(path(key, '/turns'), 2)
    expect(turns.flat().map((t) => t.event_seq)).toEqual([1, 2, 3, 4, 5])
  })

  it('contract: sessions come newest first, page by page, of one user with Wakeful-Act-As', async () => {
    const keys = Array.from({ length: 5 }, (_, n) => `zoe:mute:s${n}`)
    for (const key of keys) await post(key, { text: 'hi' })
    const all = (await pages('/v1/sessions', 3)).flat().map((s) => s.session_key)
    expect(all.filter((key) => key.startsWith('zoe:'))).toEqual([...keys].reverse())
    expect(new Set(all).size).toBe(all.length)
    const own = await get('/v1/sessions', { 'wakeful-act-as': 'zoe' })
    expect(own.body.data.map((s: Loose) => s.session_key)).toEqual([...keys].reverse())
    expect(own.body.data[0]).not.toHaveProperty('timers')
    expect(own.body.data[0].gate).toEqual({ allowed: true })
  })

  it('contract: an unknown session is 404 on every route that reads, and so is a foreign one', async () => {
    await post('ann:mute:own', { text: 'hi' })
    const bea = { 'wakeful-act-as': 'bea' }
    for (const rest of ['', '/events', '/effects', '/turns', '/timers']) {
      problem(await get(path('ann:bot:never', rest)), 404)
      problem(await get(path('ann:mute:own', rest), bea), 404)
      expect((await get(path('ann:mute:own', rest), { 'wakeful-act-as': 'ann' })).status).toBe(200)
    }
    const before = await at().eventCount()
    problem(await post('ann:mute:own', { text: 'hi' }, bea), 404)
    const timer = path('ann:mute:own', '/timers/x')
    problem(await at().call('PUT', timer, { delay_seconds: 5 }, bea), 404)
    await at().call('PUT', timer, { delay_seconds: 5 })
    problem(await at().call('DELETE', timer, undefined, bea), 404)
    expect(await at().eventCount()).toBe(before)
  })

  it.each(['0', '-1', '1.5', 'x', '', '%20'])('contract: limit=%s is 422', async (limit) => {
    await post('ann:mute:lim', { text: 'hi' })
    for (const rest of ['/events', '/effects', '/turns', '/timers'])
      problem(await get(path('ann:mute:lim', `${rest}?limit=${limit}`)), 422)
    problem(await get(`/v1/sessions?limit=${limit}`), 422)
  })

  it('contract: a limit above the maximum is the maximum; unknown filters are 422', async () => {
    await post('ann:mute:lim', { text: 'hi' })
    expect((await get(path('ann:mute:lim', '/events?limit=99999999999'))).status).toBe(200)
    expect((await get('/v1/sessions?limit=999999')).body.data.length).toBeGreaterThan(0)
    problem(await get(path('ann:mute:lim', '/events?since=1')), 422)
    problem(await get(path('ann:mute:lim', '/effects?status=lost')), 422)
    problem(await get(path('ann:mute:lim', '/timers?status=lost')), 422)
    for (const seq of ['-1', 'x', '', '1.5', '0x1', '1e3', '2147483648', '99999999999999999999'])
      problem(await get(path('ann:mute:lim', `/events?after_seq=${seq}`)), 422)
  })

  it('invariant 13: a cursor that nobody handed out is 422, never 5xx', async () => {
    await post('ann:mute:cur', { text: 'hi' })
    const huge = Number.MAX_SAFE_INTEGER
    const wrong = [
      'x',
      '%00',
      cursorOf(),
      cursorOf(-1),
      cursorOf(huge),
      cursorOf(huge, huge),
      cursorOf(-huge, 1),
      cursorOf(1.5),
      cursorOf('rubbish', 'ann:mute:cur'),
      cursorOf('2026-02-30 00:00:00+00', 'ann:mute:cur'),
      cursorOf('2026-01-01 00:00:00+99', 'ann:mute:cur'),
      cursorOf('0000-01-01 00:00:00+00', 'ann:mute:cur'),
      cursorOf('infinity', 'ann:mute:cur'),
      cursorOf('2026-01-01 00:00:00+00', 'a\u0000b'),
      cursorOf('2026-01-01 00:00:00+00', 'a\ud800'),
      cursorOf('', ''),
      cursorOf(null, null),
    ]
    for (const cursor of wrong) {
      for (const list of ['/events', '/effects', '/turns', '/timers'])
        expect((await get(path('ann:mute:cur', `${list}?cursor=${cursor}`))).status).toBeLessThan(
          500,
        )
      const listed = await get(`/v1/sessions?cursor=${cursor}`)
      expect([cursor, listed.status < 500 && listed.status >= 400]).toEqual([cursor, true])
    }
  })
})
