/** The corridor on the test clock: event → turn → effects, in order, all or nothing, once. */
import { expect, it } from 'vitest'
import { RetryableError, TerminalError } from '../../src/core/errors.ts'
import { newId } from '../../src/core/ids.ts'
import { appendEvents } from '../../src/features/sessions/event-rows.ts'
import { eachStore } from '../setup/stores.ts'
import { ref, world } from '../setup/worlds.ts'

const KEY = 'ann:bot:t1'

interface Effect {
  type: string
  payload: string
  status: string
  event_seq: number
}
const EFFECTS =
  'select type, payload, status, event_seq from wakeful.effects order by session_key, position'
const SESSION = 'select * from wakeful.sessions where session_key = $1'

eachStore('the corridor', (store) => {
  it('invariant 1: seq is 1, 2, 3 … without gap or duplicate under 200 parallel appends to 5 sessions', async () => {
    const w = await world(store, { bot: () => undefined })
    await Promise.all(
      Array.from({ length: 200 }, (_, n) => w.say(`ann:bot:t${n % 5}`, `message ${n}`)),
    )
    const rows = await w.query<{ session_key: string; seqs: number[] }>(
      'select session_key, array_agg(seq order by seq) as seqs from wakeful.events group by session_key',
    )
    expect(rows).toHaveLength(5)
    for (const { seqs } of rows) expect(seqs).toEqual(Array.from({ length: 40 }, (_, n) => n + 1))
  })

  it('invariant 2: turns run one at a time, in seq order', async () => {
    const seen: number[] = []
    let inside = 0
    const w = await world(store, {
      bot: async (turn) => {
        expect(++inside).toBe(1)
        await new Promise((done) => setImmediate(done))
        seen.push(turn.event.seq)
        inside--
      },
    })
    for (let n = 0; n < 10; n++) await w.say(KEY, `m${n}`)
    await w.settle()
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })

  it('invariant 3: a committed turn leaves checkpoint, counters, effects, timer and its proof', async () => {
    const w = await world(store, {
      bot: (turn) => {
        turn.state.count = Number(turn.state.count ?? 0) + 1
        turn.say(`count ${turn.state.count}`)
        turn.schedule('nudge', { in: 600, data: { why: 'quiet' }, cancelOnReply: true })
      },
    })
    await w.say(KEY, 'hello')
    await w.say(KEY, 'again')
    await w.settle()
    const effects = await w.query<Effect>(EFFECTS)
    expect(effects.map((e) => [e.event_seq, e.type, e.status])).toEqual([
      [1, 'send_message', 'pending'],
      [1, 'schedule_timer', 'completed'],
      [2, 'send_message', 'pending'],
      [2, 'schedule_timer', 'completed'],
    ])
    expect(effects[2]?.payload).toBe('{"content":"count 2"}')
    const [head] = await w.query<{ done_seq: number; checkpoint_id: string; due_at: Date | null }>(
      SESSION,
      [KEY],
    )
    expect(head).toMatchObject({ done_seq: 2, due_at: null })
    const points = await w.query<{ checkpoint_id: string; metadata: string; checkpoint: string }>(
      'select * from wakeful.checkpoints order by checkpoint_id',
    )
    expect(points.map((p) => JSON.parse(p.metadata))).toEqual([
      {
        metadata_version: 1,
        event_seq: 1,
        consecutive_autonomous_msgs: 0,
        last_autonomous_at: null,
      },
      {
        metadata_version: 1,
        event_seq: 2,
        consecutive_autonomous_msgs: 0,
        last_autonomous_at: null,
      },
    ])
    expect(points[1]?.checkpoint_id).toBe(head?.checkpoint_id)
    expect(JSON.parse(points[1]?.checkpoint ?? '')).toEqual({ count: 2 })
    const turns = await w.query<{ status: string; attempt: number }>(
      'select * from wakeful.turns order by event_seq',
    )
    expect(turns.map((t) => t.status)).toEqual(['committed', 'committed'])
  })

  it('invariant 3: a failing turn leaves nothing but its proof; tried after 1, 2 and 4 s, then the session goes on (rule 15)', async () => {
    const at: number[] = []
    const w = await world(store, {
      bot: (turn) => {
        if (turn.event.seq > 1) return turn.say('fine again')
        at.push(w.now().getTime())
        turn.state.broken = true
        turn.say('never sent')
        turn.schedule('never', { in: 1, cancelOnReply: true })
        throw new Error('no luck')
      },
    })
    await w.say(KEY, 'one')
    await w.say(KEY, 'two')
    await w.advanceBy(60_000)
    expect(at.map((t) => t - (at[0] ?? 0))).toEqual([0, 1000, 3000, 7000])
    const turns = await w.query<{
      event_seq: number
      attempt: number
      status: string
      error: string | null
    }>('select event_seq, attempt, status, error from wakeful.turns order by event_seq, attempt')
    expect(turns).toEqual([
      { event_seq: 1, attempt: 1, status: 'retrying', error: 'no luck' },
      { event_seq: 1, attempt: 2, status: 'retrying', error: 'no luck' },
      { event_seq: 1, attempt: 3, status: 'retrying', error: 'no luck' },
      { event_seq: 1, attempt: 4, status: 'failed', error: 'no luck' },
      { event_seq: 2, attempt: 1, status: 'committed', error: null },
    ])
    expect((await w.query<Effect>(EFFECTS)).map((e) => e.payload)).toEqual([
      '{"content":"Sorry, something went wrong. Please try again."}',
      '{"content":"fine again"}',
    ])
    expect(await w.query('select 1 from wakeful.autonomy_timers')).toHaveLength(0)
    expect(await w.query('select 1 from wakeful.checkpoints')).toHaveLength(1)
  })

  it('a TerminalError gives up at once, a RetryableError waits as long as it says', async () => {
    const at: number[] = []
    const w = await world(store, {
      bot: (turn) => {
        if (turn.event.seq === 1) throw new TerminalError('hopeless')
        at.push(w.now().getTime())
        if (turn.attempt === 1) throw new RetryableError({ retryAfterMs: 30_000 })
      },
    })
    await w.say(KEY, 'one')
    await w.say(KEY, 'two')
    await w.advanceBy(60_000)
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBe(30_000)
    const turns = await w.query<{ event_seq: number; status: string }>(
      'select event_seq, status from wakeful.turns order by event_seq, attempt',
    )
    expect(turns.map((t) => `${t.event_seq} ${t.status}`)).toEqual([
      '1 failed',
      '2 retrying',
      '2 committed',
    ])
  })

  it('invariant 4: a due timer is promoted once, by two clocks side by side too', async () => {
    const database = await store.database()
    const w = await world(store, { bot: () => undefined }, { database })
    await w.query(
      `insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, created_at, updated_at)
       select 1, 'u' || n || ':other:t', 'u' || n, 'other', 't', $1::timestamptz, $1::timestamptz from generate_series(1, 50) n`,
      [w.now()],
    )
    await w.query(
      `insert into wakeful.autonomy_timers (bucket, session_key, id, timer_id, fire_at, status, created_at, updated_at)
       select 1, 'u' || (n % 50 + 1) || ':other:t', gen_random_uuid(), 'timer' || n, $1::timestamptz, 'pending', $1::timestamptz, $1::timestamptz
       from generate_series(1, 1000) n`,
      [w.now()],
    )
    await Promise.all([w.settle(), w.settle(), w.settle()])
    await w.settle()
    const [row] = await w.query<{ events: number; distinct: number; left: number }>(
      `select count(*)::int as events, count(distinct trigger_id)::int as distinct,
         (select count(*)::int from wakeful.autonomy_timers where status = 'pending') as left from wakeful.events`,
    )
    expect(row).toEqual({ events: 1000, distinct: 1000, left: 0 })
  })

  it('invariant 8: a user message cancels pending timers before its turn, and resets the counters', async () => {
    const w = await world(store, {
      bot: (turn) => {
        if (turn.event.type === 'timer') turn.say('still there?')
        turn.schedule('nudge', { in: 60, cancelOnReply: true })
      },
    })
    await w.say(KEY, 'hello')
    await w.advanceBy(60_000)
    const [before] = await w.query<{ consecutive_autonomous_msgs: number }>(SESSION, [KEY])
    expect(before?.consecutive_autonomous_msgs).toBe(1)
    await w.say(KEY, 'I am back')
    const [timer] = await w.query<{ status: string }>('select status from wakeful.autonomy_timers')
    expect(timer?.status).toBe('cancelled')
    await w.settle()
    const [after] = await w.query<object>(SESSION, [KEY])
    expect(after).toMatchObject({ consecutive_autonomous_msgs: 0, last_autonomous_at: null })
  })

  it('invariant 8: a timer set by a turn that a later message already overtook never fires', async () => {
    const w = await world(store, {
      bot: async (turn) => {
        if (turn.event.seq === 1) {
          await w.say(KEY, 'impatient')
          turn.schedule('nudge', { in: 1, cancelOnReply: true })
        }
      },
    })
    await w.say(KEY, 'hello')
    await w.advanceBy(60_000)
    const types = await w.query<{ type: string }>('select type from wakeful.events order by seq')
    expect(types.map((t) => t.type)).toEqual(['user_message', 'user_message'])
  })

  it('rule 10: timers survive; one whose time has passed fires at once, once; upsert replaces and revives', async () => {
    const w = await world(store, {
      bot: (turn) => {
        if (turn.event.type === 'user_message') {
          turn.schedule('a', { in: 10, data: { n: 1 }, cancelOnReply: true })
          turn.schedule('a', { in: 20, data: { n: 2 }, cancelOnReply: true })
          turn.schedule('b', { in: 0, cancelOnReply: true })
          turn.schedule('c', { in: 5, cancelOnReply: true })
          turn.cancel('c')
        }
      },
    })
    await w.say(KEY, 'go')
    await w.advanceBy(3_600_000)
    const events = await w.query<{ type: string; payload: string; created_at: Date }>(
      'select * from wakeful.events order by seq',
    )
    expect(events.map((e) => e.payload)).toEqual([
      '{"text":"go"}',
      '{"timer_id":"b"}',
      '{"timer_id":"a","payload":{"data":{"n":2}}}',
    ])
    expect((events[2]?.created_at.getTime() ?? 0) - (events[0]?.created_at.getTime() ?? 0)).toBe(
      20_000,
    )
  })

  it('rule 12: two intended identical messages both go out', async () => {
    const w = await world(store, {
      bot: (turn) => {
        turn.say('ding')
        turn.say('ding')
      },
    })
    await w.say(KEY, 'ring twice')
    await w.settle()
    expect((await w.query<Effect>(EFFECTS)).map((e) => e.payload)).toEqual([
      '{"content":"ding"}',
      '{"content":"ding"}',
    ])
  })

  it('a client id makes a message idempotent, also within one commit', async () => {
    const w = await world(store, { bot: () => undefined })
    const same = await Promise.all(Array.from({ length: 20 }, () => w.say(KEY, 'hi', 'm-1')))
    expect(new Set(same.map((e) => e.id)).size).toBe(1)
    expect(same.filter((e) => e.fresh)).toHaveLength(1)
    const again = await w.say(KEY, 'hi', 'm-1')
    expect(again).toMatchObject({ fresh: false, seq: 1 })
    expect(await w.query('select 1 from wakeful.events')).toHaveLength(1)
  })

  it('a poison item in a group commit fails alone', async () => {
    const w = await world(store, { bot: () => undefined })
    const bad = w.app.append({
      session: ref(KEY),
      id: newId(),
      type: 'user_message',
      payload: '{not json',
      clientId: null,
    })
    const good = [w.say(KEY, 'one'), w.say('bea:bot:t', 'two')]
    await expect(bad).rejects.toThrow()
    await expect(Promise.all(good)).resolves.toHaveLength(2)
  })

  it('rule 17: AUTONOMY_ENABLED=false promotes nothing, drops follow-ups, and conversations still work', async () => {
    const w = await world(
      store,
      {
        bot: (turn) => {
          turn.say('hello')
          turn.schedule('nudge', { in: 1, cancelOnReply: true })
        },
      },
      { env: { AUTONOMY_ENABLED: 'false' } },
    )
    await w.say(KEY, 'hi')
    await w.advanceBy(10_000)
    expect((await w.query<Effect>(EFFECTS)).map((e) => e.type)).toEqual(['send_message'])
    expect(await w.query('select 1 from wakeful.autonomy_timers')).toHaveLength(0)
    expect((await w.query<{ status: string }>('select status from wakeful.turns'))[0]?.status).toBe(
      'committed',
    )
  })

  it('bad agents harm nobody: throwing, hanging, rubbish state and process.exit', async () => {
    const { agent } = await import('../../src/agents/function.ts')
    const w = await world(store, {
      hang: agent(() => new Promise(() => undefined), { timeoutMs: 20 }),
      exit: () => process.exit(3),
      rubbish: (turn) => {
        ;(turn as { state: unknown }).state = 'not an object'
      },
      loop: (turn) => {
        const ring: Record<string, unknown> = {}
        ring.self = ring
        turn.state = ring
      },
      bot: (turn) => turn.say('alive'),
    })
    for (const name of ['hang', 'exit', 'rubbish', 'loop', 'bot'])
      await w.say(`ann:${name}:t`, 'hi')
    await w.advanceBy(60_000)
    const rows = await w.query<{ session_key: string; status: string; error: string | null }>(
      `select distinct on (session_key) session_key, status, error from wakeful.turns order by session_key, attempt desc`,
    )
    const commitTx = Object.fromEntries(rows.map((row) => [row.session_key.split(':')[1], row]))
    expect(commitTx.bot?.status).toBe('committed')
    expect(commitTx.hang?.error).toContain('longer than 20 ms')
    expect(commitTx.exit?.error).toContain('process.exit(3)')
    expect(commitTx.rubbish?.error).toContain('JSON object')
    expect(commitTx.loop?.error).toContain('circular')
    for (const name of ['hang', 'exit', 'rubbish', 'loop'])
      expect(commitTx[name]?.status).toBe('failed')
  })

  it('appends straight through a transaction the same way', async () => {
    const w = await world(store, { bot: () => undefined })
    const rows = await w.app.store.db.tx((tx) =>
      appendEvents(tx, [
        {
          session: ref(KEY),
          id: newId(),
          type: 'tool_result',
          payload: '{"tool_id":"x","payload":1E2}',
          clientId: null,
        },
      ]),
    )
    expect(rows[0]).toMatchObject({ seq: 1, payload: '{"tool_id":"x","payload":1E2}' })
  })
})
