/** Conditions in statements that keep old, foreign or unfinished rows safe. Each test breaks when its condition is removed. */
import { expect, it } from 'vitest'
import {
  createCode,
  linkByCode,
  listLinks,
  makeLink,
} from '../../packages/channels/hub/src/link-rows.ts'
import { holdShard } from '../../packages/shards/src/move-rows.ts'
import { settleDeliveries } from '../../packages/subscriptions/src/delivery-rows.ts'
import { saveSubscription } from '../../packages/subscriptions/src/rows.ts'
import { newId } from '../../src/core/ids.ts'
import { bucketOf } from '../../src/core/session.ts'
import { insertKey, liveKeys } from '../../src/features/identity/key-rows.ts'
import { keepTicket, takeTickets } from '../../src/features/identity/once-rows.ts'
import { holdSessions, holdWakes } from '../../src/features/limits/stop-rows.ts'
import { insertQuestions } from '../../src/features/questions/rows.ts'
import { appendEvents } from '../../src/features/sessions/event-rows.ts'
import { writeProgress } from '../../src/features/work/slot-rows.ts'
import type { Db } from '../../src/store/db.ts'
import { pruneOlder } from '../../src/store/prune.ts'
import { eachStore } from '../setup/stores.ts'
import { ref } from '../setup/worlds.ts'
import { emptiedStore } from './stores.ts'

const DAY_MS = 86_400_000
const OLD = new Date('2026-01-01T00:00:00Z')
const NOW = new Date('2026-03-01T00:00:00Z')
const KEY = 'ann:bot:t'
const bucket = bucketOf('ann')
const AGED = { keepMs: DAY_MS, timersKeptMs: DAY_MS, archive: null }

const one = async (db: Db, text: string): Promise<Record<string, unknown>> => {
  const [row] = await db.query<Record<string, unknown>>(text)
  if (row === undefined) throw new Error(`no row: ${text}`)
  return row
}
const say = (db: Db) =>
  appendEvents(db, [
    {
      ...{ session: ref(KEY), id: newId(), type: 'user_message', clientId: null },
      payload: '{"text":"hello"}',
    },
  ])

eachStore('guards', (store) => {
  let at = OLD
  const open = async () => {
    at = OLD
    return (await emptiedStore(store, () => at)).db
  }
  const age = () => {
    at = NOW
  }

  it('retention keeps events that have had no turn, slots that wait and questions that are open', async () => {
    const db = await open()
    await say(db)
    await insertQuestions(db, [
      {
        ...{ bucket, id: newId(), user_id: 'ann', session_key: KEY, event_seq: 1 },
        ...{ text: 'Tea?', options: '["Yes"]', default_answer: null, until_at: null },
        ...{ payload: '{}', unattended: false, traceparent: null, lineage: null },
      },
    ])
    for (const [status, seq] of [
      ['waiting', 1],
      ['released', 2],
    ] as const)
      await db.query(
        `insert into wakeful.deferred (bucket, id, user_id, session_key, event_seq, kind, trigger_id, scheduled_for, name, payload, reason,
           timed, critical, held, rule, status, release_at, deferred_at, updated_at)
         values ($1, $2, 'ann', $3, $4, 'alarm', $2, $5, 'tea', '{}', 'promise', true, false, true, 'quiet_hours', $6, case $6 when 'waiting' then $5::timestamptz end, $5, $5)`,
        [bucket, newId(), KEY, seq, OLD, status],
      )
    age()
    await pruneOlder(db, AGED, 100)
    expect(await db.query('select seq from wakeful.events')).toEqual([{ seq: 1 }])
    expect(await db.query('select status from wakeful.deferred')).toEqual([{ status: 'waiting' }])
    expect(await db.query('select status from wakeful.questions')).toEqual([{ status: 'open' }])
    await db.query('update wakeful.sessions set done_seq = last_seq, due_at = null')
    await db.query(`update wakeful.questions set status = 'cancelled'`)
    await pruneOlder(db, AGED, 100)
    expect(await db.query('select 1 from wakeful.events')).toEqual([])
    expect(await db.query('select 1 from wakeful.questions')).toEqual([])
  })

  it('a delivery to a subscriber is put off or deleted only under its claim', async () => {
    const db = await open()
    const [id, subscription, token] = [newId(), newId(), newId()]
    await saveSubscription(db, {
      ...{ bucket, id: subscription, userId: 'ann', principal: 'ann', keyId: null },
      ...{ name: 'alarm.due', args: '{}', url: 'https://there.example', secret: 's' },
      ...{ cursor: '', expiresAt: null, oldSecretMs: 0 },
    })
    await db.query(
      `insert into wakeful.subscription_deliveries (bucket, id, subscription_id, user_id, event_id, body, due_at, claim_token, claimed_at, attempt, created_at)
       values ($1, $2, $3, 'ann', 'e', '{}', $4, $5, $4, 1, $4)`,
      [bucket, id, subscription, OLD, token],
    )
    const settle = (under: string, outcome: Parameters<typeof settleDeliveries>[1][0]['outcome']) =>
      db.tx((tx) => settleDeliveries(tx, [{ bucket, id, token: under, outcome }]))
    const state = () =>
      one(db, 'select claim_token, failure_count from wakeful.subscription_deliveries')
    const later = { type: 'later', waitMs: 1_000, error: 'timeout' } as const
    expect(await settle(newId(), later)).toEqual([false])
    expect(await settle(newId(), { type: 'taken' })).toEqual([false])
    expect(await state()).toEqual({ claim_token: token, failure_count: 0 })
    expect(await settle(token, later)).toEqual([true])
    expect(await state()).toEqual({ claim_token: null, failure_count: 1 })
  })

  it('a stop holds a session and a wake only under the claim it stopped', async () => {
    const db = await open()
    await say(db)
    const [token, alarm] = [newId(), newId()]
    await db.query(
      'update wakeful.sessions set claim_token = $1, claimed_at = $2, leased_until = $2, due_at = $2',
      [token, OLD],
    )
    await db.query(
      `insert into wakeful.alarms (bucket, id, owner_did, user_id, kind, fire_at, anchor_at, next_fire_at, scheduled_for, attempt, delivery_id,
         due_at, claim_token, claimed_at, created_at, updated_at)
       values ($1, $2, 'd', 'ann', 'once', $3, $3, $3, $3, 1, $2, $3, $4, $3, $3, $3)`,
      [bucket, alarm, OLD, token],
    )
    const held = async () => [
      (await one(db, 'select claim_token from wakeful.sessions')).claim_token,
      (await one(db, 'select claim_token from wakeful.alarms')).claim_token,
    ]
    const hold = async (under: string) => {
      await holdSessions(db, [{ bucket, key: KEY, token: under }])
      await holdWakes(db, [{ bucket, key: alarm, token: under }])
    }
    await hold(newId())
    expect(await held()).toEqual([token, token])
    await hold(token)
    expect(await held()).toEqual([null, null])
  })

  it('a ticket is used up in the database, so another process refuses it too', async () => {
    const db = await open()
    const hash = Buffer.alloc(32, 7)
    await keepTicket(db, { hash, keyId: null, actor: '{}', seconds: 30 })
    expect(await takeTickets(db, [hash])).toHaveLength(1)
    expect(await takeTickets(db, [hash])).toEqual([])
    expect(await db.query('select 1 from wakeful.tickets')).toEqual([])
  })

  it('a link code works on its own channel alone', async () => {
    const db = await open()
    const code = { session: ref(KEY), channel: 'email', person: false, hash: 'h', ttlMs: 60_000 }
    await createCode(db, code)
    expect(await linkByCode(db, 'h', { channel: 'slack', address: 'x' })).toBeNull()
    expect(await linkByCode(db, 'h', { channel: 'email', address: 'x' })).toMatchObject({
      session_key: KEY,
    })
  })

  it('pages of links hold each link once', async () => {
    const db = await open()
    for (const thread of ['a', 'b', 'c'])
      await db.tx((tx) =>
        makeLink(tx, {
          ...{ session: ref(`ann:bot:${thread}`), channel: 'email', address: thread },
          ...{ person: false, heard: false },
        }),
      )
    const page = { userId: 'ann', ended: false, limit: 2 }
    const first = await listLinks(db, { ...page, after: null })
    const last = first[1]
    if (last === undefined) throw new Error('the first page is not full')
    const second = await listLinks(db, { ...page, after: [last.session_key, last.id] })
    expect([...first, ...second].map(({ address }) => address)).toEqual(['a', 'b', 'c'])
  })

  it('progress of an earlier attempt is not written', async () => {
    const db = await open()
    const [work, output, eventId] = [newId(), newId(), newId()]
    await db.query(
      `insert into wakeful.work (bucket, id, task, agent_type, user_id, frequency, anchor_at, is_active, created_at, updated_at)
       values ($1, $2, 't', 'echo', 'ann', 'once', $3, false, $3, $3)`,
      [bucket, work, OLD],
    )
    await db.query(
      `insert into wakeful.work_outputs (bucket, id, work_id, user_id, run_number, status, event_id, scheduled_for, attempt, created_at, updated_at)
       values ($1, $2, $3, 'ann', 1, 'running', $4, $5, 2, $5, $5)`,
      [bucket, output, work, eventId, OLD],
    )
    const report = { bucket, eventId, note: null }
    await writeProgress(db, [{ ...report, attempt: 2, share: 0.25 }])
    await writeProgress(db, [{ ...report, attempt: 1, share: 0.75 }])
    expect(await one(db, 'select progress from wakeful.work_outputs')).toEqual({ progress: 0.25 })
  })

  it('a token lasts no longer than the key it was made from', async () => {
    const db = await open()
    const [key, token] = [newId(), newId()]
    const made = { role: 'agent', userId: 'ann', agentId: null, ownerDid: 'd' } as const
    const soon = new Date(OLD.getTime() + 60_000)
    const late = new Date(OLD.getTime() + DAY_MS)
    await insertKey(db, { ...made, id: key, hash: Buffer.alloc(32, 1), expiresAt: soon })
    await insertKey(db, { ...made, id: token, hash: Buffer.alloc(32, 2), expiresAt: late })
    await db.query('update wakeful.api_keys set parent_id = $1 where id = $2', [key, token])
    expect(await liveKeys(db, [token], 0)).toMatchObject([{ id: token, left_ms: 60_000 }])
  })

  it('a shard that is split lets nobody write its rows until the copy has ended', async () => {
    const db = await open()
    await say(db)
    await db.tx(async (tx) => {
      await holdShard(tx)
      const modes = await tx.query<{ mode: string }>(
        `select mode from pg_locks where relation = 'wakeful.sessions'::regclass and pid = pg_backend_pid()`,
      )
      expect(modes.map(({ mode }) => mode)).toContain('AccessExclusiveLock')
    })
  })
})
