/** The turns service at its edges: a stop amid running turns, and commits whose answer never came. */
import { afterAll, expect, it, vi } from 'vitest'
import { Relay } from '../faults/relay.ts'
import { dropDatabases, eachStore, postgresDatabase } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { world } from '../setup/worlds.ts'

const made: string[] = []
afterAll(() => dropDatabases(made))

const KEY = 'ann:bot:t'
const HEAD = 'select done_seq, deaths, attempt, claim_token from wakeful.sessions'

eachStore('the turns service', (store) => {
  it('rule 14: a stop gives back what does not end in time, due at once, and counts no death', async () => {
    const signals: AbortSignal[] = []
    const w = await world(store, {
      bot: async (turn) => {
        if (turn.session.userId === 'bea') return turn.say('done in time')
        signals.push(turn.signal)
        // Only the first time, so that the second can be seen to end.
        if (signals.length === 1) await new Promise(() => undefined)
      },
    })
    await w.say(KEY, 'hang')
    await w.say('bea:bot:t', 'hi')
    await w.app.engine.home.turns.tick()
    await until('one has ended', () => w.app.engine.home.turns.depth === 1)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const stopping = w.app.engine.stop()
    await vi.advanceTimersByTimeAsync(10_000)
    vi.useRealTimers()
    await stopping
    expect(signals.map((signal) => signal.aborted)).toEqual([true])
    const nothing = { deaths: 0, attempt: 0, claim_token: null }
    expect(await w.query(`${HEAD} order by session_key`)).toEqual([
      { done_seq: 0, ...nothing },
      { done_seq: 1, ...nothing },
    ])
    await w.settle()
    expect(signals).toHaveLength(2)
    const [turn] = await w.query(
      `select status, attempt from wakeful.turns where session_key = '${KEY}'`,
    )
    expect(turn).toEqual({ status: 'committed', attempt: 1 })
  })
})

it('invariants 3 and 6: a turn whose commit was not answered is written once, with its effects once', async () => {
  const relay = await Relay.before(await postgresDatabase(made))
  const w = await world(
    { name: 'postgres', database: async () => relay.url },
    {
      bot: (turn) => {
        turn.state.count = Number(turn.state.count ?? 0) + 1
        turn.say(`count ${turn.state.count}`)
        // Nothing else commits on this clock: the next commit is this turn's own.
        if (turn.event.seq === 1) relay.cutAnswer('COMMIT\0')
      },
    },
  )
  await w.say(KEY, 'one')
  await w.say(KEY, 'two')
  await w.settle()
  expect(relay.cuts).toBe(1)
  expect(
    await w.query('select event_seq, attempt, status from wakeful.turns order by event_seq'),
  ).toEqual([
    { event_seq: 1, attempt: 1, status: 'committed' },
    { event_seq: 2, attempt: 1, status: 'committed' },
  ])
  const effects = await w.query<{ payload: string }>(
    'select payload from wakeful.effects order by position',
  )
  expect(effects.map(({ payload }) => payload)).toEqual([
    '{"content":"count 1"}',
    '{"content":"count 2"}',
  ])
})

it('invariant 9: a database that goes away during a turn gets its outcome when it is back', async () => {
  const relay = await Relay.before(await postgresDatabase(made))
  const w = await world(
    { name: 'postgres', database: async () => relay.url },
    {
      bot: async (turn) => {
        turn.say('kept')
        await relay.close()
        setTimeout(() => void relay.listen(), 50)
      },
    },
  )
  await w.say(KEY, 'hi')
  await w.settle()
  expect(await w.query('select status, attempt from wakeful.turns')).toEqual([
    { status: 'committed', attempt: 1 },
  ])
})

it('invariant 9: a connection that breaks before a late turn costs neither the turn nor the process', async () => {
  const relay = await Relay.before(await postgresDatabase(made))
  const w = await world(
    { name: 'postgres', database: async () => relay.url },
    { bot: (turn) => turn.say('late') },
  )
  await w.call('set_alarm', {
    ...{ kind: 'once', delay_seconds: 60, label: 'tea', wake_message: 'tea', agent_id: 'bot' },
    conversation_id: 't',
  })
  const { engine } = w.app
  const quiesce = engine.quiesce.bind(engine)
  // Nothing runs meanwhile: as if every process had been away.
  engine.quiesce = async () => null
  await w.advanceBy(24 * 3_600_000)
  engine.quiesce = quiesce
  // The answer whether others of the session are gathered: the first of four columns.
  relay.cutAnswer('\u0004gathering\0')
  await w.settle()
  expect(relay.cuts).toBe(1)
  expect(await w.query('select status, attempt from wakeful.turns')).toEqual([
    { status: 'committed', attempt: 1 },
  ])
})
