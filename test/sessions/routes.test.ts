/** Every route under /v1/sessions over real HTTP: what may be posted, and what is refused (contract "Sessions", rules 5 and 32, invariant 13). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { INSTANT, problem, UUID } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { house } from './house.ts'

eachStore('routes of sessions', (store) => {
  const at = house(store, {
    mute: () => undefined,
  })
  const path = (key: string, rest = '') => `/v1/sessions/${key}${rest}`
  const post = (key: string, body: unknown, headers: Record<string, string> = {}) =>
    at().call('POST', path(key, '/messages'), body, headers)
  const get = (url: string, headers: Record<string, string> = {}) =>
    at().call('GET', url, undefined, headers)

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
      'ann:bot:.',
      'ann:bot:..',
      '.:bot:t',
      'ann:..:t',
      'ann:bot:a%25b',
      'ann:bot:a%3Bb',
      `${'a'.repeat(129)}:bot:t`,
      `ann:bot:${'t'.repeat(129)}`,
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

    it('contract: parts of 128 characters are fine', async () => {
      const key = `${'u'.repeat(128)}:mute:${'t'.repeat(128)}`
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
    ])('rule 5: the payload %s comes back verbatim', async (payload) => {
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
    ])('rule 5, invariant 13: %.60s is 422', async (body) => {
      const before = await at().eventCount()
      problem(await at().call('POST', path('ann:mute:tool2', '/tool-results'), body), 422)
      expect(await at().eventCount()).toBe(before)
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
