/** Every route under /v1/sessions over real HTTP: shapes, errors, paging (contract "Sessions", rulings 5 and 32, invariant 13). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eachStore } from '../setup/stores.ts'
import { house, type Loose } from './house.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const cursorOf = (...position: unknown[]) =>
  Buffer.from(JSON.stringify(position)).toString('base64url')

eachStore('routes of sessions', (store) => {
  const at = house(store, {
    bot: (turn) => {
      if (turn.event.type !== 'user_message') return
      turn.reply('a')
      turn.followUp('later', { inSeconds: 3600, payload: { n: 1 } })
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

  const problem = (reply: { status: number; body: Loose; headers: Headers }, status: number) => {
    expect(reply.status).toBe(status)
    expect(reply.headers.get('content-type')).toContain('application/problem+json')
    expect(reply.body).toMatchObject({
      type: expect.any(String),
      title: expect.any(String),
      status,
      detail: expect.any(String),
      request_id: expect.any(String),
    })
    expect(reply.body.errors.length).toBeGreaterThan(0)
  }

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

  describe('messages', () => {
    it('contract: 202 with the event, exactly so', async () => {
      const { status, body } = await post('ann:mute:m1', { text: ' hi — 👋 ' })
      expect(status).toBe(202)
      expect(body).toEqual({
        event: {
          id: expect.stringMatching(UUID),
          session_key: 'ann:mute:m1',
          seq: 1,
          type: 'user_message',
          payload: { text: ' hi — 👋 ' },
          created_at: expect.stringMatching(INSTANT),
        },
      })
    })

    it('contract: the client id makes it idempotent: 202, then 200 with the first event, other text 409', async () => {
      const first = await post('ann:mute:m2', { text: 'hi', id: 'c-1' })
      const again = await post('ann:mute:m2', { text: 'hi', id: 'c-1' })
      const other = await post('ann:mute:m2', { text: 'ho', id: 'c-1' })
      const elsewhere = await post('ann:mute:m3', { text: 'ho', id: 'c-1' })
      expect([first.status, again.status, elsewhere.status]).toEqual([202, 200, 202])
      expect(again.body).toEqual(first.body)
      problem(other, 409)
      expect((await get(path('ann:mute:m2', '/events'))).body.data).toHaveLength(1)
    })

    it('contract: twenty at once with one client id are one event', async () => {
      const all = await Promise.all(
        Array.from({ length: 20 }, () => post('ann:mute:m4', { text: 'hi', id: 'same' })),
      )
      expect(all.map((r) => r.status).sort()).toEqual([...Array(19).fill(200), 202])
      expect(new Set(all.map((r) => r.body.event.id)).size).toBe(1)
    })

    it('contract: an unknown agent is 404, and nothing is appended', async () => {
      const before = await at().eventCount()
      problem(await post('ann:nobody:t', { text: 'hi' }), 404)
      problem(
        await at().call('POST', path('ann:nobody:t', '/tool-results'), {
          tool_id: 'a',
          payload: 1,
        }),
        404,
      )
      problem(await at().call('PUT', path('ann:nobody:t', '/timers/x'), { delay_seconds: 1 }), 404)
      expect(await at().eventCount()).toBe(before)
      problem(await get(path('ann:nobody:t')), 404)
    })

    it.each([
      'ann:bot',
      'ann:bot:t:x',
      'ann::t',
      ':bot:t',
      'ann:bot:',
      'ann:bot:a%20b',
      'ann:bot:%C3%A9',
      'ann:bot:a.b',
      `${'a'.repeat(65)}:bot:t`,
      `ann:bot:${'t'.repeat(65)}`,
      'ann:bot:t%0A',
      'nonsense',
    ])('contract: the key %s is 422 on every route', async (key) => {
      for (const reply of [
        await post(key, { text: 'hi' }),
        await at().call('POST', path(key, '/tool-results'), { tool_id: 'a', payload: 1 }),
        await get(path(key)),
        await get(path(key, '/events')),
        await get(path(key, '/effects')),
        await get(path(key, '/turns')),
        await get(path(key, '/timers')),
        await at().call('PUT', path(key, '/timers/x'), { delay_seconds: 1 }),
        await at().call('DELETE', path(key, '/timers/x')),
      ])
        problem(reply, 422)
    })

    it('contract: parts of 64 characters are fine', async () => {
      const key = `${'u'.repeat(64)}:mute:${'t'.repeat(64)}`
      expect((await post(key, { text: 'hi' })).status).toBe(202)
    })

    it.each<[string, string, number]>([
      ['no text', '{}', 422],
      ['empty', '{"text":""}', 422],
      ['blank', '{"text":" \\n\\t\\u3000"}', 422],
      ['not a string', '{"text":7}', 422],
      ['an unknown field', '{"text":"hi","texts":1}', 422],
      ['an empty id', '{"text":"hi","id":""}', 422],
      ['a long id', `{"text":"hi","id":"${'i'.repeat(129)}"}`, 422],
      ['more than 32 KiB', `{"text":"${'x'.repeat(32 * 1024 + 1)}"}`, 422],
      ['more than 32 KiB of UTF-8', `{"text":"${'é'.repeat(16 * 1024)}x"}`, 422],
      ['U+0000', '{"text":"a\\u0000b"}', 422],
      ['a lone surrogate', '{"text":"a\\ud800b"}', 422],
      ['U+0000 in the id', '{"text":"hi","id":"a\\u0000"}', 422],
      ['a key twice', '{"text":"a","text":"b"}', 422],
      ['a list', '[]', 422],
      ['null', 'null', 422],
      ['broken JSON', '{"text":"a"', 400],
      ['nothing', '', 422],
    ])('invariant 13: %s is refused and appends nothing', async (_, body, status) => {
      const before = await at().eventCount()
      problem(await post('ann:mute:bad', body === '' ? undefined : body), status)
      expect(await at().eventCount()).toBe(before)
      expect((await get(path('ann:mute:bad'))).status).toBe(404)
    })

    it('contract: exactly 32 KiB is fine', async () => {
      expect((await post('ann:mute:big', { text: 'x'.repeat(32 * 1024) })).status).toBe(202)
    })

    it('contract: Idempotency-Key: the first answer again, another body 422, another key another event', async () => {
      const key = { 'idempotency-key': `k-${store.name}` }
      const first = await post('ann:mute:i1', { text: 'hi' }, key)
      const again = await post('ann:mute:i1', { text: 'hi' }, key)
      expect([first.status, again.status]).toEqual([202, 202])
      expect(again.text).toBe(first.text)
      expect(again.headers.get('idempotency-replayed')).toBe('true')
      problem(await post('ann:mute:i1', { text: 'ho' }, key), 422)
      await post('ann:mute:i1', { text: 'hi' }, { 'idempotency-key': `l-${store.name}` })
      expect((await get(path('ann:mute:i1'))).body.last_seq).toBe(2)
    })
  })

  describe('tool results', () => {
    it.each([
      '{"z":1,"a":2,"m":{"b":1,"a":2}}',
      '12345678901234567890123.000000000000000000001',
      '[1E2,1e-7,-0,0.10,9007199254740993]',
      '"text \\u00e9 \\" \\\\ \\ud83d\\ude00"',
      'null',
      'false',
      '{"":{"constructor":1,"__proto__":2}}',
    ])('ruling 5: the payload %s comes back verbatim', async (payload) => {
      const posted = await at().call(
        'POST',
        path('ann:mute:tool', '/tool-results'),
        `{"tool_id":"calc","payload":${payload}}`,
      )
      expect(posted.status).toBe(202)
      expect(posted.body.event.type).toBe('tool_result')
      const verbatim = `"payload":{"tool_id":"calc","payload":${payload}}`
      expect(posted.text).toContain(verbatim)
      const { seq } = posted.body.event
      const listed = await get(path('ann:mute:tool', `/events?after_seq=${seq - 1}`))
      expect(listed.text).toContain(verbatim)
    })

    it.each([
      '{"tool_id":"x"}',
      '{"payload":1}',
      '{"tool_id":"","payload":1}',
      '{"tool_id":"x","payload":1,"more":2}',
      '{"tool_id":"x","payload":{"a":1,"a":2}}',
      '{"tool_id":"x","payload":"\\u0000"}',
      '{"tool_id":"x","payload":"\\udc00"}',
      `{"tool_id":"x","payload":${'['.repeat(33)}${']'.repeat(33)}}`,
      `{"tool_id":"x","payload":"${'y'.repeat(64 * 1024)}"}`,
    ])('ruling 5, invariant 13: %.60s is 422', async (body) => {
      const before = await at().eventCount()
      problem(await at().call('POST', path('ann:mute:tool2', '/tool-results'), body), 422)
      expect(await at().eventCount()).toBe(before)
    })
  })

  describe('reading', () => {
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
        payload: { n: 1 },
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
      })
      const { body: effects } = await get(path(key, '/effects'))
      const effect = {
        id: expect.stringMatching(UUID),
        attempt_count: 0,
        last_attempt_at: null,
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
          payload: { timer_id: 'later', fire_at: head.timers[0].fire_at, payload: { n: 1 } },
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
        expect((await get(path('ann:mute:own', rest), { 'wakeful-act-as': 'ann' })).status).toBe(
          200,
        )
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

  it('invariant 13: random rubbish as a body never gives 5xx', async () => {
    const rubbish = fc.oneof(
      fc.json({ maxDepth: 3 }),
      fc.string({ maxLength: 40, unit: 'binary' }),
      fc
        .record(
          {
            text: fc.anything({ maxDepth: 1 }),
            id: fc.anything({ maxDepth: 1 }),
            tool_id: fc.string({ unit: 'binary' }),
            payload: fc.jsonValue({ maxDepth: 2 }),
            fire_at: fc.oneof(
              fc.string(),
              fc.date({ noInvalidDate: true }).map(String),
              fc.integer(),
            ),
            delay_seconds: fc.oneof(fc.double(), fc.integer(), fc.string()),
          },
          { requiredKeys: [] },
        )
        .map((value) => JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? `${v}` : v))),
    )
    const routes = [
      ['POST', '/messages'],
      ['POST', '/tool-results'],
      ['PUT', '/timers/rubbish'],
    ] as const
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...routes), rubbish, async ([method, rest], body) => {
        const reply = await at().call(method, path('ann:mute:rubbish', rest), body)
        expect(reply.status).toBeLessThan(500)
        if (reply.status >= 400) problem(reply, reply.status)
      }),
      { numRuns: 150 },
    )
  })
})
