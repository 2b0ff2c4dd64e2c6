/** `GET /v1/ledger`: whose, which, in which order, and in which words; and `wakeful tail` on top of it. */
import { beforeEach, expect, it } from 'vitest'
import { lineOf, Shown, tail } from '../../packages/cli/src/tail.ts'
import { remoteDoor } from '../../packages/mcp-stdio/src/remote.ts'
import type { Actor, Answer } from '../../src/api/contract.ts'
import { execute } from '../../src/api/contract.ts'
import { operations } from '../../src/app/operations.ts'
import { wallClock } from '../../src/clock.ts'
import { RetryableError, TerminalError } from '../../src/core/errors.ts'
import { newId } from '../../src/core/ids.ts'
import { type Row, type Stage, sharedWakes } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const MINUTE = 60_000

eachStore('the ledger', (store) => {
  /** So many turns over intents fail. */
  let failing = 0
  const shared = sharedWakes(store, {
    agents: {
      bot: (turn) => {
        const { wake_message = '' } = turn.event.payload as { wake_message?: string }
        if (turn.event.type === 'intent' && failing-- > 0) throw new TerminalError('no luck')
        if (wake_message === 'fail') throw new RetryableError({ message: 'no luck' })
        if (wake_message === 'speak' || turn.event.type === 'timer') turn.say('hello')
      },
    },
  })
  // The stage sweeps what most of its tests leave behind; these are ours.
  beforeEach(async () => {
    for (const table of ['scheduled_intents', 'intent_executions', 'signals'])
      await shared().s.query(`delete from wakeful.${table}`)
  })
  const as = (user: string) => ({ 'wakeful-act-as': user })
  const alarm = (s: Stage, user: string, body: object = {}) =>
    s.set(
      { kind: 'once', delay_seconds: 60, agent_id: 'bot', wake_message: 'speak', ...body },
      as(user),
    )
  const ledger = async (s: Stage, query = ''): Promise<Row[]> => {
    const answer = await s.call('GET', `/v1/ledger${query}`)
    expect(answer.status, answer.text).toBe(200)
    return answer.body.data
  }

  it('shows the chain of a slot: trigger, turn, message, and words in the zone asked for', async () => {
    const { s } = shared()
    const { id } = await alarm(s, 'ann', { label: 'stretch', conversation_id: 'chat' })
    await s.advanceBy(MINUTE)
    const [entry, ...rest] = await ledger(s, '?timezone=Europe/Berlin')
    expect(rest).toEqual([])
    expect(entry).toMatchObject({
      trigger: { kind: 'alarm', id, name: 'stretch' },
      ...{ user_id: 'ann', session_key: 'ann:bot:chat', outcome: 'sent', attempts: 1 },
      scheduled_for: '2026-01-01T00:01:00.000Z',
      words: 'Sent at 01:01 as promised, not yet received.',
      turn: { event_seq: 1, status: 'committed', error: null },
      verdicts: [{ allowed: true, rule: 'promised' }],
      effects: [{ status: 'pending', reason: 'promise', preview: 'hello', delivered_at: null }],
    })
    expect(entry.reply).toBeUndefined()
    await s.call('POST', '/v1/sessions/ann:bot:chat/messages', { text: 'thanks' })
    expect((await ledger(s))[0].reply).toMatchObject({ seq: 2 })
  })

  it('several attempts at one slot are one entry, from its first failure to its last', async () => {
    const { s } = shared()
    await alarm(s, 'ann', { wake_message: 'fail', max_failures: 3 })
    await s.advanceBy(MINUTE)
    expect(await ledger(s)).toMatchObject([
      {
        outcome: 'pending',
        attempts: 1,
        words: expect.stringContaining('the next is at 00:01:30'),
      },
    ])
    await s.advanceBy(10 * MINUTE)
    expect(await ledger(s)).toMatchObject([
      { outcome: 'failed', attempts: 3, reason: { rule: 'attempts_failed', error: 'no luck' } },
    ])
  })

  it('wakes by call leave their record: tried again, then taken; cancelled between two', async () => {
    const { s, hook } = shared()
    hook.answer = (_, response) => response.writeHead(503).end('busy')
    await alarm(s, 'ann', { agent_id: undefined, label: 'one' })
    const two = await alarm(s, 'bea', { agent_id: undefined, label: 'two' })
    await s.advanceBy(MINUTE)
    for (const entry of await ledger(s))
      expect(entry).toMatchObject({
        outcome: 'pending',
        attempts: 1,
        reason: { rule: 'attempt_failed' },
      })
    await s.call('DELETE', `/v1/alarms/${two.id}`)
    hook.answer = (_, response) => response.writeHead(204).end()
    await s.advanceBy(MINUTE)
    const byName = Object.fromEntries((await ledger(s)).map((each) => [each.trigger.name, each]))
    expect(byName.one).toMatchObject({ outcome: 'delivered', attempts: 2 })
    expect(byName.two).toMatchObject({ outcome: 'cancelled', attempts: 1 })
  })

  it('two extra wakes of one instant are two slots, each with its own attempts', async () => {
    const { s } = shared()
    const body = { kind: 'cron', cron_expr: '@every 1h', delay_seconds: undefined }
    const { id } = await alarm(s, 'ann', { ...body, wake_message: 'fail', max_failures: 2 })
    for (let n = 0; n < 2; n++) await s.call('POST', `/v1/alarms/${id}/fire-now`)
    await s.advanceBy(5 * MINUTE)
    expect((await ledger(s)).map(({ outcome, attempts }) => [outcome, attempts])).toEqual([
      ['failed', 2],
      ['failed', 2],
    ])
    await s.call('POST', `/v1/alarms/${id}/fire-now`)
    await s.call('DELETE', `/v1/alarms/${id}`)
    const cancelled = (await ledger(s, '?outcome=cancelled')).map((each) => each.scheduled_for)
    // The one that was asked for and never ran, and the slot of the schedule.
    expect(cancelled.toSorted()).toEqual(['2026-01-01T00:05:00.000Z', '2026-01-01T01:00:00.000Z'])
  })

  it('two fires of a condition at one instant are two slots, also where the first failed', async () => {
    const { s } = shared()
    failing = 1
    const tell = async (price: number) => {
      await s.call('POST', '/v1/signals', { kind: 'price', ticker: 'T', price })
      await s.settle()
    }
    await tell(80)
    const made = await s.call('POST', '/v1/intents', {
      ...{ user_id: 'ann', agent_id: 'bot', intent_name: 'watch', action_context: 'tell' },
      ...{ trigger_type: 'price', trigger_condition: { ticker: 'T', operator: '<', value: 100 } },
    })
    expect(made.status, made.text).toBe(201)
    await s.settle()
    await tell(120)
    await tell(70)
    const fired = (await ledger(s)).filter((entry) => entry.turn !== undefined)
    expect(fired.map(({ outcome, attempts }) => [outcome, attempts]).toSorted()).toEqual([
      ['failed', 1],
      ['silent', 1],
    ])
  })

  it('slots that passed are covered by the one that fired', async () => {
    const { s } = shared()
    await alarm(s, 'ann', { kind: 'cron', cron_expr: '@every 10m', delay_seconds: undefined })
    s.sleep(35 * MINUTE)
    await s.settle()
    expect(await ledger(s, '?outcome=missed')).toMatchObject([
      { scheduled_for: '2026-01-01T00:10:00.000Z', missed_count: 2 },
    ])
  })

  it('what the gate of a worker outside holds back is put off, not dropped', async () => {
    const { s } = shared()
    const made = await s.call('POST', '/v1/intents', {
      ...{ user_id: 'ann', intent_name: 'brief', action_context: 'tell', trigger_type: 'interval' },
      trigger_schedule: { interval_minutes: 60 },
    })
    await s.advanceBy(60 * MINUTE)
    const gate_result = { reason: 'quiet hours', defer_until: '2026-01-01T07:00:00Z' }
    const report = { status: 'gate_blocked', gate_result }
    await s.call('POST', `/v1/intents/${made.body.id}/fire`, report)
    expect(await ledger(s, '?outcome=postponed')).toMatchObject([
      {
        trigger: { kind: 'intent', id: made.body.id },
        reason: { rule: 'quiet hours', until: '2026-01-01T07:00:00.000Z' },
        words: 'Held back at 01:00: quiet hours until 07:00; to be tried again.',
        ended_at: '2026-01-01T01:00:00.000Z',
      },
    ])
  })

  it('filters: user, session, trigger, id, outcome and time; all of them paged to the end', async () => {
    const { s } = shared()
    for (let n = 0; n < 5; n++) {
      for (const user of ['ann', 'bea'])
        await alarm(s, user, { delay_seconds: 60 + n, conversation_id: 'chat' })
    }
    const { id } = await alarm(s, 'ann', { wake_message: 'quiet' })
    const at = '2027-01-01T00:00:00Z'
    await s.call('PUT', '/v1/sessions/ann:bot:chat/timers/later', { fire_at: at })
    for (const timer of ['one', 'two'])
      await s.call('PUT', `/v1/sessions/cat:bot:chat/timers/${timer}`, { delay_seconds: 60 })
    await s.advanceBy(2 * MINUTE)
    await s.call('POST', '/v1/sessions/ann:bot:chat/messages', { text: 'hi' })
    const count = async (query: string) => (await ledger(s, query)).length
    expect(await count('')).toBe(14)
    expect(await count('?user_id=ann')).toBe(7)
    expect(await count('?user_id=an')).toBe(0)
    expect(await count('?session_key=ann:bot:chat')).toBe(6)
    expect(await count('?trigger=timer')).toBe(3)
    expect(await count(`?trigger_id=${id}`)).toBe(1)
    expect(await ledger(s, '?outcome=silent')).toMatchObject([{ trigger: { id } }])
    expect(await ledger(s, '?trigger=timer&user_id=ann')).toMatchObject([
      { outcome: 'cancelled', trigger: { name: 'later' }, session_key: 'ann:bot:chat' },
    ])
    // Of two follow-ups at one instant the cooldown holds back the second; of five reminders none.
    expect(await count('?outcome=suppressed&user_id=cat')).toBe(1)
    expect(await count('?outcome=suppressed&user_id=bea')).toBe(0)
    expect(await count('?from=2026-01-01T00:01:02Z&to=2026-01-01T00:01:04Z')).toBe(4)
    const ids: string[] = []
    let cursor = ''
    do {
      const page = await s.call('GET', `/v1/ledger?limit=5${cursor}`)
      ids.push(...page.body.data.map((each: Row) => each.id))
      cursor = page.body.next_cursor === null ? '' : `&cursor=${page.body.next_cursor}`
    } while (cursor !== '')
    expect(ids).toEqual((await ledger(s, '?limit=200')).map((each) => each.id))
    expect(new Set(ids).size).toBe(14)
  })

  it('says what is wrong with a question, all of it (422, 400), and 404 for an id that is none', async () => {
    const { s } = shared()
    const wrong = await s.call('GET', '/v1/ledger?trigger=moon&outcome=bliss&limit=0&from=soon&x=1')
    expect(wrong.status).toBe(422)
    expect(wrong.body.errors).toHaveLength(5)
    expect((await s.call('GET', '/v1/ledger?timezone=Mars/Phobos')).status).toBe(400)
    expect((await s.call('GET', '/v1/ledger?trigger_id=nope')).status).toBe(404)
    expect((await s.call('GET', '/v1/ledger?cursor=nope')).status).toBe(422)
  })

  it('invariant 12: an agent or a user sees its own alone, whatever it names', async () => {
    const { s } = shared()
    const mine = await alarm(s, 'ann')
    const foreign = await alarm(s, 'bea')
    await s.advanceBy(MINUTE)
    const ask = async (role: 'agent' | 'user' | 'worker', query: object): Promise<Answer> => {
      const op = operations.find(({ name }) => name === 'get_ledger')
      if (op === undefined) throw new Error('get_ledger is missing')
      const ownerDid = 'did:matrix:ann:0000000000000000'
      const actor: Actor = {
        ...{ role, ownerDid, userId: 'ann' },
        agentId: null,
        keyId: null,
        actAs: false,
      }
      const caller = { requestId: newId(), signal: new AbortController().signal }
      return execute(op, s.app.context(actor, caller), { params: {}, query, body: undefined })
    }
    for (const role of ['agent', 'user'] as const) {
      for (const query of [{}, { user_id: 'bea' }, { trigger_id: mine.id }]) {
        const { data } = (await ask(role, query)).body as { data: Row[] }
        expect(data.map((each) => each.user_id)).toEqual(['ann'])
      }
      const { data } = (await ask(role, { trigger_id: foreign.id })).body as { data: Row[] }
      expect(data).toEqual([])
      await expect(ask(role, { session_key: 'bea:bot:chat' })).rejects.toMatchObject({
        code: 'not_found',
      })
    }
    await expect(ask('worker', {})).rejects.toMatchObject({ code: 'forbidden' })
  })

  it('tail: shows what is there, then each change once, and waits for a server that is away', async () => {
    const { s } = shared()
    await alarm(s, 'ann', { label: 'stretch' })
    const lines: string[] = []
    const said: string[] = []
    const stop = new AbortController()
    let calls = 0
    const door = remoteDoor({
      baseUrl: s.url,
      now: wallClock,
      fetch: async (...request) => {
        calls++
        if (calls === 1) await s.advanceBy(MINUTE)
        if (calls === 2) throw new TypeError('away')
        if (calls === 4) stop.abort()
        return fetch(...request)
      },
    })
    const out = (line: string) => void lines.push(line)
    const say = (line: string) => void said.push(line)
    await tail({ json: true, user: 'ann' }, { door, out, say, colours: false, signal: stop.signal })
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { outcome: 'sent', trigger: { name: 'stretch' } },
    ])
    expect(said).toEqual([expect.stringContaining('did not answer'), 'the server is back'])
  })
})

it('tail: oldest first, only what is new or has changed, and no control characters', async () => {
  const entry = (id: string, outcome: 'pending' | 'delivered') => ({
    ...{ id, outcome, attempts: 1, user_id: 'ann', words: 'Delivered\u001b[2J.' },
    trigger: { kind: 'alarm', name: 'tea\u0007' },
    ...{ at: '2026-01-01T00:00:00.000Z', ended_at: null },
  })
  const shown = new Shown(1)
  const look = async (...data: ReturnType<typeof entry>[]) =>
    (await shown.look(async () => ({ data, next_cursor: null }))).map(({ id }) => id)
  expect(await look(entry('b', 'pending'), entry('a', 'delivered'))).toEqual(['b'])
  expect(await look(entry('b', 'pending'), entry('a', 'delivered'))).toEqual([])
  expect(await look(entry('c', 'pending'), entry('b', 'delivered'))).toEqual(['b', 'c'])
  expect(lineOf(entry('a', 'delivered'), 'UTC', false)).toBe(
    '00:00:00 delivered       alarm "tea\\u0007" of ann: Delivered [2J.',
  )
  expect(lineOf(entry('a', 'delivered'), 'UTC', true)).toContain('\u001b[32mdelivered')
})
