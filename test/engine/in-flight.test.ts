/** Turns whose events are written with their outcomes: what is in the database while they run, and after each end. */
import { expect, it } from 'vitest'
import type { Turn } from '../../src/index.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { world } from '../setup/worlds.ts'

const KEY = 'ann:bot:t'
const LOG = `select e.seq, e.type, e.payload ->> 'timer_id' as timer, t.status, t.attempt, e.ended_at is not null as late
  from wakeful.events e left join wakeful.turns t on t.session_key = e.session_key and t.event_seq = e.seq
  where e.session_key = '${KEY}' order by e.seq, t.attempt`

eachStore('turns in flight', (store) => {
  async function opened(bot: (turn: Turn) => unknown) {
    const w = await world(store, { bot } as never)
    // Until a look has found that no session waits, no places are lent.
    await w.app.engine.home.turns.tick()
    const timer = (timer_id: string) =>
      w.call('put_timer', { session_key: KEY, timer_id, delay_seconds: 1 })
    return { w, timer }
  }

  it('a turn that ends at once is written once, with its event', async () => {
    const { w, timer } = await opened((turn) => {
      turn.state.seen = turn.event.seq
      turn.say('hello')
    })
    await timer('a')
    await w.advanceBy(1_000)
    expect(await w.query(LOG)).toEqual([
      { seq: 1, type: 'timer', timer: 'a', status: 'committed', attempt: 1, late: true },
    ])
    expect(await w.query('select 1 from wakeful.attempts')).toEqual([])
    const [turn] = await w.query<{ effect_ids: string[]; checkpoint_id: string }>(
      'select effect_ids, checkpoint_id from wakeful.turns',
    )
    expect(await w.query('select id, checkpoint_id from wakeful.effects')).toEqual([
      { id: turn?.effect_ids[0], checkpoint_id: turn?.checkpoint_id },
    ])
    expect(await w.query('select in_flight, claim_token, due_at from wakeful.sessions')).toEqual([
      { in_flight: null, claim_token: null, due_at: null },
    ])
    expect(await w.query('select 1 from wakeful.leases')).toEqual([])
  })

  it('rule 15: a failing turn gets its event, and is tried again at the head of its session', async () => {
    const { w, timer } = await opened((turn) => {
      if (turn.attempt < 3) throw new Error('not yet')
    })
    await timer('a')
    await w.advanceBy(10_000)
    expect(await w.query(LOG)).toMatchObject([
      { seq: 1, status: 'retrying', attempt: 1, late: false },
      { seq: 1, status: 'retrying', attempt: 2, late: false },
      { seq: 1, status: 'committed', attempt: 3, late: false },
    ])
  })

  it('invariants 1 and 3: a message amid the turn gives it its event; the turn is committed all the same', async () => {
    let go: () => void = () => undefined
    const seen: unknown[] = []
    const { w, timer } = await opened(async (turn) => {
      seen.push([turn.event.seq, turn.event.type, (await turn.history()).map(({ seq }) => seq)])
      if (turn.event.type === 'timer')
        await new Promise<void>((done) => {
          go = done
        })
      turn.say(`about ${turn.event.seq}`)
    })
    await timer('a')
    const advancing = w.advanceBy(1_000)
    await until('the turn runs', () => seen.length === 1)
    await w.call('post_message', { session_key: KEY, text: 'hi' })
    expect(await w.query(LOG)).toMatchObject([
      { seq: 1, timer: 'a', status: null },
      { seq: 2, type: 'user_message', status: null },
    ])
    go()
    await advancing
    await w.settle()
    expect(seen).toEqual([
      [1, 'timer', [1]],
      [2, 'user_message', [1, 2]],
    ])
    expect(await w.query(LOG)).toMatchObject([
      { seq: 1, status: 'committed', attempt: 1, late: false },
      { seq: 2, status: 'committed', attempt: 1, late: false },
    ])
    expect(
      await w.query(`select payload ->> 'content' as text from wakeful.effects order by position`),
    ).toEqual([{ text: 'about 1' }, { text: 'about 2' }])
  })

  it('invariant 10: a timer that is cancelled amid its turn says nothing, and its session goes on', async () => {
    const cancel = `update wakeful.autonomy_timers set status = 'cancelled' where timer_id = 'a'`
    const { w, timer } = await opened(async (turn) => {
      if (turn.event.type === 'timer') await w.query(cancel)
      turn.say(`about ${turn.event.type}`)
    })
    await timer('a')
    await w.advanceBy(1_000)
    expect(await w.query(LOG)).toEqual([])
    expect(await w.query('select 1 from wakeful.effects')).toEqual([])
    await w.call('post_message', { session_key: KEY, text: 'hi' })
    await w.settle()
    expect(await w.query(LOG)).toMatchObject([{ seq: 1, status: 'committed' }])
  })

  it('an agent that takes long gets its event while it runs', async () => {
    let go: () => void = () => undefined
    const { w, timer } = await opened(
      () =>
        new Promise<void>((done) => {
          go = done
        }),
    )
    await timer('a')
    const advancing = w.advanceBy(1_000)
    await until('its event is there', async () => (await w.query(LOG)).length === 1)
    expect(await w.query('select 1 from wakeful.autonomy_timers')).toEqual([])
    await until(
      'nothing is in flight',
      async () => (await w.query('select 1 from wakeful.leases')).length === 0,
    )
    go()
    await advancing
    expect(await w.query(LOG)).toMatchObject([{ seq: 1, status: 'committed', attempt: 1 }])
  })
})
