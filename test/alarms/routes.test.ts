/** /v1/alarms over HTTP: what is taken, what is refused and in which words, who sees what. */
import { expect, it } from 'vitest'
import { loadCases, type WireCases } from '../cases/load.ts'
import { problem, UUID } from '../setup/http.ts'
import { type Row, type Stage, sharedStage, stage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const ONCE = { kind: 'once', delay_seconds: 60, wake_message: 'hello' }

async function refused(s: Stage, status: number, body: unknown): Promise<string[]> {
  const answer = await s.call('POST', '/v1/alarms', body)
  problem(answer, status)
  expect(await s.query('select 1 from wakeful.alarms')).toHaveLength(0)
  return answer.body.errors
}

eachStore('alarms over HTTP', (store) => {
  const shared = sharedStage(store)

  it('lists each as it is shown by its id, whatever its words', async () => {
    const s = shared()
    const words = [
      '"quoted" \\ back\nline\ttab',
      'zero\u200bwidth \u2028 line',
      '😀 ünïcödé',
      "it's",
    ]
    for (const [at, wake_message] of words.entries()) {
      const delay_seconds = 60 + at / 3
      await s.set({ kind: 'once', delay_seconds, label: wake_message, wake_message, payload: [at] })
    }
    await s.set({ kind: 'cron', cron_expr: '0 9 * * *', catch_up_within_seconds: 60 })
    const ended = await s.set({ kind: 'once', delay_seconds: 5 })
    await s.call('DELETE', `/v1/alarms/${ended.id}`)
    const { data } = (await s.call('GET', '/v1/alarms')).body
    expect(data).toHaveLength(words.length + 2)
    for (const row of data as Row[]) {
      const one = (await s.call('GET', `/v1/alarms/${row.id}`)).body
      expect(row).toEqual(one)
      expect(Object.keys(row)).toEqual(Object.keys(one))
    }
  })

  it('answers 201 with the whole view, empty fields left out', async () => {
    const s = shared()
    const once = await s.set({ kind: 'once', delay_seconds: 60, label: 'tea' })
    expect(once).toEqual({
      id: expect.stringMatching(UUID),
      label: 'tea',
      kind: 'once',
      timezone: 'UTC',
      next_fire_at: '2026-01-01T00:01:00.000Z',
      wake_message: 'wake up',
      payload: {},
      status: 'active',
      max_failures: 5,
      failure_count: 0,
      created_at: '2026-01-01T00:00:00.000Z',
      agent_id: 'bot',
      conversation_id: 'main',
      description: 'once at 2026-01-01 00:01 UTC',
      next_fires: ['2026-01-01T00:01:00.000Z'],
      missed_count: 0,
      catch_up: 'once',
      catch_up_within_seconds: null,
      unattended: 'ask',
      words: `Alarm "tea" set for today 00:01 UTC, in 1 min. It says "wake up". Its id is ${once.id}.`,
    })
    const cron = await s.set({
      kind: 'cron',
      cron_expr: '30 8 * * mon-fri',
      timezone: 'Europe/Berlin',
      conversation_id: 'c-1',
      idempotency_key: 'k',
      max_failures: 2,
      payload: [1],
    })
    expect(cron).toMatchObject({
      cron_expr: '30 8 * * mon-fri',
      timezone: 'Europe/Berlin',
      conversation_id: 'c-1',
      idempotency_key: 'k',
      max_failures: 2,
      payload: [1],
      description: 'every weekday at 08:30 (Europe/Berlin)',
      next_fires: [
        '2026-01-01T07:30:00.000Z',
        '2026-01-02T07:30:00.000Z',
        '2026-01-05T07:30:00.000Z',
      ],
    })
    expect(await s.get(cron.id)).toEqual(cron)
  })

  it('takes fire_at with an offset, or in the given zone, and phrases instead of kind', async () => {
    const s = shared()
    const at = async (body: Record<string, unknown>) => (await s.set(body)).next_fire_at
    const once = { kind: 'once' }
    expect(await at({ ...once, fire_at: '2026-07-01T09:00:00+02:00' })).toBe(
      '2026-07-01T07:00:00.000Z',
    )
    expect(await at({ ...once, fire_at: '2026-07-01T09:00', timezone: 'Europe/Berlin' })).toBe(
      '2026-07-01T07:00:00.000Z',
    )
    expect(await at({ ...once, fire_at: '2026-07-01T09:00' })).toBe('2026-07-01T09:00:00.000Z')
    const phrase = { schedule: 'tomorrow at 9am', timezone: 'Europe/Berlin' }
    expect(await s.set(phrase)).toMatchObject({
      kind: 'once',
      next_fire_at: '2026-01-02T08:00:00.000Z',
    })
    expect(await s.set({ schedule: 'every 45 minutes' })).toMatchObject({
      kind: 'cron',
      cron_expr: '@every 45m',
      next_fire_at: '2026-01-01T00:45:00.000Z',
    })
    expect(await s.set({ schedule: 'every Monday' })).toMatchObject({
      cron_expr: '0 9 * * 1',
      notes: ['no hour given: 09:00'],
    })
    expect(await at({ ...once, fire_at: '9999-12-31T00:00:00Z' })).toBe('9999-12-31T00:00:00.000Z')
  })

  it('wrong shape is 422 with all errors at once, and changes nothing', async () => {
    const s = shared()
    const errors = await refused(s, 422, {
      kind: 'cron',
      fire_at: 'soon',
      delay_seconds: 0,
      conversation_id: 'a b',
      wake_message: ' ',
      max_failures: 0,
      color: 'red',
    })
    for (const part of [
      'body.fire_at: must be an instant',
      'body.fire_at: must be left out for kind cron',
      'body.delay_seconds: must be at least 1',
      'body.conversation_id: must be 1 to 128',
      'body.wake_message: must not be blank',
      'body.max_failures: must be at least 1',
      'body.color: is not a known field',
      'body.cron_expr: is required for kind cron',
    ])
      expect(
        errors.some((text) => text.startsWith(part)),
        part,
      ).toBe(true)
    const wrong: Record<string, unknown>[] = [
      {},
      { kind: 'once', wake_message: 'x' },
      { ...ONCE, fire_at: '2027-01-01T00:00:00Z' },
      { ...ONCE, cron_expr: '* * * * *' },
      { ...ONCE, schedule: 'daily' },
      { schedule: 'daily', kind: 'cron', wake_message: 'x' },
      { ...ONCE, kind: 'twice' },
      { ...ONCE, wake_message: 'x'.repeat(8 * 1024 + 1) },
      { ...ONCE, wake_message: 'ü'.repeat(4 * 1024 + 1) },
      { ...ONCE, conversation_id: 'x'.repeat(129) },
      { ...ONCE, conversation_id: 'a:b' },
      { ...ONCE, delay_seconds: 1e12 },
      { ...ONCE, delay_seconds: '60' },
      { kind: 'once', fire_at: '10000-01-01T00:00:00Z', wake_message: 'x' },
      { kind: 'once', fire_at: '2026-02-30T00:00:00Z', wake_message: 'x' },
      { ...ONCE, idempotency_key: 'x'.repeat(256) },
      { ...ONCE, label: 7 },
    ]
    for (const body of wrong) await refused(s, 422, body)
  })

  it('what a rule refuses is 400, with what to write instead', async () => {
    const s = shared()
    const rule = (body: Record<string, unknown>) => refused(s, 400, { wake_message: 'x', ...body })
    expect(await rule({ kind: 'once', fire_at: '2026-01-01T00:00:00Z' })).toEqual([
      'fire_at: 2026-01-01 00:00 UTC is not in the future, now is 2026-01-01 00:00 UTC',
    ])
    expect(await rule({ ...ONCE, timezone: 'Mars/X', agent_id: 'nobody' })).toEqual([
      'agent_id: there is no agent nobody here; known are bot',
      expect.stringContaining('timezone: "Mars/X" is not an IANA time zone'),
    ])
    for (const cron_expr of ['0 0 30 2 *', '* * * * * *', '@every 0s', 'TZ=UTC 0 9 * * *', 'x'])
      expect((await rule({ kind: 'cron', cron_expr }))[0]).toMatch(/^cron_expr: /)
    for (const schedule of ['banana', 'often', 'once', 'yesterday at 9am'])
      expect((await rule({ schedule }))[0]).toMatch(/^schedule: /)
  })

  it('who is woken: the one named, else the only one; several and none named is 400', async () => {
    const agents = { one: () => undefined, two: () => undefined }
    const s = await stage(await store.database(), { agents })
    expect((await refused(s, 400, ONCE))[0]).toBe('agent_id: say who is woken; known are one, two')
    expect((await s.set({ ...ONCE, agent_id: 'two' })).agent_id).toBe('two')
  })

  it('who is woken: with a wake URL and no name, the URL', async () => {
    const env = { WAKEFUL_WAKE_URL: 'http://127.0.0.1:9/wake' }
    const s = await stage(await store.database(), { env })
    expect(await s.set(ONCE)).not.toHaveProperty('agent_id')
    expect((await s.set({ ...ONCE, agent_id: 'bot' })).agent_id).toBe('bot')
  })

  it('rule 5: payloads come back digit for digit and key for key, or are refused', async () => {
    const s = shared()
    const kept = [
      '{"n":9007199254740993}',
      '{"b":1,"a":2,"aa":3}',
      '{"x":1e400}',
      '{"x":1E2,"y":0.10000000000000000000001,"z":-0}',
      '"just a text 🙂"',
      'null',
      '[]',
    ]
    for (const payload of kept) {
      const text = `{"kind":"once","delay_seconds":60,"wake_message":"x","payload":${payload}}`
      const made = await s.call('POST', '/v1/alarms', text)
      expect(made.status, payload).toBe(201)
      expect(made.text).toContain(`"payload":${payload},"status"`)
      expect((await s.call('GET', `/v1/alarms/${made.body.id}`)).text).toContain(
        `"payload":${payload},"status"`,
      )
    }
    await s.advanceBy(60_000)
    const events = await s.query<{ payload: string }>('select payload from wakeful.events')
    for (const payload of kept)
      expect(events.some((event) => event.payload.includes(`"payload":${payload},"sch`))).toBe(true)
    const deep = `${'['.repeat(33)}${']'.repeat(33)}`
    for (const payload of [
      '{"s":"\\u0000"}',
      '{"s":"\\ud800"}',
      '{"a":1,"a":2}',
      deep,
      `"${'x'.repeat(65_536)}"`,
    ]) {
      const text = `{"kind":"once","delay_seconds":60,"wake_message":"x","payload":${payload}}`
      const { status } = await s.call('POST', '/v1/alarms', text)
      expect(status, payload.slice(0, 40)).toBeGreaterThanOrEqual(400)
      expect(status).toBeLessThan(500)
    }
  })

  it('every payload of the cases is kept as it is or refused', async () => {
    const s = shared()
    for (const payload of loadCases<WireCases>('wire').payloads) {
      const text = `{"kind":"once","delay_seconds":60,"wake_message":"x","payload":${payload}}`
      const made = await s.call('POST', '/v1/alarms', text)
      if (made.status === 201) expect(made.text).toContain(`"payload":${payload}`)
      else expect([400, 422]).toContain(made.status)
    }
  })

  it('idempotency: the key answers 200 with the first alarm, whatever the body, for its owner alone', async () => {
    const s = shared()
    const body = { ...ONCE, idempotency_key: 'tea' }
    const first = await s.call('POST', '/v1/alarms', body)
    expect(first.status).toBe(201)
    expect(first.body).not.toHaveProperty('deduped')
    const again = await s.call('POST', '/v1/alarms', {
      ...body,
      wake_message: 'other',
      delay_seconds: 5,
    })
    expect(again.status).toBe(200)
    expect(again.body).toEqual({ ...first.body, deduped: true })
    const other = await s.call('POST', '/v1/alarms', body, { 'wakeful-act-as': 'bea' })
    expect(other.status).toBe(201)
    await s.call('DELETE', `/v1/alarms/${first.body.id}`)
    const gone = await s.call('POST', '/v1/alarms', body)
    expect(gone.body).toMatchObject({ id: first.body.id, status: 'cancelled', deduped: true })
    // Its time has passed by now; the key still answers.
    const at = {
      kind: 'once',
      fire_at: '2026-01-01T00:10:00Z',
      wake_message: 'x',
      idempotency_key: 'at',
    }
    expect((await s.call('POST', '/v1/alarms', at)).status).toBe(201)
    await s.advanceBy(3_600_000)
    expect((await s.call('POST', '/v1/alarms', at)).body).toMatchObject({
      status: 'fired',
      deduped: true,
    })
    expect((await s.call('POST', '/v1/alarms', { ...at, idempotency_key: 'new' })).status).toBe(400)
  })

  it('an empty key is none; twenty parallel posts of one key make one row', async () => {
    const s = shared()
    for (let n = 0; n < 2; n++) await s.set({ ...ONCE, idempotency_key: '' })
    const posts = await Promise.all(
      Array.from({ length: 20 }, () =>
        s.call('POST', '/v1/alarms', { ...ONCE, idempotency_key: 'same' }),
      ),
    )
    expect(posts.filter((each) => each.status === 201)).toHaveLength(1)
    expect(posts.filter((each) => each.body.deduped === true)).toHaveLength(19)
    expect(new Set(posts.map((each) => each.body.id)).size).toBe(1)
    expect(await s.query('select 1 from wakeful.alarms')).toHaveLength(3)
  })

  it('Idempotency-Key replays the first answer', async () => {
    const s = shared()
    const header = { 'idempotency-key': 'request-1' }
    const first = await s.call('POST', '/v1/alarms', ONCE, header)
    const again = await s.call('POST', '/v1/alarms', ONCE, header)
    expect(again).toMatchObject({ status: 201, text: first.text })
    expect((await s.call('POST', '/v1/alarms', { ...ONCE, label: 'x' }, header)).status).toBe(422)
    expect(await s.query('select 1 from wakeful.alarms')).toHaveLength(1)
  })

  it('invariant 12: what is created belongs to the acted-for owner, and only they see it', async () => {
    const s = shared()
    const ann = { 'wakeful-act-as': 'ann' }
    const did = { 'wakeful-act-as': 'did:matrix:ann:00000000000000ff' }
    const mine = await s.set(ONCE, ann)
    const local = await s.set(ONCE)
    const rows = await s.query('select id, owner_did, user_id from wakeful.alarms order by id')
    expect(rows).toEqual([
      { id: mine.id, owner_did: 'did:matrix:ann:0000000000000000', user_id: 'ann' },
      { id: local.id, owner_did: 'did:matrix:local:0000000000000000', user_id: 'local' },
    ])
    const ids = async (headers?: Record<string, string>) =>
      (await s.call('GET', '/v1/alarms', undefined, headers)).body.data.map((each: Row) => each.id)
    expect(await ids()).toEqual([local.id, mine.id])
    expect(await ids(ann)).toEqual([mine.id])
    expect(await ids(did)).toEqual([])
    expect(await ids({ 'wakeful-act-as': 'bea' })).toEqual([])
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/fire-now'],
    ] as const) {
      const answer = await s.call(method, `/v1/alarms/${mine.id}${path}`, undefined, did)
      problem(answer, 404)
    }
    expect((await s.get(mine.id)).status).toBe('active')
  })

  it('rule 20: unknown ids and what is none give 404', async () => {
    const s = shared()
    for (const id of ['nope', '123', '0195f5a0-0000-7000-8000-000000000001', '%F0%9F%99%82']) {
      problem(await s.call('GET', `/v1/alarms/${id}`), 404)
      problem(await s.call('DELETE', `/v1/alarms/${id}`), 404)
      problem(await s.call('POST', `/v1/alarms/${id}/fire-now`), 404)
    }
  })

  it('lists newest first, by status, in pages; a limit beyond 500 is 500', async () => {
    const s = shared()
    const made: Row[] = []
    for (let n = 0; n < 7; n++) {
      made.unshift(await s.set({ ...ONCE, label: `n${n}` }))
      if (n % 3 === 0) s.sleep(1000)
    }
    await s.call('DELETE', `/v1/alarms/${made[2]?.id}`)
    const seen: string[] = []
    let cursor = ''
    do {
      const { body } = await s.call('GET', `/v1/alarms?limit=3${cursor}`)
      expect(body.data.length).toBeLessThanOrEqual(3)
      seen.push(...body.data.map((each: Row) => each.label))
      cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`
    } while (cursor !== '')
    expect(seen).toEqual(made.map((each) => each.label))
    const labels = async (query: string) =>
      (await s.call('GET', `/v1/alarms?${query}`)).body.data.map((each: Row) => each.label)
    expect(await labels('status=cancelled')).toEqual([made[2]?.label])
    expect(await labels('status=active&limit=100000')).toHaveLength(6)
    for (const query of ['limit=0', 'limit=x', 'status=odd', 'cursor=odd', 'color=red'])
      problem(await s.call('GET', `/v1/alarms?${query}`), 422)
  })

  it('the list is capped at 500, and has 100 unless said', async () => {
    const s = shared()
    await s.set(ONCE)
    await s.query(
      `insert into wakeful.alarms (bucket, id, owner_did, user_id, agent_id, kind, fire_at, anchor_at, next_fire_at, scheduled_for, due_at,
         delivery_id, wake_message, created_at, updated_at)
       select bucket, gen_random_uuid(), owner_did, user_id, agent_id, kind, fire_at, anchor_at, next_fire_at, scheduled_for, due_at,
         gen_random_uuid(), 'x', created_at, updated_at from wakeful.alarms, generate_series(1, 600)`,
    )
    expect((await s.call('GET', '/v1/alarms?limit=9999')).body.data).toHaveLength(500)
    expect((await s.call('GET', '/v1/alarms')).body.data).toHaveLength(100)
  })

  it('rule 19: cancel answers with the view; again, or after the end, 200 unchanged', async () => {
    const s = shared()
    const alarm = await s.set(ONCE)
    const gone = await s.call('DELETE', `/v1/alarms/${alarm.id}`)
    expect(gone.status).toBe(200)
    expect(gone.body).toMatchObject({ id: alarm.id, status: 'cancelled' })
    expect(gone.body).not.toHaveProperty('next_fire_at')
    expect(gone.body).not.toHaveProperty('next_fires')
    expect((await s.call('DELETE', `/v1/alarms/${alarm.id}`)).body).toEqual(gone.body)
    const fired = await s.set(ONCE)
    await s.advanceBy(60_000)
    expect((await s.call('DELETE', `/v1/alarms/${fired.id}`)).body).toMatchObject({
      status: 'fired',
    })
    expect(await s.query('select 1 from wakeful.events')).toHaveLength(1)
  })
})
