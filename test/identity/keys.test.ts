/** Keys as people use them: made, bound, expired, revoked, noted; and what a change leaves in the audit log. */
import { expect, it } from 'vitest'
import { newId } from '../../src/core/ids.ts'
import { keyIdOf, makeKey } from '../../src/features/identity/key.ts'
import { problem } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { ADMIN_KEY, openStage, sharedStage } from './stage.ts'

it('a key names its id, and nothing else is taken for one', () => {
  const id = newId()
  const { key, hash } = makeKey('agent', id)
  expect(key).toMatch(/^wk_agent_[0-9a-f]{32}_[\w-]{43}$/)
  expect([keyIdOf(key), hash.length]).toEqual([id, 32])
  for (const other of [
    '',
    'wk_',
    `${key}x`,
    key.slice(1),
    key.replace('agent', 'root'),
    `${key}\n`,
  ])
    expect(keyIdOf(other)).toBeNull()
})

eachStore('keys', (store) => {
  const stage = sharedStage(store)
  const wrongBodies: [number, Record<string, unknown>, string][] = [
    [422, { role: 'root' }, 'body.role'],
    [422, { role: 'user', user_id: 'a b' }, 'body.user_id'],
    [422, { role: 'agent', owner_did: 'did:web:x' }, 'body.owner_did'],
    [422, { role: 'user', user_id: 'ann', expires_at: 'soon' }, 'body.expires_at'],
    [422, { role: 'user', user_id: 'ann', scope: 'all' }, 'body.scope'],
    [400, { role: 'agent' }, 'user_id: a key of role agent needs one'],
    [400, { role: 'admin', user_id: 'ann' }, 'belongs to no person'],
    [400, { role: 'user', user_id: 'ann', agent_id: 'bot' }, 'agent_id'],
    [400, { role: 'agent', user_id: 'ann', owner_did: 'did:matrix:bea:00000000000000aa' }, 'bea'],
    [400, { role: 'service', expires_at: '2020-01-01T00:00:00Z' }, 'in the future'],
  ]
  it.each(wrongBodies)('invariant 13: %i for %j', async (status, body, says) => {
    const reply = await stage().call(ADMIN_KEY, 'POST', '/v1/keys', body)
    problem(reply, status)
    expect(reply.text).toContain(says)
  })

  it('contract: the key is shown once, kept as a hash, and not told again by its Idempotency-Key', async () => {
    const s = stage()
    const once = { 'idempotency-key': 'first-key' }
    const body = { role: 'agent', owner_did: 'did:matrix:ann:00000000000000aa', agent_id: 'bot' }
    const made = await s.call(ADMIN_KEY, 'POST', '/v1/keys', body, once)
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({ role: 'agent', user_id: 'ann', agent_id: 'bot' })
    const again = await s.call(ADMIN_KEY, 'POST', '/v1/keys', body, once)
    expect(again.body).toEqual({ ...made.body, key: null })
    const secret = made.body.key.slice(-43)
    for (const table of ['api_keys', 'idempotency_keys', 'audit_log']) {
      const rows = await s.query(`select t::text from wakeful.${table} t`)
      expect(rows.length).toBeGreaterThan(0)
      expect(JSON.stringify(rows)).not.toContain(secret)
    }
    const list = await s.call(ADMIN_KEY, 'GET', '/v1/keys?limit=1')
    expect(list.body.data[0].id).toBe(made.body.id)
    expect(list.text).not.toContain(secret)
    expect(list.body.next_cursor ?? '').not.toContain(secret)
  })

  it('a revoke bites at once, an end to the millisecond', async () => {
    const s = stage()
    const until = new Date(s.now().getTime() + 1_500).toISOString()
    const short = await s.key({ role: 'user', user_id: 'ann', expires_at: until })
    const long = await s.key({ role: 'user', user_id: 'ann' })
    const statusOf = async (key: string) => (await s.call(key, 'GET', '/v1/alarms')).status
    expect([await statusOf(short.key), await statusOf(long.key)]).toEqual([200, 200])
    expect((await s.call(ADMIN_KEY, 'DELETE', `/v1/keys/${long.id}`)).status).toBe(200)
    expect(await statusOf(long.key)).toBe(401)
    s.sleep(1_499)
    expect(await statusOf(short.key)).toBe(200)
    s.sleep(1)
    expect(await statusOf(short.key)).toBe(401)
    const first = await s.query('select revoked_at from wakeful.api_keys where id = $1', [long.id])
    await s.call(ADMIN_KEY, 'DELETE', `/v1/keys/${long.id}`)
    expect(
      await s.query('select revoked_at from wakeful.api_keys where id = $1', [long.id]),
    ).toEqual(first)
    problem(await s.call(ADMIN_KEY, 'DELETE', `/v1/keys/${newId()}`), 404)
    problem(await s.call(ADMIN_KEY, 'DELETE', '/v1/keys/one'), 404)
  })

  it('an agent key that is bound to an agent reaches that agent’s sessions alone', async () => {
    const s = stage()
    const bound = await s.key({ role: 'agent', user_id: 'dan', agent_id: 'bot' })
    const free = await s.key({ role: 'agent', user_id: 'dan' })
    for (const session of ['dan:bot:t', 'dan:other:t'])
      expect(
        (await s.call(free.key, 'POST', `/v1/sessions/${session}/messages`, { text: 'hi' })).status,
      ).toBe(202)
    const seen = async (key: string) =>
      (await s.call(key, 'GET', '/v1/sessions')).body.data.map(
        (row: { session_key: string }) => row.session_key,
      )
    expect((await seen(free.key)).sort()).toEqual(['dan:bot:t', 'dan:other:t'])
    expect(await seen(bound.key)).toEqual(['dan:bot:t'])
    problem(await s.call(bound.key, 'GET', '/v1/sessions/dan:other:t'), 404)
    const alarm = { kind: 'once', delay_seconds: 60, wake_message: 'w' }
    const set = await s.call(bound.key, 'POST', '/v1/alarms', alarm)
    expect([set.status, set.body.agent_id]).toEqual([201, 'bot'])
  })

  it('contract: admin and service act for one owner, and what they make is that owner’s', async () => {
    const s = stage()
    const service = await s.key({ role: 'service' })
    const alarm = { kind: 'once', agent_id: 'bot', delay_seconds: 60, wake_message: 'w' }
    const did = 'did:matrix:eve:00000000000000ff'
    for (const [key, name] of [
      [ADMIN_KEY, 'eve'],
      [service.key, did],
    ] as const) {
      const act = { 'wakeful-act-as': name }
      const set = await s.call(key, 'POST', '/v1/alarms', alarm, act)
      expect((await s.call(key, 'GET', `/v1/alarms/${set.body.id}`, undefined, act)).status).toBe(
        200,
      )
      const [row] = await s.query(
        'select actor_user, acted_for, owner, operation, object_id from wakeful.audit_log where object_id = $1',
        [set.body.id],
      )
      const entry = { actor_user: 'eve', acted_for: true, owner: 'eve', operation: 'set_alarm' }
      expect(row).toEqual({ ...entry, object_id: set.body.id })
      const other = { 'wakeful-act-as': 'fay' }
      problem(await s.call(key, 'DELETE', `/v1/alarms/${set.body.id}`, undefined, other), 404)
    }
  })

  it('notes when a key was last used, once a minute', async () => {
    const s = stage()
    const { id, key } = await s.key({ role: 'user', user_id: 'ann' })
    const used = async () => {
      await s.call(key, 'GET', '/v1/alarms')
      const at = s.now()
      const [row] = await until('the note', () =>
        s
          .query(
            'select last_used_at from wakeful.api_keys where id = $1 and last_used_at is not null',
            [id],
          )
          .then((rows) => rows.length > 0 && rows),
      )
      return [row.last_used_at, at]
    }
    const [first, at] = await used()
    expect(first).toEqual(at)
    s.sleep(30_000)
    expect((await used())[0]).toEqual(first)
    s.sleep(30_000)
    await s.call(key, 'GET', '/v1/alarms')
    await until('the next note', async () => (await used())[0] > first)
  })

  it('audit: in the transaction of the change, not for what was there already, by admins alone', async () => {
    const s = stage()
    const { key, id } = await s.key({ role: 'agent', user_id: 'gil' })
    const say = (text: string) =>
      s.call(key, 'POST', '/v1/sessions/gil:bot:t/messages', { text, id: 'm1' })
    const first = await say('my secret words')
    expect([first.status, (await say('my secret words')).status]).toEqual([202, 200])
    expect((await say('others')).status).toBe(409)
    const alarm = { kind: 'once', agent_id: 'bot', delay_seconds: 60, wake_message: 'w' }
    const keyed = { ...alarm, idempotency_key: 'k' }
    const set = await s.call(key, 'POST', '/v1/alarms', keyed)
    expect((await s.call(key, 'POST', '/v1/alarms', keyed)).status).toBe(200)
    const once = { 'idempotency-key': 'again' }
    await s.call(key, 'POST', `/v1/alarms/${set.body.id}/fire-now`, undefined, once)
    await s.call(key, 'POST', `/v1/alarms/${set.body.id}/fire-now`, undefined, once)
    const path = `/v1/audit?owner=gil&limit=2`
    const page = await s.call(ADMIN_KEY, 'GET', path)
    const rest = await s.call(ADMIN_KEY, 'GET', `${path}&cursor=${page.body.next_cursor}`)
    const rows = [...page.body.data, ...rest.body.data]
    expect(rows.map((row) => [row.operation, row.object_id, row.summary])).toEqual([
      ['fire_alarm_now', set.body.id, ''],
      ['set_alarm', set.body.id, expect.stringContaining('delay_seconds')],
      ['post_message', first.body.event.id, 'text, id'],
    ])
    expect(rest.body.next_cursor).toBeNull()
    for (const row of rows)
      expect(row).toMatchObject({ actor_key: id, actor_role: 'agent', actor_user: 'gil' })
    problem(await s.call(key, 'GET', '/v1/audit'), 403)
    // What fails leaves nothing: neither the change nor its entry.
    await s.query('alter table wakeful.audit_log add constraint no_more check (false) not valid')
    expect((await s.call(key, 'DELETE', `/v1/alarms/${set.body.id}`)).status).toBe(500)
    expect((await say('unheard')).status).toBe(409)
    const posted = await s.call(key, 'POST', '/v1/sessions/gil:bot:u/messages', { text: 'x' })
    expect(posted.status).toBe(500)
    await s.query('alter table wakeful.audit_log drop constraint no_more')
    const kept = await s.call(key, 'GET', `/v1/alarms/${set.body.id}`)
    expect(kept.body.status).toBe('active')
    problem(await s.call(key, 'GET', '/v1/sessions/gil:bot:u'), 404)
  })
})

eachStore('refusal to start', (store) => {
  it('contract: keys without an admin key in the environment or the database', async () => {
    await expect(openStage(await store.database(), { WAKEFUL_ADMIN_KEY: '' })).rejects.toThrow(
      'wakeful keys create --role admin',
    )
  })
})
