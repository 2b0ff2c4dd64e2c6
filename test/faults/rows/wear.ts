/** What only shows after a while: an old snapshot that keeps rows from being cleared away, and a store that clears by itself. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import pg from 'pg'
import { claimTurns } from '../../../src/features/sessions/rows.ts'
import { prunerService } from '../../../src/kernel/pruner.ts'
import { releaseClaims, SESSIONS } from '../../../src/store/due.ts'
import { openStore } from '../../../src/store/open.ts'
import { must, Stopwatch } from '../measure.ts'
import type { Ground } from '../row.ts'
import { keysOf, World } from '../world.ts'

const TIMERS = 4000
const SLOWER_MAX = 3

/** How long a batch of timers takes from being there to being done. */
async function drain(world: World, name: string): Promise<number> {
  const watch = new Stopwatch()
  await world.timers(keysOf(400, name), 0, TIMERS / 400)
  await world.settled()
  return watch.ms
}

export async function longReader(ground: Ground, batches: number): Promise<void> {
  const world = await World.on(ground, {
    url: await ground.database(),
    env: { WAKEFUL_LEASE_MS: '30000' },
  })
  await world.join()
  await drain(world, 'warm')
  const before = await drain(world, 'before')
  const reader = new pg.Client({ connectionString: world.direct })
  await reader.connect()
  await reader.query('begin isolation level repeatable read')
  await reader.query('select count(*) from wakeful.sessions')
  const during: number[] = []
  for (let n = 0; n < batches; n++) during.push(await drain(world, `during${n}x`))
  await reader.query('rollback')
  await reader.end()
  const last = during.at(-1) ?? before
  ground.say(
    `${TIMERS} timers took ${before} ms, with an open snapshot and ${batches * TIMERS} done in it ${last} ms`,
  )
  must('no more than three times as long', last < SLOWER_MAX * before + 500)
  await world.check()
}

/** Claims and releases of a thousand sessions again and again: every one rewrites rows. */
export async function embeddedWear(ground: Ground, rounds: number): Promise<void> {
  const store = await openStore(`pglite:${join(ground.folder(), 'data')}`, {
    now: () => null,
    onError: () => undefined,
  })
  try {
    const { db } = store
    await db.query(
      `insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, last_seq, due_at, created_at, updated_at)
       select 7, 'u' || n || ':bot:t', 'u' || n, 'bot', 't', 1, now(), now(), now() from generate_series(1, 1000) n`,
    )
    await db.query(
      `insert into wakeful.events (bucket, session_key, seq, id, type, payload, created_at)
       select 7, 'u' || n || ':bot:t', 1, gen_random_uuid(), 'user_message', '{}', now() from generate_series(1, 1000) n`,
    )
    const prune = prunerService({ db, retention: { checkpointsKept: 5, keepMs: null } })
    const size = async () => {
      const [row] = await db.query<{ bytes: number }>(
        `select pg_total_relation_size('wakeful.sessions') as bytes`,
      )
      return Number(row?.bytes)
    }
    const sizes: number[] = []
    let claims = 0
    for (let round = 0; round < rounds; round++) {
      const token = randomUUID()
      const { turns } = await claimTurns(db, 1000, 30_000, token, ['bot'])
      claims += turns.length
      await releaseClaims(
        db,
        SESSIONS,
        turns.map(({ bucket, session_key: key }) => ({ bucket, key, token })),
      )
      if (round % 20 === 19) {
        await prune.tick()
        sizes.push(await size())
      }
    }
    const [first = 0] = sizes
    const last = sizes.at(-1) ?? 0
    ground.say(
      `after ${claims} claims the sessions take ${Math.round(last / 1024)} KiB, after the first ${(20 * 1000).toLocaleString('en')} it was ${Math.round(first / 1024)}`,
    )
    must('each round claimed all', claims === rounds * 1000)
    must('the size is bounded', last <= 2 * first)
  } finally {
    await store.close()
  }
}
