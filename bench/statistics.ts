/**
 * What old statistics do to the hot statements: the same work after the tables were analysed while empty, with nothing
 * due, and with everything due. The figures of one run must lie close together. `node --import tsx bench/statistics.ts`
 */
import { randomUUID } from 'node:crypto'
import { agent } from '../src/agents/function.ts'
import { newId } from '../src/core/ids.ts'
import { parseSessionKey, type SessionRef } from '../src/core/session.ts'
import { claimTurns } from '../src/features/sessions/rows.ts'
import { promoteTimers } from '../src/features/timers/rows.ts'
import { commitTurns } from '../src/kernel/commit.ts'
import { openBenchApp, postgres, report } from './stage.ts'

const SESSIONS = 20_000
const POLICY = { autonomy: true, maxConsecutive: 1_000_000, cooldownMs: 0 }
const noop = agent((turn) => {
  turn.say('one')
  turn.say('two')
})
const server = await postgres()
const app = await openBenchApp(server.url, { noop }, { WAKEFUL_SERVICES: 'http' })
await app.start()
const { db } = app.store

function session(n: number): SessionRef {
  const found = parseSessionKey(`user${n}:noop:t`)
  if (found === null) throw new Error('not a session key')
  return found
}
const all = Array.from({ length: SESSIONS }, (_, n) => session(n))

async function seed(timerId: string): Promise<void> {
  for (let start = 0; start < all.length; start += 5000) {
    const part = all.slice(start, start + 5000)
    const columns = [part.map((s) => s.bucket), part.map((s) => s.key), part.map((s) => s.userId)]
    await db.query(
      `insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, created_at, updated_at)
       select bucket, key, name, 'noop', 't', now(), now()
       from unnest($1::smallint[], $2::text[], $3::text[]) s(bucket, key, name) on conflict do nothing`,
      columns,
    )
    await db.query(
      `insert into wakeful.autonomy_timers (bucket, session_key, id, timer_id, fire_at, status, created_at, updated_at)
       select bucket, key, gen_random_uuid(), $3, now(), 'pending', now(), now()
       from unnest($1::smallint[], $2::text[]) s(bucket, key)`,
      [columns[0], columns[1], timerId],
    )
  }
}

async function turns(limit: number): Promise<{ claimMs: number; commitMs: number; did: number }> {
  const token = randomUUID()
  const began = performance.now()
  const { turns: claims } = await claimTurns(db, limit, 30_000, token, ['noop'])
  const claimed = performance.now()
  const finished = claims.map((claim) => {
    const checkpointId = newId()
    const point = {
      threadId: claim.session_key,
      ns: '',
      id: checkpointId,
      parentId: null,
      type: 'state',
      checkpoint: '{}',
      metadata: {},
    }
    const wishes = [
      { type: 'send_message', content: 'one' },
      { type: 'send_message', content: 'two' },
    ] as const
    return {
      claim,
      token,
      failure: null,
      withdrawn: false,
      result: { wishes, checkpointId, points: [point] },
    }
  })
  if (finished.length > 0)
    await commitTurns(app.store.commits, finished, { policy: POLICY, triggers: new Map() })
  return { claimMs: claimed - began, commitMs: performance.now() - claimed, did: claims.length }
}

async function cycle(name: string): Promise<void> {
  const began = performance.now()
  while ((await promoteTimers(db, 1000)).events.length > 0);
  const promoted = performance.now()
  let claimMs = 0
  let commitMs = 0
  for (let did = 1; did > 0; ) {
    const round = await turns(500)
    claimMs += round.claimMs
    commitMs += round.commitMs
    did = round.did
  }
  const each = (ms: number) => (ms * 1000) / SESSIONS
  report(name, {
    'promote µs': each(promoted - began),
    'claim µs': each(claimMs),
    'commit µs': each(commitMs),
  })
}

try {
  await seed('a')
  await cycle('no statistics')
  await db.exec('analyze')
  await seed('b')
  await cycle('none due')
  await db.exec('vacuum analyze')
  await seed('c')
  await cycle('none due, vacuumed')
  await seed('d')
  await db.exec('analyze')
  await cycle('all due')
} finally {
  await app.stop()
  await server.stop()
}
