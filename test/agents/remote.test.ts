/** Remote agents: a turn as a signed call, with the same commit, retries and rules as any other turn. */
import type { ServerResponse } from 'node:http'
import { beforeEach, describe, expect, it } from 'vitest'
import { webhookSignature } from '../../src/core/calls/signature.ts'
import { type Loose, problem } from '../setup/http.ts'
import { type Received, type Row, receiver, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { ref } from '../setup/worlds.ts'

type Answer = (request: Received, response: ServerResponse) => void

const json = (value: unknown): Answer =>
  text(200, typeof value === 'string' ? value : JSON.stringify(value))
function text(status: number, body: string, headers: Record<string, string> = {}): Answer {
  return (_, response) => response.writeHead(status, headers).end(body)
}
const says = (...contents: string[]) =>
  json({ effects: contents.map((content) => ({ type: 'send_message', content })) })

eachStore('remote agents', (store) => {
  const at = sharedStage(store)
  beforeEach(async () => {
    await at().query('delete from wakeful.agents')
    await at().app.store.db.exec('truncate wakeful.autonomy_timers')
    await at().settle()
  })

  /** A registered agent whose server answers as told. */
  const remote = async (answer: Answer, more: Record<string, unknown> = {}) => {
    const server = await receiver(answer)
    const made = await at().call('POST', '/v1/agents', { id: 'far', url: server.url, ...more })
    expect(made.status).toBe(201)
    return { server, secret: made.body.secret as string }
  }
  const say = (words: string, key = 'ann:far:t') =>
    at().call('POST', `/v1/sessions/${key}/messages`, { text: words })
  const turns = async (key = 'ann:far:t'): Promise<Row[]> =>
    (await at().call('GET', `/v1/sessions/${key}/turns`)).body.data
  const messages = async (key = 'ann:far:t'): Promise<string[]> => {
    const { body } = await at().call('GET', `/v1/sessions/${key}/effects`)
    return body.data
      .filter((effect: Loose) => effect.type === 'send_message')
      .map((effect: Loose) => effect.payload.content)
  }
  const stateOf = async (key = 'ann:far:t') => {
    const [row] = await at().query(
      `select k.checkpoint from wakeful.sessions s join wakeful.checkpoints k
       on k.thread_id = s.session_key and k.checkpoint_id = s.checkpoint_id where s.session_key = $1`,
      [key],
    )
    return row?.checkpoint as string
  }

  describe('the call', () => {
    it('carries event, state and history, is signed with the agent’s own secret, and its answer is committed', async () => {
      const { server, secret } = await remote(
        json({
          state: { n: 1 },
          effects: [
            { type: 'send_message', content: 'hello' },
            { type: 'schedule_timer', timer_id: 'later', delay_seconds: 60, payload: { a: 1 } },
          ],
        }),
      )
      await say('hi')
      await at().settle()
      const [call] = server.received as [Received]
      expect(call.body).toMatchObject({
        type: 'turn',
        session: { key: 'ann:far:t', user_id: 'ann', agent_id: 'far', thread_id: 't' },
        event: { seq: 1, type: 'user_message', payload: { text: 'hi' } },
        state: {},
        attempt: 1,
        deadline: '2026-01-01T00:01:00.000Z',
      })
      expect(call.body.history).toEqual([call.body.event])
      const { 'webhook-id': id, 'webhook-timestamp': seconds } = call.headers
      expect(id).toBe('ann:far:t:1')
      const signature = webhookSignature([secret], String(id), Number(seconds), call.text)
      expect(call.headers['webhook-signature']).toBe(signature)
      expect(await messages()).toEqual(['hello'])
      server.answer = says('you are quiet')
      await at().advanceBy(60_000)
      const again = server.received[1] as Received
      expect(again.body).toMatchObject({
        event: { seq: 2, type: 'timer', payload: { timer_id: 'later', payload: { a: 1 } } },
        state: { n: 1 },
      })
      expect(again.body.history.map((event: Loose) => event.seq)).toEqual([1, 2])
      expect(await messages()).toEqual(['hello', 'you are quiet'])
      expect(await stateOf()).toBe('{"n":1}')
    })

    it('rule 5: state and payloads travel both ways digit for digit', async () => {
      const exact = '{"b":12345678901234567890.10,"1":1E2,"a":[1.0]}'
      const { server } = await remote(
        json(
          `{"state": ${exact}, "effects":[{"type":"schedule_timer","timer_id":"x","delay_seconds":5,"payload":${exact}}]}`,
        ),
      )
      await say('hi')
      await at().settle()
      expect(await stateOf()).toBe(exact)
      server.answer = says('ok')
      await at().advanceBy(5_000)
      expect(server.received[1]?.text).toContain(`"state":${exact},`)
      expect(server.received[1]?.text).toContain(`"payload":${exact}}`)
      expect(await stateOf()).toBe(exact)
    })

    it('an alarm is a turn whose signed call carries the alarm; agents set and cancel their own', async () => {
      const { server } = await remote(
        json({
          effects: [
            { type: 'set_alarm', delay_seconds: 30, wake_message: 'tea', payload: { pot: 1 } },
            { type: 'set_alarm', delay_seconds: 90, wake_message: 'never', idempotency_key: 'k' },
          ],
        }),
      )
      await say('tea in half a minute')
      await at().settle()
      const { body } = await at().call('GET', '/v1/alarms')
      const other = body.data.find((alarm: Loose) => alarm.wake_message === 'never')
      server.answer = json({
        effects: [
          { type: 'cancel_alarm', id: other.id },
          { type: 'send_message', content: 'tea!' },
        ],
      })
      await at().advanceBy(30_000)
      expect(server.received[1]?.body.event).toMatchObject({
        type: 'alarm',
        payload: { wake_message: 'tea', payload: { pot: 1 }, attempt: 1 },
      })
      expect(await messages()).toEqual(['tea!'])
      expect((await at().get(other.id)).status).toBe('cancelled')
    })

    it('rules 18 and 21: an alarm that fails is tried again by its own ladder, also after a 4xx, under one webhook-id', async () => {
      const { server } = await remote(text(410, 'gone fishing'))
      const alarm = await at().set(
        { kind: 'once', delay_seconds: 1, agent_id: 'far', conversation_id: 't' },
        { 'wakeful-act-as': 'ann' },
      )
      await at().advanceBy(1_000)
      expect(await at().get(alarm.id)).toMatchObject({
        status: 'active',
        failure_count: 1,
        last_error: 'HTTP 410: gone fishing',
      })
      server.answer = text(429, 'busy', { 'retry-after': '100' })
      await at().advanceBy(30_000)
      server.answer = says('back')
      await at().advanceBy(99_999)
      expect(server.received).toHaveLength(2)
      await at().advanceBy(1)
      expect((await at().get(alarm.id)).status).toBe('fired')
      const ids = server.received.map((call) => call.headers['webhook-id'])
      expect(ids).toHaveLength(3)
      expect(new Set(ids).size).toBe(1)
    })

    it('no answer body is an answer without wishes', async () => {
      const { server } = await remote(text(204, ''))
      await say('hi')
      await at().settle()
      expect((await turns()).map((turn) => turn.status)).toEqual(['committed'])
      expect(server.received).toHaveLength(1)
    })
  })

  describe('a wrong answer', () => {
    it('fails the turn with all that is wrong, commits nothing of it, and is tried again', async () => {
      const { server } = await remote(
        json({
          state: [],
          mood: 'good',
          effects: [
            { type: 'send_message', content: '  ' },
            { type: 'send_message', content: 'fine', loud: true },
            { type: 'schedule_timer', timer_id: 't' },
            { type: 'set_alarm', wake_message: 'x', cron_expr: '61 * * * *' },
            { type: 'cancel_alarm', id: 'no' },
            { type: 'dance' },
          ],
        }),
      )
      await say('hi')
      await at().settle()
      const [turn] = await turns()
      expect(turn.status).toBe('retrying')
      for (const words of [
        '"mood": is not a known field',
        'state: must be an object',
        'effects[0].content: must not be blank',
        'effects[1]',
        'effects[2]: takes exactly one of delay_seconds and fire_at',
        'effects[3]: cron_expr',
        'effects[4].id: must be the id of an alarm',
        'effects[5].type',
      ])
        expect(turn.error).toContain(words)
      expect(await messages()).toEqual([])
      server.answer = says('better')
      await at().advanceBy(1_000)
      expect(await messages()).toEqual(['better'])
      expect(new Set(server.received.map((call) => call.headers['webhook-id'])).size).toBe(1)
      expect(server.received.map((call) => call.body.attempt)).toEqual([1, 2])
    })

    it('a longer one than may be is refused in words', async () => {
      await remote(json({ state: { a: 'x'.repeat(256 * 1024) } }))
      await say('hi')
      await at().settle()
      const error = "the agent's answer is longer than 262144 bytes"
      expect(await turns()).toMatchObject([{ status: 'retrying', error }])
    })

    it('as long as it may be, it is taken', async () => {
      const state = JSON.stringify({ a: 'x'.repeat(256 * 1024 - 30) })
      await remote(json(`{"state":${state}}`))
      await say('hi')
      await at().settle()
      expect(await stateOf()).toBe(state)
    })
  })

  describe('other answers', () => {
    it.each([429, 503])('%i is tried again, not before its Retry-After', async (status) => {
      const { server } = await remote(text(status, 'busy', { 'retry-after': '40' }))
      await say('hi')
      await at().advanceBy(39_999)
      expect(server.received).toHaveLength(1)
      server.answer = says('now')
      await at().advanceBy(1)
      expect(await messages()).toEqual(['now'])
      expect((await turns())[0]).toMatchObject({
        status: 'retrying',
        error: `HTTP ${status}: busy`,
      })
    })

    it('a Retry-After beyond an hour counts as an hour', async () => {
      const { server } = await remote(text(503, '', { 'retry-after': '999999' }))
      await say('hi')
      await at().settle()
      server.answer = says('now')
      await at().advanceBy(3_600_000)
      expect(await messages()).toEqual(['now'])
    })

    it('any other 4xx gives up at once, with the body’s text; the session goes on', async () => {
      const { server } = await remote(text(404, 'no such brain'))
      await say('hi')
      await at().settle()
      expect(await turns()).toMatchObject([{ status: 'failed', error: 'HTTP 404: no such brain' }])
      server.answer = says('back')
      await say('and now?')
      await at().settle()
      expect(await messages()).toEqual(['Sorry, something went wrong. Please try again.', 'back'])
    })

    it('5xx is tried four times, a redirect is not followed', async () => {
      const elsewhere = await receiver()
      const { server } = await remote(text(302, '', { location: elsewhere.url }))
      await say('hi')
      await at().settle()
      server.answer = text(500, 'oops')
      await at().advanceBy(60_000)
      expect((await turns()).map((turn) => turn.error)).toEqual([
        'HTTP 302 (redirects are not followed)',
        'HTTP 500: oops',
        'HTTP 500: oops',
        'HTTP 500: oops',
      ])
      expect((await turns()).at(-1)?.status).toBe('failed')
      expect(elsewhere.received).toHaveLength(0)
    })

    it('one that does not answer in time is cut', async () => {
      const { server } = await remote(() => undefined, { timeout_ms: 1000 })
      await say('hi')
      await at().settle()
      expect((await turns())[0]).toMatchObject({
        status: 'retrying',
        error: 'the agent took longer than 1000 ms',
      })
      expect(server.received).toHaveLength(1)
    })
  })

  describe('an agent that goes', () => {
    it('is removed: what waits for it fails at once and says so, and a once alarm ends as failed', async () => {
      const { server } = await remote(text(500, 'down'))
      const alarm = await at().set(
        { kind: 'once', delay_seconds: 60, agent_id: 'far', conversation_id: 't' },
        { 'wakeful-act-as': 'ann' },
      )
      await say('hi')
      await at().settle()
      expect((await at().call('DELETE', '/v1/agents/far')).status).toBe(204)
      await at().advanceBy(60_000)
      expect((await turns()).map(({ status, error }) => [status, error])).toEqual([
        ['retrying', 'HTTP 500: down'],
        ['failed', 'not run: the agent far was removed'],
        ['failed', 'not run: the agent far was removed'],
      ])
      expect(await at().get(alarm.id)).toMatchObject({
        status: 'failed',
        last_error: 'not run: the agent far was removed',
      })
      expect(server.received).toHaveLength(1)
      problem(await say('anybody there?'), 404)
      problem(await at().call('DELETE', '/v1/agents/far'), 404)
    })

    it('a cron skips to its next slot, and works again when the name is registered again', async () => {
      await remote(says('tick'))
      const alarm = await at().set(
        { kind: 'cron', cron_expr: '* * * * *', agent_id: 'far', conversation_id: 'c' },
        { 'wakeful-act-as': 'ann' },
      )
      await at().call('DELETE', '/v1/agents/far')
      await at().advanceBy(60_000)
      expect(await at().get(alarm.id)).toMatchObject({
        status: 'active',
        last_error: 'not run: the agent far was removed',
        next_fire_at: '2026-01-01T00:02:00.000Z',
      })
      await remote(says('tock'))
      await at().advanceBy(60_000)
      expect(await messages('ann:far:c')).toEqual(['tock'])
    })

    it('is switched off: what is meant for it waits until it is on again', async () => {
      const { server } = await remote(says('here'))
      expect((await at().call('PATCH', '/v1/agents/far', { enabled: false })).body.enabled).toBe(
        false,
      )
      expect((await say('hi')).status).toBe(202)
      await at().advanceBy(600_000)
      expect(server.received).toHaveLength(0)
      await at().call('PATCH', '/v1/agents/far', { enabled: true })
      await at().settle()
      expect(await messages()).toEqual(['here'])
    })

    it('changes its address and secret: the next call goes there, signed with it', async () => {
      const { server } = await remote(says('old'))
      const other = await receiver(says('new'))
      const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
      await at().call('PATCH', '/v1/agents/far', { url: other.url, secret })
      await say('hi')
      await at().settle()
      expect(server.received).toHaveLength(0)
      const [call] = other.received as [Received]
      const { 'webhook-id': id, 'webhook-timestamp': seconds } = call.headers
      expect(call.headers['webhook-signature']).toBe(
        webhookSignature([secret], String(id), Number(seconds), call.text),
      )
    })
  })

  it('invariant 12: one user’s agent is nobody else’s', async () => {
    const { server } = await remote(says('hi ann'), { user_id: 'ann' })
    await say('hi')
    problem(await say('hi', 'bob:far:t'), 404)
    const alarm = { kind: 'once', delay_seconds: 1, agent_id: 'far', wake_message: 'x' }
    problem(await at().call('POST', '/v1/alarms', alarm, { 'wakeful-act-as': 'bob' }), 400)
    await at().settle()
    expect(server.received).toHaveLength(1)
    // Also when an event got there by another way.
    const event = {
      session: ref('bob:far:t'),
      id: '01890000-0000-7000-8000-000000000001',
      clientId: null,
    }
    await at().app.append({ ...event, type: 'user_message', payload: '{"text":"hi"}' })
    await at().settle()
    const [row] = await at().query(
      `select error from wakeful.turns where session_key = 'bob:far:t'`,
    )
    expect(row.error).toBe('not run: the agent far belongs to another user')
    expect(server.received).toHaveLength(1)
  })

  it('invariant 14: one that hangs delays no other session', async () => {
    let letGo: () => void = () => undefined
    const { server } = await remote((request, response) => {
      const quick = () => says('quick')(request, response)
      if (request.body.session.key === 'ann:far:slow') letGo = quick
      else quick()
    })
    await say('hi', 'ann:far:slow')
    await say('hi')
    await at().app.engine.home.turns.tick()
    await until('the other has answered', async () => (await messages()).length > 0)
    expect(await turns('ann:far:slow')).toEqual([expect.objectContaining({ status: 'running' })])
    await until('the slow one was called', () => server.received.length === 2)
    letGo()
    await at().settle()
    expect(await turns('ann:far:slow')).toEqual([expect.objectContaining({ status: 'committed' })])
  })
})
