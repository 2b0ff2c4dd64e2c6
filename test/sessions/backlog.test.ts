/** A bound on what may wait in one session, and what happens at it. */
import { expect, it } from 'vitest'
import { problem } from '../setup/http.ts'
import { sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const MAX = 3

eachStore('the backlog of a session', (store) => {
  const at = sharedStage(store, { env: { WAKEFUL_SESSION_BACKLOG: String(MAX) } })
  const say = (body: object, headers = {}, key = 'ann:bot:t') =>
    at().call('POST', `/v1/sessions/${key}/messages`, { text: 'hi', ...body }, headers)
  const fill = async () => {
    for (let n = 1; n <= MAX; n++) expect((await say({ id: `m${n}` })).status).toBe(202)
  }

  it('is full at its bound: 429 that says so, until the agent has caught up; other sessions go on', async () => {
    const s = at()
    await fill()
    const refused = await say({})
    problem(refused, 429)
    expect(refused.body.detail).toContain('3 events of the session ann:bot:t wait for its agent')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    problem(await say({}, { 'idempotency-key': 'key-1' }), 429)
    problem(
      await s.call('POST', '/v1/sessions/ann:bot:t/tool-results', { tool_id: 'x', payload: 1 }),
      429,
    )
    expect((await say({}, {}, 'ann:bot:other')).status).toBe(202)
    const [{ last_seq }] = (await s.query<{ last_seq: number }>(
      `select last_seq from wakeful.sessions where session_key = 'ann:bot:t'`,
    )) as [{ last_seq: number }]
    expect(last_seq).toBe(MAX)
    await s.settle()
    expect((await say({})).status).toBe(202)
  })

  it('is not in the way of a message that was taken before', async () => {
    await fill()
    expect((await say({ id: 'm1' })).status).toBe(200)
    problem(await say({ id: 'm1', text: 'other' }), 409)
  })

  it('counts what comes at once: as many as fit are taken', async () => {
    const all = await Promise.all(Array.from({ length: 10 }, () => say({})))
    expect(all.map(({ status }) => status).sort()).toEqual([
      ...Array(MAX).fill(202),
      ...Array(10 - MAX).fill(429),
    ])
  })

  it('does not hold back what was arranged', async () => {
    const s = at()
    await s.call('PUT', '/v1/sessions/ann:bot:t/timers/t', { delay_seconds: 1 })
    await s.set(
      { kind: 'once', delay_seconds: 1, agent_id: 'bot', conversation_id: 't' },
      { 'wakeful-act-as': 'ann' },
    )
    for (let n = 1; n <= MAX; n++)
      await s.call('POST', '/v1/sessions/ann:bot:t/tool-results', { tool_id: 'x', payload: n })
    s.sleep(1_000)
    await s.settle()
    const types = await s.query<{ type: string }>(
      `select type from wakeful.events where session_key = 'ann:bot:t' and seq > ${MAX} order by type`,
    )
    expect(types.map(({ type }) => type)).toEqual(['alarm', 'timer'])
  })
})
