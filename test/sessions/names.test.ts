/** Names that people have elsewhere, through every door: e-mail addresses, `auth0|…`, `T1/U2`. */
import { expect, it } from 'vitest'
import { createClient } from '../../packages/client/src/index.ts'
import { problem } from '../setup/http.ts'
import { type Row, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { Client } from './live.ts'

const ANN = 'ann+tea@example.com'
const BOT = 'acme/bot.v2'
const KEY = `${ANN}:${BOT}:T1/U2|x=~`
const AS = { 'wakeful-act-as': ANN }

eachStore('names', (store) => {
  const at = sharedStage(store, {
    agents: { [BOT]: (turn) => turn.say(`hello ${turn.session.userId}`), bot: () => undefined },
    work: { 'acme/report': async () => ({ title: 'done', content: 'all of it' }) },
  })
  const path = (rest = '', key = KEY) => `/v1/sessions/${encodeURIComponent(key)}${rest}`

  it('a session is spoken to, read, listened to and given timers, percent-encoded', async () => {
    const s = at()
    const said = await s.call('POST', path('/messages'), { text: 'hi' })
    expect([said.status, said.body.event?.session_key]).toEqual([202, KEY])
    await s.settle()
    const client = await Client.open(s.url, encodeURIComponent(KEY))
    await s.settle()
    const [frame] = await client.hears(1)
    expect(frame).toMatchObject({ content: `hello ${ANN}` })
    const timer = await s.call('PUT', path('/timers/t'), { delay_seconds: 60 })
    expect(timer.body).toMatchObject({ session_key: KEY, status: 'pending' })
    for (const rest of ['', '/events', '/effects', '/turns', '/timers'])
      expect([rest, (await s.call('GET', path(rest))).status]).toEqual([rest, 200])
    const { data } = (await s.call('GET', '/v1/sessions?limit=1')).body
    expect(data).toMatchObject([{ session_key: KEY }])
    // Unencoded, a slash is another step of the path.
    problem(await s.call('GET', `/v1/sessions/${KEY}`), 404)
  })

  it('alarms, intents, work and signals are theirs', async () => {
    const s = at()
    const alarm = await s.set(
      { kind: 'once', delay_seconds: 60, agent_id: BOT, conversation_id: 'T1/U2' },
      AS,
    )
    const intent = await s.call('POST', '/v1/intents', {
      user_id: ANN,
      intent_name: 'tea',
      trigger_type: 'interval',
      trigger_schedule: { interval_minutes: 30 },
      action_context: 'offer tea',
      agent_id: BOT,
      thread_id: 'a/b',
    })
    expect(intent.status).toBe(201)
    const work = await s.call('POST', '/v1/work', {
      user_id: ANN,
      task: 'report',
      agent_type: 'acme/report',
    })
    expect(work.status).toBe(201)
    expect(
      (await s.call('POST', '/v1/signals', { kind: 'event', name: 'x', user_id: ANN })).status,
    ).toBe(202)
    await s.advanceBy(31 * 60_000)
    const events = await s.query<Row>('select distinct session_key from wakeful.events order by 1')
    expect(events.map((row) => row.session_key)).toEqual(
      [
        `${ANN}:${BOT}:T1/U2`,
        `${ANN}:${BOT}:a/b`,
        `${ANN}:acme/report:${work.body.work.id}`,
      ].sort(),
    )
    expect(await s.get(alarm.id)).toMatchObject({ status: 'fired', conversation_id: 'T1/U2' })
    const who = encodeURIComponent(ANN)
    const ledger = (await s.call('GET', `/v1/ledger?user_id=${who}`)).body.data
    expect(new Set(ledger.map((entry: Row) => entry.user_id))).toEqual(new Set([ANN]))
    expect((await s.call('GET', `/v1/overview?user_id=${who}`)).status).toBe(200)
    expect((await s.call('GET', `/v1/intents?user_id=${who}`)).body).toHaveLength(1)
    // Another person's is not theirs, however alike the names are.
    const other = { 'wakeful-act-as': 'ann' }
    expect((await s.call('GET', '/v1/alarms', undefined, other)).body.data).toEqual([])
    problem(await s.call('GET', path(), undefined, other), 404)
  })

  it('agents elsewhere may have such names, and keys such users', async () => {
    const s = at()
    const id = 'acme/far.away'
    const made = await s.call('POST', '/v1/agents', { id, url: `${s.url}/turns` })
    expect(made.status).toBe(201)
    expect((await s.call('GET', `/v1/agents/${encodeURIComponent(id)}`)).body).toMatchObject({ id })
    expect((await s.call('DELETE', `/v1/agents/${encodeURIComponent(id)}`)).status).toBe(204)
    problem(await s.call('POST', '/v1/agents', { id: '..', url: `${s.url}/turns` }), 422)
    const owner_did = 'did:matrix:auth0|42:0123456789abcdef'
    const key = { role: 'agent', user_id: 'auth0|42', owner_did }
    expect((await s.call('POST', '/v1/keys', key)).body).toMatchObject(key)
  })

  it('the client encodes them', async () => {
    const s = at()
    const client = createClient({ baseUrl: s.url })
    const { event } = await client.call('post_message', { session_key: KEY, text: 'hi' })
    expect(event.session_key).toBe(KEY)
    expect(await client.call('get_session', { session_key: KEY })).toMatchObject({
      session_key: KEY,
    })
  })
})
