/** Wakeful as anybody runs it: one process with all services, agents that are plain functions. */
import { agent } from '../../src/agents/function.ts'
import type { App } from '../../src/app/app.ts'
import { bucketOf } from '../../src/core/session.ts'
import { migrateUp } from '../../src/store/migrate.ts'
import { openBenchApp } from '../stage.ts'
import { contest, type Job, type Setup } from './contest.ts'

/** Sessions that the light load is spread over, as many as sockets listen. */
const LIGHT_SESSIONS = 50
const CHATTY_MESSAGES = 20
const SEED_ROWS = 5_000
const FREELY = { AUTONOMY_MAX_CONSECUTIVE: '1000000', AUTONOMY_COOLDOWN_MS: '0' }

const LEFT = `exists (select from wakeful.sessions where due_at is not null) or exists (select from wakeful.leases)
  or exists (select from wakeful.autonomy_timers where status = 'pending' and fire_at < now() + interval '1 day')`
const UNACKNOWLEDGED = `exists (select from wakeful.effects where status <> 'completed')`

let app: App | undefined
let left = LEFT
let entered: (due: number) => void = () => undefined

/** The timer's payload as the turn sees it. */
function due(payload: unknown): number {
  return (payload as { payload?: { due?: number } } | null)?.payload?.due ?? 0
}

const silent = agent((turn) => entered(due(turn.event.payload)))

const agents = {
  silent,
  /** All of one person. */
  greedy: silent,
  two: agent((turn) => {
    entered(due(turn.event.payload))
    turn.say('one')
    turn.say('two')
  }),
  light: agent((turn) => {
    const at = due(turn.event.payload)
    entered(at)
    turn.say(String(at))
  }),
  chatty: agent((turn) => {
    entered(due(turn.event.payload))
    for (let n = 0; n < CHATTY_MESSAGES; n++) turn.say(`message ${n}`)
  }),
}

const open = ({ url, env }: Setup) => openBenchApp(url, agents, { ...FREELY, ...env })

function sessionOf(kind: string, n: number): { user: string; thread: string } {
  if (kind === 'greedy') return { user: kind, thread: `t${n}` }
  return { user: kind === 'light' ? `light${n % LIGHT_SESSIONS}` : `${kind}${n}`, thread: 't' }
}

/** By plain SQL: what is measured begins when they become due. */
async function insert({ store: { db } }: App, jobs: readonly Job[], start: number): Promise<void> {
  const rows = jobs.map(({ kind, due }, index) => {
    const n = start + index
    return { ...sessionOf(kind, n), kind, due, n }
  })
  const columns = [
    rows.map(({ user }) => bucketOf(user)),
    rows.map(({ user }) => user),
    rows.map(({ thread }) => thread),
  ]
  const kinds = rows.map(({ kind }) => kind)
  await db.query(
    `insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, created_at, updated_at)
     select bucket, name || ':' || kind || ':' || thread, name, kind, thread, now(), now()
     from unnest($1::smallint[], $2::text[], $3::text[], $4::text[]) u(bucket, name, thread, kind) on conflict do nothing`,
    [...columns, kinds],
  )
  await db.query(
    `insert into wakeful.autonomy_timers (bucket, session_key, id, timer_id, fire_at, payload, status, created_at, updated_at)
     select bucket, name || ':' || kind || ':' || thread, gen_random_uuid(), 'n' || n, to_timestamp(due / 1000),
       json_build_object('due', due::bigint), 'pending', now(), now()
     from unnest($1::smallint[], $2::text[], $3::text[], $4::text[], $5::float8[], $6::int[]) u(bucket, name, thread, kind, due, n)`,
    [...columns, kinds, rows.map(({ due }) => due), rows.map(({ n }) => n)],
  )
}

await contest({
  async seed(setup, jobs) {
    const seeding = await open(setup)
    await migrateUp(seeding.store.migrations)
    for (let start = 0; start < jobs.length; start += SEED_ROWS)
      await insert(seeding, jobs.slice(start, start + SEED_ROWS), start)
    await seeding.store.db.exec('analyze')
    await seeding.stop()
  },
  async start(setup, seen) {
    entered = seen
    if (setup.loads[0]?.kind === 'chatty') left = `${LEFT} or ${UNACKNOWLEDGED}`
    app = await open(setup)
    const address = await app.listen()
    await app.start()
    return address
  },
  async left() {
    const [row] = (await app?.store.db.query<{ there: boolean }>(`select ${left} as there`)) ?? []
    return row?.there ?? true
  },
  async stop() {
    await app?.stop()
  },
})
