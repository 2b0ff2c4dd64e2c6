/** Invariants 1 and 4: of a burst each timer fires once, gaplessly and in the order of the instants, also by several clocks. */
import { expect, it } from 'vitest'
import { newId } from '../../src/core/ids.ts'
import { bucketOf } from '../../src/core/session.ts'
import { claimTurns } from '../../src/features/sessions/rows.ts'
import { promoteTimers } from '../../src/features/timers/rows.ts'
import { timerTrigger } from '../../src/features/timers/trigger.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'

const USERS = 150
const EACH = 8
const BATCH = 40
const PENDING = `select 1 from wakeful.autonomy_timers where status = 'pending' limit 1`

eachStore('lanes', (store) => {
  it.each([1, 4])(
    'with %i clocks beside others who hold the sessions now and then',
    async (clocks) => {
      const w = await world(store, {})
      const users = Array.from({ length: USERS }, (_, n) => `user${n}`)
      const columns = [users.map(bucketOf), users]
      await w.query(
        `insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, created_at, updated_at)
       select bucket, name || ':bot:t', name, 'bot', 't', now(), now() from unnest($1::smallint[], $2::text[]) u(bucket, name)`,
        columns,
      )
      // All of them due, those of one session far apart in the order of everybody's.
      await w.query(
        `insert into wakeful.autonomy_timers (bucket, session_key, id, timer_id, fire_at, status, created_at, updated_at)
       select bucket, name || ':bot:t', gen_random_uuid(), 'n' || k, timestamptz '2025-01-01' + k * interval '1 hour' + ord * interval '1 second',
         'pending', now(), now()
       from unnest($1::smallint[], $2::text[]) with ordinality u(bucket, name, ord), generate_series(1, ${EACH}) k`,
        columns,
      )
      const lane = async () => {
        let promoted = 0
        // One that is taken again and again would never end.
        for (let pending = 1; pending > 0 && promoted <= USERS * EACH; ) {
          promoted += (await promoteTimers(w.app.store.engine, BATCH)).events.length
          pending = (await w.query(PENDING)).length
        }
        return promoted
      }
      // As a turn that commits or a message that comes in does: a clock meets it at one timer of a session, and not at the next.
      let over = store.name === 'pglite'
      const holder = async () => {
        while (!over) {
          await w.app.store.commits.tx((tx) =>
            tx.query('select 1 from wakeful.sessions for update'),
          )
          await new Promise((done) => setImmediate(done))
        }
      }
      const holding = holder()
      const lanes = await Promise.all(Array.from({ length: clocks }, lane))
      over = true
      await holding
      expect(lanes.reduce((sum, promoted) => sum + promoted, 0)).toBe(USERS * EACH)
      const sessions = await w.query<{ seqs: number[]; ids: string[] }>(
        `select array_agg(seq order by seq) as seqs, array_agg(payload ->> 'timer_id' order by seq) as ids
       from wakeful.events group by session_key`,
      )
      const places = Array.from({ length: EACH }, (_, n) => n + 1)
      const names = places.map((n) => `n${n}`)
      expect(sessions).toHaveLength(USERS)
      for (const { seqs, ids } of sessions) {
        expect(seqs).toEqual(places)
        expect(ids).toEqual(names)
      }
    },
  )

  it('invariant 14: who becomes due amid a burst is in the next batch, unless an earlier timer of its session waits', async () => {
    const w = await world(store, {})
    const due = async (user: string, minutes: number) => {
      const ref = [bucketOf(user), user]
      await w.query(
        `insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, created_at, updated_at)
         values ($1, $2 || ':bot:t', $2, 'bot', 't', now(), now()) on conflict do nothing`,
        ref,
      )
      await w.query(
        `insert into wakeful.autonomy_timers (bucket, session_key, id, timer_id, fire_at, status, created_at, updated_at)
         values ($1, $2 || ':bot:t', gen_random_uuid(), 'at ' || $3::int, timestamptz '2025-01-01' + $3::int * interval '1 minute', 'pending', now(), now())`,
        [...ref, minutes],
      )
    }
    for (let n = 0; n < USERS; n++) await due(`burst${n}`, n)
    await due('late', 500)
    await due('burst100', 501)
    const { engine } = w.app.store
    const lent = {
      places: BATCH,
      leaseMs: 30_000,
      token: newId(),
      agentIds: ['bot'],
    }
    const { turns = [], promoted, more } = await timerTrigger.promote(engine, true, lent)
    expect([promoted, more]).toEqual([BATCH, true])
    const keys = turns.map((turn) => turn.session_key)
    expect(keys).toContain('late:bot:t')
    expect(keys).not.toContain('burst100:bot:t')
    // The same where sessions wait for a turn: the one that came last is not behind all the others.
    await promoteTimers(engine, USERS * 2)
    await w.query(
      `update wakeful.sessions set due_at = due_at - interval '1 millisecond' where session_key <> 'burst100:bot:t'`,
    )
    const claimed = await claimTurns(engine, 1, 30_000, newId(), ['bot'], {
      first: 'newest',
    })
    expect(claimed.turns.map((turn) => turn.session_key)).toEqual(['burst100:bot:t'])
  })
})
