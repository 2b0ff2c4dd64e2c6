/** Invariants 1 and 4: timers promoted in several lanes side by side fire once, and in each session in their order. */
import { expect, it } from 'vitest'
import { newId } from '../../src/core/ids.ts'
import { bucketOf } from '../../src/core/session.ts'
import { promoteTimers } from '../../src/store/timers.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'

const USERS = 150
const EACH = 8
const LANES = 4
const BATCH = 40

eachStore('lanes', (store) => {
  it('of a burst, each session gets its timers once, gaplessly, soonest first', async () => {
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
      for (let seen = 1; seen > 0; ) {
        const ids = Array.from({ length: BATCH }, newId)
        const row = await promoteTimers(w.app.store.engine, ids)
        promoted += row.promoted
        seen = row.seen
      }
      return promoted
    }
    const lanes = await Promise.all(Array.from({ length: LANES }, lane))
    // Another lane may hold the last ones when this one finds nothing.
    expect(lanes.reduce((sum, promoted) => sum + promoted, await lane())).toBe(USERS * EACH)
    const wrong = await w.query(
      `select session_key from wakeful.events group by session_key
       having array_agg(payload ->> 'timer_id' order by seq) <> array_agg('n' || seq order by seq) or count(*) <> ${EACH}`,
    )
    expect(wrong).toEqual([])
  })
})
