/** Invariant 12: one user's data is never visible to another, also where a query forgets to ask whose it is. */
import pg from 'pg'
import { describe, expect, inject, it } from 'vitest'
import { newId } from '../../src/core/ids.ts'
import { writeAudit } from '../../src/features/identity/audit-rows.ts'
import { appendEvents } from '../../src/features/sessions/event-rows.ts'
import { putTimer } from '../../src/features/timers/rows.ts'
import type { Db } from '../../src/store/db.ts'
import { migrateUp } from '../../src/store/migrate.ts'
import { ownedBy, readingOf } from '../../src/store/owned.ts'
import { eachStore } from '../setup/stores.ts'
import { ref } from '../setup/worlds.ts'
import { bareStore, emptyDatabase, rawStore } from '../store/stores.ts'

/** What belongs to no owner, and why. Every other table must keep owners apart. */
const UNOWNED: Record<string, string> = {
  agent_minutes: 'as source_polls: turns that an agent has begun, counted over everybody',
  agents: 'the operator’s, for all or for one; only admin and service reach them',
  channel_readers: 'where the reading of a bot stands',
  hooks: 'as agents; owners have no rights on it at all',
  shards: 'whose rows are where; owners have no rights on it at all',
  migrations: 'the state of the schema',
  settings: "the installation's own",
  api_keys: 'read before there is an owner; owners have no rights on it at all',
  auth_challenges: 'as api_keys',
  tickets: 'as api_keys',
  leases: 'as source_polls: which sessions a process has in hand',
  mcp_sources: 'as source_polls',
  source_polls: "the installation's own; owners have no rights on it at all",
  stops: 'of everybody; owners have no rights on it at all',
}
const HOW =
  'is no owned table yet: copy a line of migrations/0001_baseline.up.sql into its migration, or say in this test why it has no owner'

const message = (key: string) => ({
  session: ref(key),
  id: newId(),
  type: 'user_message' as const,
  payload: '{"text":"hello"}',
  clientId: null,
})

/** Rows of every kind, for one user. */
async function furnish(db: Db, user: string): Promise<void> {
  const session = ref(`${user}:bot:t`)
  await appendEvents(db, [message(session.key)])
  const timer = { id: newId(), timerId: 'tea', fireAt: null, delayMs: 1e6, payload: null }
  await putTimer(db, session, timer)
  const { bucket, key } = session
  const intent = newId()
  const work = newId()
  const subscription = newId()
  const at = '2026-01-01T00:00:00Z'
  const rows: [string, unknown[]][] = [
    [
      `insert into wakeful.attempts (bucket, session_key, event_seq, attempt, event_id, status, started_at, finished_at)
       values ($1, $2, 1, 1, $3, 'committed', $4, $4)`,
      [bucket, key, newId(), at],
    ],
    [
      `insert into wakeful.effects (bucket, session_key, position, id, checkpoint_id, type, payload, dedupe_key, status, channel,
         event_seq, reason, created_at, updated_at)
       values ($1, $2, 1000, $3, 'c', 'send_message', '{}', 'd', 'completed', 'websocket', 1, 'answer', $4, $4)`,
      [bucket, key, newId(), at],
    ],
    [
      `insert into wakeful.checkpoints (bucket, thread_id, checkpoint_id, checkpoint, created_at) values ($1, $2, 'c', '{}', $3)`,
      [bucket, key, at],
    ],
    [
      `insert into wakeful.checkpoint_blobs (bucket, thread_id, channel, version, type) values ($1, $2, 'c', '1', 'json')`,
      [bucket, key],
    ],
    [
      `insert into wakeful.checkpoint_writes (bucket, thread_id, checkpoint_id, task_id, idx, channel, blob)
       values ($1, $2, 'c', 't', 0, 'c', '')`,
      [bucket, key],
    ],
    [
      `insert into wakeful.alarms (bucket, id, owner_did, user_id, kind, fire_at, anchor_at, next_fire_at, scheduled_for, due_at,
         delivery_id, created_at, updated_at)
       values ($1, $2, $3, $4, 'once', $5, $5, $5, $5, $5, $2, $5, $5)`,
      [bucket, newId(), `did:matrix:${user}:0000000000000000`, user, at],
    ],
    [
      `insert into wakeful.people (bucket, user_id, created_at) values ($1, $2, $3) on conflict do nothing`,
      [bucket, user, at],
    ],
    [
      `insert into wakeful.scheduled_intents (bucket, id, user_id, intent_name, trigger_type, action_context, created_at, updated_at, anchor_at)
       values ($1, $2, $3, 'n', 'cron', 'c', $4, $4, $4)`,
      [bucket, intent, user, at],
    ],
    [
      `insert into wakeful.intent_watches (bucket, intent_id, kind, key, user_id) values ($1, $2, 'price', 'X', $3)`,
      [bucket, intent, user],
    ],
    [
      `insert into wakeful.intent_used (bucket, intent_id, key, user_id, used_at) values ($1, $2, 'k', $3, $4)`,
      [bucket, intent, user, at],
    ],
    [
      `insert into wakeful.intent_executions (bucket, id, intent_id, user_id, executed_at, trigger_type, status)
       values ($1, $2, $3, $4, $5, 'cron', 'success')`,
      [bucket, newId(), intent, user, at],
    ],
    [
      `insert into wakeful.work (bucket, id, task, agent_type, user_id, frequency, anchor_at, is_active, created_at, updated_at)
       values ($1, $2, 't', 'report', $3, 'once', $4, false, $4, $4)`,
      [bucket, work, user, at],
    ],
    [
      `insert into wakeful.work_outputs (bucket, id, work_id, user_id, run_number, event_id, scheduled_for, created_at, updated_at)
       values ($1, $2, $3, $4, 1, $5, $6, $6, $6)`,
      [bucket, newId(), work, user, newId(), at],
    ],
    [
      `insert into wakeful.alarm_wakes (bucket, delivery_id, alarm_id, user_id, name, scheduled_for, attempts, status, created_at, finished_at)
       values ($1, $2, $3, $4, 'n', $5, 1, 'taken', $5, $5)`,
      [bucket, newId(), newId(), user, at],
    ],
    [
      `insert into wakeful.deferred (bucket, id, user_id, session_key, event_seq, kind, scheduled_for, name, payload, reason, timed, critical,
         held, rule, release_at, deferred_at, updated_at)
       values ($1, $2, $3, $4, 1, 'alarm', $5, 'n', '{}', 'promise', true, false, true, 'paused', $5, $5, $5)`,
      [bucket, newId(), user, key, at],
    ],
    [
      `insert into wakeful.questions (bucket, id, user_id, session_key, event_seq, text, options, created_at, updated_at)
       values ($1, $2, $3, $4, 1, 'Send it?', '["Yes","No"]', $5, $5)`,
      [bucket, newId(), user, key, at],
    ],
    [
      `insert into wakeful.budgets (bucket, user_id, agent_id, day, updated_at) values ($1, $2, 'bot', $3::date, $4)`,
      [bucket, user, at.slice(0, 10), at],
    ],
    [
      `insert into wakeful.missed (bucket, id, user_id, kind, trigger_id, name, scheduled_for, last_for, slots, missed_at)
       values ($1, $2, $3, 'alarm', $2, 'n', $4, $4, 1, $4)`,
      [bucket, newId(), user, at],
    ],
    [
      `insert into wakeful.slot_marks (bucket, id, user_id, updated_at) values ($1, $2, $3, $4)`,
      [bucket, newId(), user, at],
    ],
    [
      `insert into wakeful.links (bucket, id, user_id, session_key, channel, address, person, rank, created_at, updated_at)
       values ($1, $2, $3, $4, 'telegram', $3, true, 10, $5, $5)`,
      [bucket, newId(), user, `${user}:bot:t`, at],
    ],
    [
      `insert into wakeful.langgraph_crons (bucket, id, owner_did, user_id, assistant_id, schedule, payload, metadata, created_at, updated_at)
       values ($1, $2, 'd', $3, 'bot', '0 9 * * *', '{}', '{}', $4, $4)`,
      [bucket, newId(), user, at],
    ],
    [
      `insert into wakeful.deliveries (bucket, session_key, position, id, link_id, channel, outcome, created_at)
       values ($1, $2, 1000, $3, $3, 'telegram', 'sent', $4)`,
      [bucket, `${user}:bot:t`, newId(), at],
    ],
    [
      `insert into wakeful.link_codes (code_hash, bucket, session_key, channel, person, expires_at, created_at)
       values ($1, $2, $3, 'telegram', true, $4, $4)`,
      [newId(), bucket, `${user}:bot:t`, at],
    ],
    [
      `insert into wakeful.subscriptions (bucket, id, user_id, principal, name, arguments, url, secret, cursor, created_at, updated_at)
       values ($1, $2, $3, $3, 'alarm.due', '{}', 'https://there.example', 's', 'c', $4, $4)`,
      [bucket, subscription, user, at],
    ],
    [
      `insert into wakeful.subscription_deliveries (bucket, id, subscription_id, user_id, event_id, body, due_at, created_at)
       values ($1, $2, $3, $4, 'e', '{}', $5, $5)`,
      [bucket, newId(), subscription, user, at],
    ],
    [
      `insert into wakeful.signals (id, kind, user_id, key, fact, payload, at, created_at) values ($1, 'price', $2, 'X', $3, '{}', $4, $4)`,
      [newId(), user, newId(), at],
    ],
    [
      `insert into wakeful.idempotency_keys (owner, key, fingerprint, created_at) values ($1, 'k1', 'f', $2)`,
      [`did:matrix:${user}:00000000000000ff`, at],
    ],
    [
      `insert into wakeful.idempotency_keys (owner, key, fingerprint, created_at) values ($1, 'k2', 'f', $2)`,
      [`user:${user}`, at],
    ],
  ]
  for (const [text, values] of rows) await db.query(text, values)
}

const ownedTables = async (db: Db) =>
  (
    await db.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'wakeful' order by 1`,
    )
  )
    .map((row) => row.name)
    .filter((name) => !(name in UNOWNED) && name !== 'audit_log')

eachStore('invariant 12: row-level security', (store) => {
  it('is forced on every table, with a policy for owners and one for the engine', async () => {
    const { db } = await bareStore(await store.database())
    const rows = await db.query<{ name: string; forced: boolean; policies: string[] }>(
      `select c.relname as name, c.relrowsecurity and c.relforcerowsecurity as forced,
         array(select p.policyname::text from pg_policies p
               where p.schemaname = 'wakeful' and p.tablename = c.relname) as policies
       from pg_class c where c.relnamespace = 'wakeful'::regnamespace and c.relkind in ('r', 'p')`,
    )
    expect(rows.length).toBeGreaterThan(20)
    for (const { name, forced, policies } of rows) {
      if (name in UNOWNED) continue
      expect(forced, `${name} ${HOW}`).toBe(true)
      expect(policies, `${name} ${HOW}`).toEqual(expect.arrayContaining(['owner', 'engine']))
    }
  })

  it('bites when a query does not ask whose rows they are, in every owned table', async () => {
    const { db } = await bareStore(await store.database())
    await furnish(ownedBy(db, 'ann'), 'ann')
    await furnish(ownedBy(db, 'bea'), 'bea')
    const count = async (on: Db, table: string) =>
      (await on.query<{ n: number }>(`select count(*)::int as n from wakeful.${table}`))[0]?.n ?? 0
    const tables = await ownedTables(db)
    expect(tables.length).toBeGreaterThanOrEqual(18)
    for (const table of tables) {
      const all = await count(db, table)
      expect(all, `no row in ${table}: furnish it, in this test`).toBeGreaterThanOrEqual(2)
      expect(await count(ownedBy(db, 'ann'), table), table).toBe(all / 2)
      expect(await count(ownedBy(db, 'nobody'), table), table).toBe(0)
    }
    // What many ask together shares round trips, and sees no more for that.
    const asked = tables.flatMap((table) =>
      ['ann', null, 'bea', 'nobody'].map((who) => ({ table, who })),
    )
    const counted = await Promise.all(
      asked.map(({ table, who }) => {
        const on = who === null ? db : ownedBy(db, who)
        return count(readingOf(on) ?? on, table)
      }),
    )
    for (const [at, { table, who }] of asked.entries()) {
      const all = await count(db, table)
      const seen = who === null ? all : who === 'nobody' ? 0 : all / 2
      expect(counted[at], `${table} for ${who}`).toBe(seen)
    }
    const rows = await ownedBy(db, 'ann').query<{ user_id: string }>(
      'select user_id from wakeful.sessions',
    )
    expect(rows).toEqual([{ user_id: 'ann' }])
  })

  it('refuses to write what is another owner’s, and changes none of theirs', async () => {
    const { db } = await bareStore(await store.database())
    await furnish(db, 'ann')
    await furnish(db, 'bea')
    const ann = ownedBy(db, 'ann')
    await expect(appendEvents(ann, [message('bea:bot:t')])).rejects.toMatchObject({ code: '42501' })
    await expect(appendEvents(ann, [message('bea:bot:new')])).rejects.toMatchObject({
      code: '42501',
    })
    await expect(ann.query(`update wakeful.sessions set user_id = 'bea'`)).rejects.toMatchObject({
      code: '42501',
    })
    // What has happened to her is not hers to change, either.
    for (const change of ['update wakeful.events set seq = seq', 'delete from wakeful.events'])
      await expect(ann.query(change), change).rejects.toMatchObject({ code: '42501' })
    const ended = await ann.query(
      `update wakeful.autonomy_timers set status = 'cancelled' returning session_key`,
    )
    expect(ended).toEqual([{ session_key: 'ann:bot:t' }])
    for (const table of await ownedTables(db)) {
      const before = await db.query<{ n: number }>(
        `select count(*)::int as n from wakeful.${table}`,
      )
      const deleted = ownedBy(db, 'cat').query(`delete from wakeful.${table}`)
      // Of events nobody may delete, not even their own.
      if (table === 'events') await expect(deleted).rejects.toMatchObject({ code: '42501' })
      else await deleted
      const after = await db.query<{ n: number }>(`select count(*)::int as n from wakeful.${table}`)
      expect(after, table).toEqual(before)
    }
  })

  it('shows signals for everybody to everybody, and lets no owner write one', async () => {
    const { db } = await bareStore(await store.database())
    const insert = `insert into wakeful.signals (id, kind, user_id, key, fact, payload, at, created_at)
      values ($1, 'price', null, 'X', 'f', '{}', now(), now())`
    await db.query(insert, [newId()])
    const ann = ownedBy(db, 'ann')
    expect(await ann.query('select key from wakeful.signals')).toEqual([{ key: 'X' }])
    await expect(ann.query(insert, [newId()])).rejects.toMatchObject({ code: '42501' })
    expect(await ann.query('delete from wakeful.signals returning 1')).toEqual([])
  })

  it('gives owners no way to keys, tickets, settings, or what the audit log says', async () => {
    const { db } = await bareStore(await store.database())
    const ann = ownedBy(db, 'ann')
    for (const table of [...Object.keys(UNOWNED), 'audit_log'])
      await expect(ann.query(`select 1 from wakeful.${table}`), table).rejects.toMatchObject({
        code: '42501',
      })
    const head = { keyId: 'k', role: 'user', userId: 'ann', actedFor: false, operation: 'o' }
    const entry = { ...head, requestId: 'r', summary: '', objectId: null }
    await writeAudit(ann, [{ ...entry, owner: 'ann' }])
    await expect(writeAudit(ann, [{ ...entry, owner: 'bea' }])).rejects.toMatchObject({
      code: '42501',
    })
  })

  it('does not outlive its transaction, also after an error', async () => {
    const { db } = await bareStore(await store.database())
    const who = `select current_user::text as role, current_setting('wakeful.owner', true) as owner`
    expect(await ownedBy(db, "o'hara").query(who)).toEqual([
      { role: 'wakeful_owner', owner: "o'hara" },
    ])
    await expect(ownedBy(db, 'ann').query('select 1/0')).rejects.toMatchObject({ code: '22012' })
    for (const [row] of await Promise.all(
      Array.from({ length: 10 }, () => db.query<{ role: string; owner: string | null }>(who)),
    )) {
      expect(row?.role).toBe('postgres')
      expect(row?.owner ?? '').toBe('')
    }
  })
})

/** A database of a login that is no superuser. */
async function modestDatabase(rights: string): Promise<{ url: string; user: string }> {
  const url = new URL(await emptyDatabase())
  const user = `u_${newId().replaceAll('-', '')}`
  const admin = new pg.Client({ connectionString: `${inject('postgres')}/postgres` })
  await admin.connect()
  await admin.query(`create role ${user} login password 'p' ${rights}`)
  await admin.query(`alter database ${url.pathname.slice(1)} owner to ${user}`)
  await admin.end()
  url.username = user
  url.password = 'p'
  return { url: url.href, user }
}

describe('a database user that is no superuser', () => {
  it('is told what an administrator must run, and can work once it was run', async () => {
    const { url, user } = await modestDatabase('')
    const { db } = await rawStore(url)
    await expect(migrateUp(db)).rejects.toThrow(`grant wakeful_owner, wakeful_engine to "${user}";`)
    const admin = new pg.Client({ connectionString: `${inject('postgres')}/postgres` })
    await admin.connect()
    await admin.query(`grant wakeful_owner, wakeful_engine to "${user}"`)
    await admin.end()
    expect((await migrateUp(db)).at(-1)).toContain('_')
    // It owns the tables, and FORCE holds it all the same: as engine it sees everything, as an owner its own.
    await furnish(db, 'ann')
    await furnish(ownedBy(db, 'bea'), 'bea')
    const seen = 'select user_id from wakeful.sessions order by 1'
    expect(await db.query(seen)).toEqual([{ user_id: 'ann' }, { user_id: 'bea' }])
    expect(await ownedBy(db, 'bea').query(seen)).toEqual([{ user_id: 'bea' }])
  })

  it('several databases of one server that migrate at once agree on the roles', async () => {
    const stores = await Promise.all(
      Array.from({ length: 4 }, async () => rawStore(await emptyDatabase())),
    )
    const done = await Promise.all(stores.map(({ db }) => migrateUp(db)))
    for (const names of done) expect(names).toContain('0001_baseline')
  })
})
