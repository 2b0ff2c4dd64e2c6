/** Timers from outside over real HTTP: set, replace, cancel, list (contract "Sessions", rules 3, 5, 7, 9 and 10). */
import { expect, it } from 'vitest'
import type { Loose } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { house } from './house.ts'

eachStore('timers over HTTP', (store) => {
  const at = house(store, { bot: () => undefined })
  const path = (key: string, rest = '') => `/v1/sessions/${key}/timers${rest}`
  const put = (key: string, id: string, body: unknown) =>
    at().call('PUT', path(key, `/${id}`), body)
  const events = async (key: string): Promise<Loose[]> =>
    (await at().call('GET', `/v1/sessions/${key}/events`)).body.data

  it('contract: PUT answers 200 with the timer, payload verbatim (rule 5), and it fires with {timer_id, payload}', async () => {
    const key = 'ann:bot:fire'
    const fireAt = new Date(at().wakeful.now().getTime() + 60_000).toISOString()
    const payload = '{"z":9007199254740993,"a":1E2}'
    const made = await put(key, 'tea', `{"fire_at":"${fireAt}","payload":${payload}}`)
    expect(made.status).toBe(200)
    expect(made.body).toMatchObject({
      session_key: key,
      timer_id: 'tea',
      fire_at: fireAt,
      status: 'pending',
    })
    expect(Object.keys(made.body)).toEqual([
      'id',
      'session_key',
      'timer_id',
      'fire_at',
      'payload',
      'status',
      'created_at',
      'updated_at',
      'words',
    ])
    expect(made.text).toContain(`"payload":${payload}`)
    await at().wakeful.advanceBy(59_999)
    expect(await events(key)).toEqual([])
    await at().wakeful.advanceBy(1)
    const listed = await at().call('GET', `/v1/sessions/${key}/events`)
    expect(listed.text).toContain(`"payload":{"timer_id":"tea","payload":${payload}}`)
    const promoted = await at().call('GET', path(key, '?status=promoted'))
    expect(promoted.body.data.map((t: Loose) => t.timer_id)).toEqual(['tea'])
    expect(promoted.body.data[0]).toMatchObject({
      ...{ id: made.body.id, session_key: key, fire_at: fireAt, status: 'promoted' },
      updated_at: fireAt,
    })
    const { words: _, ...shown } = made.body
    expect(Object.keys(promoted.body.data[0])).toEqual(Object.keys(shown))
    expect(promoted.text).toContain(`"payload":${payload}`)
    expect((await at().call('GET', path(key))).body.data).toEqual([])
  })

  it('rule 3: fire_at with an offset is that instant, without one it is UTC', async () => {
    const key = 'ann:bot:zones'
    const year = at().wakeful.now().getUTCFullYear() + 1
    expect((await put(key, 'a', { fire_at: `${year}-06-01T09:00:00+02:00` })).body.fire_at).toBe(
      `${year}-06-01T07:00:00.000Z`,
    )
    expect((await put(key, 'b', { fire_at: `${year}-06-01T09:00:00` })).body.fire_at).toBe(
      `${year}-06-01T09:00:00.000Z`,
    )
    expect((await put(key, 'c', { fire_at: `${year}-06-01T09:00:00.25Z` })).body.fire_at).toBe(
      `${year}-06-01T09:00:00.250Z`,
    )
  })

  it('rule 10: a fire_at in the past fires at once, once; a delay counts from now', async () => {
    const key = 'ann:bot:past'
    await put(key, 'late', { fire_at: '2001-01-01T00:00:00Z' })
    const delayed = await put(key, 'soon', { delay_seconds: 1.5 })
    expect(Date.parse(delayed.body.fire_at) - at().wakeful.now().getTime()).toBe(1500)
    await at().wakeful.settle()
    await at().wakeful.settle()
    expect((await events(key)).map((e) => e.payload)).toEqual([{ timer_id: 'late' }])
    await at().wakeful.advanceBy(1500)
    expect((await events(key)).map((e) => e.payload.timer_id)).toEqual(['late', 'soon'])
  })

  it('rule 10: putting an id again replaces time and payload and makes it pending again', async () => {
    const key = 'ann:bot:again'
    await put(key, 'x', { delay_seconds: 10, payload: { n: 1 } })
    const second = await put(key, 'x', { delay_seconds: 20 })
    expect(second.body.payload ?? null).toBeNull()
    await at().wakeful.advanceBy(10_000)
    expect(await events(key)).toHaveLength(0)
    await at().wakeful.advanceBy(10_000)
    expect(await events(key)).toHaveLength(1)
    await put(key, 'x', { delay_seconds: 0 })
    await at().wakeful.settle()
    expect(await events(key)).toHaveLength(2)
  })

  it('contract: DELETE answers 200 with the timer, then 404; a cancelled timer never fires', async () => {
    const key = 'ann:bot:gone'
    await put(key, 'x', { delay_seconds: 5 })
    const gone = await at().call('DELETE', path(key, '/x'))
    expect([gone.status, gone.body.status]).toEqual([200, 'cancelled'])
    expect((await at().call('DELETE', path(key, '/x'))).status).toBe(404)
    expect((await at().call('DELETE', path(key, '/y'))).status).toBe(404)
    await at().wakeful.advanceBy(10_000)
    expect(await events(key)).toHaveLength(0)
    const cancelled = await at().call('GET', path(key, '?status=cancelled'))
    expect(cancelled.body.data.map((t: Loose) => t.timer_id)).toEqual(['x'])
  })

  it('rule 9: a user message cancels pending timers, before its turn', async () => {
    const key = 'ann:bot:spoke'
    await put(key, 'x', { delay_seconds: 5 })
    await at().call('POST', `/v1/sessions/${key}/messages`, { text: 'hi' })
    expect((await at().call('GET', path(key))).body.data).toEqual([])
    await at().wakeful.advanceBy(10_000)
    expect((await events(key)).map((e) => e.type)).toEqual(['user_message'])
  })

  it('contract: timers come soonest first, page by page', async () => {
    const key = 'ann:bot:list'
    for (const [id, delay_seconds] of [
      ['d', 40],
      ['b', 20],
      ['c', 30],
      ['a', 20],
      ['e', 50],
    ] as const)
      await put(key, id, { delay_seconds })
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { status, body }: Loose = await at().call(
        'GET',
        path(key, `?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`),
      )
      expect(status).toBe(200)
      expect(body.data.length).toBeLessThanOrEqual(2)
      seen.push(...body.data.map((t: Loose) => t.timer_id))
      cursor = body.next_cursor
    }
    expect(seen).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it.each<[string, string]>([
    ['both', '{"fire_at":"2030-01-01T00:00:00Z","delay_seconds":1}'],
    ['none', '{}'],
    ['the year 10000', '{"fire_at":"+010000-01-01T00:00:00Z"}'],
    ['the year 10000 by its offset', '{"fire_at":"9999-12-31T23:59:59-12:00"}'],
    ['no date', '{"fire_at":"2030-02-30T00:00:00Z"}'],
    ['words', '{"fire_at":"tomorrow"}'],
    ['a number as instant', '{"fire_at":1893456000}'],
    ['a negative delay', '{"delay_seconds":-1}'],
    ['an endless delay', '{"delay_seconds":1e12}'],
    ['1e999', '{"delay_seconds":1e999}'],
    ['a delay in words', '{"delay_seconds":"5"}'],
    ['an unknown field', '{"delay_seconds":5,"at":1}'],
    ['a payload nobody can keep', '{"delay_seconds":5,"payload":"\\u0000"}'],
  ])('rule 7, invariant 13: %s is 422 and sets nothing', async (_, body) => {
    const reply = await put('ann:bot:bad', 'x', body)
    expect(reply.status).toBe(422)
    expect(reply.body.errors.length).toBeGreaterThan(0)
    expect((await at().call('GET', path('ann:bot:bad'))).status).toBe(404)
  })

  it('contract: a timer id of 128 characters is fine, of 129 it is 422; any characters are kept', async () => {
    expect((await put('ann:bot:ids', 'i'.repeat(128), { delay_seconds: 5 })).status).toBe(200)
    expect((await put('ann:bot:ids', 'i'.repeat(129), { delay_seconds: 5 })).status).toBe(422)
    const odd = await put('ann:bot:ids', encodeURIComponent('a/b "é" 👋'), { delay_seconds: 5 })
    expect(odd.body.timer_id).toBe('a/b "é" 👋')
    expect((await put('ann:bot:ids', 'a%00b', { delay_seconds: 5 })).status).toBe(400)
  })
})
