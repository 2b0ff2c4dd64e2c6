/** Timers whose turns begin before their events exist: what a claim brings, and how the event comes to be. */
import { expect, it } from 'vitest'
import { newId } from '../../src/core/ids.ts'
import { appendEvents } from '../../src/features/sessions/event-rows.ts'
import { assignSeq } from '../../src/features/sessions/number-rows.ts'
import { claimTurns, endLeases } from '../../src/features/sessions/rows.ts'
import { writeTurns } from '../../src/features/sessions/turn-rows.ts'
import {
  cancelTimer,
  claimTimers,
  promoteTimers,
  putTimer,
} from '../../src/features/timers/rows.ts'
import type { Db } from '../../src/store/db.ts'
import { releaseClaims, SESSIONS } from '../../src/store/due.ts'
import { eachStore } from '../setup/stores.ts'
import { ref } from '../setup/worlds.ts'
import { emptiedStore } from './stores.ts'

const LEASE_MS = 1000
const START = Date.UTC(2026, 0, 1)
const ANN = 'ann:bot:t'

function timer(db: Db, key: string, timerId: string, payload: string | null = null) {
  return putTimer(db, ref(key), { id: newId(), timerId, fireAt: null, delayMs: 0, payload })
}

const lease = (token = newId(), notUserIds: string[] = []) => ({
  leaseMs: LEASE_MS,
  token,
  agentIds: ['bot'],
  notUserIds,
})
const claimDue = (db: Db, token?: string) => claimTimers(db, 10, lease(token))
const claim = (db: Db) => claimTurns(db, 10, LEASE_MS, newId(), ['bot', 'other'])
const keys = (turns: readonly { session_key: string }[]) =>
  turns.map((turn) => turn.session_key).toSorted()
const log = (db: Db, key = ANN) =>
  db.query(
    'select seq, type, payload, created_at from wakeful.events where session_key = $1 order by seq',
    [key],
  )
const say = (db: Db, key: string) =>
  appendEvents(db, [
    {
      session: ref(key),
      id: newId(),
      type: 'user_message',
      payload: '{"text":"hi"}',
      clientId: null,
    },
  ])

eachStore('timers in flight', (store) => {
  it('invariants 2 and 4: a claim brings what a claim of the event would have brought, and writes no event', async () => {
    let now = START
    const { db } = await emptiedStore(store, () => new Date(now))
    await timer(db, ANN, 'a', '{"n": 1}')
    await timer(db, 'bea:bot:t', 'c')
    now += 5
    const { seen, turns } = await claimDue(db)
    expect([seen, keys(turns)]).toEqual([2, [ANN, 'bea:bot:t']])
    expect(await log(db)).toEqual([])
    // Nobody else gets it: no other claim, and no promotion.
    expect((await claimDue(db)).seen).toBe(0)
    expect((await promoteTimers(db, 10)).seen).toBe(0)
    expect((await claim(db)).turns).toEqual([])
    // The lease ends: its timer becomes an event, and a death counts.
    now += LEASE_MS
    expect((await claimDue(db)).turns).toEqual([])
    expect((await promoteTimers(db, 10)).events).toHaveLength(2)
    const again = (await claim(db)).turns
    for (const { inFlight, ...turn } of turns) {
      const found = again.find((other) => other.session_key === turn.session_key)
      expect(inFlight).toBeDefined()
      for (const [name, value] of Object.entries(found ?? {}))
        if (!['now', 'deaths', 'done_seq', 'last_seq', 'next_ms', 'was_due_at'].includes(name))
          expect([name, turn[name as keyof typeof turn]]).toEqual([name, value])
      expect(found?.deaths).toBe(1)
    }
    expect(await log(db)).toEqual([
      {
        seq: 1,
        type: 'timer',
        payload: '{"timer_id":"a","payload":{"n": 1}}',
        created_at: new Date(START + 5),
      },
    ])
  })

  it('invariant 1: a message that comes while a timer is in flight comes after it, and cancels the others', async () => {
    let now = START
    const { db } = await emptiedStore(store, () => new Date(now))
    await timer(db, ANN, 'a')
    now += 1
    await timer(db, ANN, 'b')
    const { turns } = await claimDue(db)
    expect(turns[0]?.seq).toBe(1)
    expect(await log(db)).toEqual([])
    await say(db, ANN)
    expect(await log(db)).toMatchObject([
      { seq: 1, payload: '{"timer_id":"a"}' },
      { seq: 2, type: 'user_message' },
    ])
    expect(await db.query('select timer_id, status from wakeful.autonomy_timers')).toEqual([
      { timer_id: 'b', status: 'cancelled' },
    ])
  })

  it('a timer in flight can be neither cancelled nor replaced: it has begun', async () => {
    const { db } = await emptiedStore(store, () => new Date(START))
    await timer(db, ANN, 'a')
    await claimDue(db)
    expect(await cancelTimer(db, ref(ANN), 'a')).toBeNull()
    expect(await log(db)).toHaveLength(1)
    await timer(db, 'bea:bot:t', 'a', '1')
    await claimDue(db)
    await timer(db, 'bea:bot:t', 'a', '2')
    expect(await log(db, 'bea:bot:t')).toMatchObject([{ payload: '{"timer_id":"a","payload":1}' }])
    expect(
      await db.query(`select payload from wakeful.autonomy_timers where session_key = 'bea:bot:t'`),
    ).toEqual([{ payload: '2' }])
  })

  it('invariant 1: an event of another trigger comes after what is in flight', async () => {
    const { db } = await emptiedStore(store, () => new Date(START))
    await timer(db, ANN, 'a')
    await claimDue(db)
    const events = [{ session: ref(ANN), eventId: newId() }]
    expect(await db.tx((tx) => assignSeq(tx, events))).toMatchObject([{ seq: 2 }])
    expect(await log(db)).toMatchObject([{ seq: 1, payload: '{"timer_id":"a"}' }])
  })

  it('invariant 4: of several timers of a session the first is claimed, and the others become events behind it', async () => {
    let now = START
    const { db } = await emptiedStore(store, () => new Date(now))
    await timer(db, ANN, 'a')
    now += 1
    await timer(db, ANN, 'b')
    now += 1
    const { seen, turns } = await claimDue(db)
    expect(seen).toBe(2)
    expect(turns).toMatchObject([{ seq: 1, payload: '{"timer_id":"a"}' }])
    expect((await promoteTimers(db, 10)).events).toMatchObject([{ seq: 2 }])
    expect(await log(db)).toMatchObject([
      { seq: 1, payload: '{"timer_id":"a"}' },
      { seq: 2, payload: '{"timer_id":"b"}' },
    ])
    // The lease goes on.
    expect((await claim(db)).turns).toEqual([])
  })

  it('invariant 2: a session that is ahead, one of an agent unknown here, and one of a person over their share are only promoted', async () => {
    const { db } = await emptiedStore(store, () => new Date(START))
    for (const key of [ANN, 'bea:other:t', 'cid:bot:t', 'dan:bot:t']) await timer(db, key, 'a')
    await say(db, 'cid:bot:t')
    await timer(db, 'cid:bot:t', 'b')
    const { turns } = await claimTimers(db, 10, lease(newId(), ['dan']))
    expect(keys(turns)).toEqual([ANN])
    expect((await promoteTimers(db, 10)).events).toHaveLength(3)
    expect(keys((await claim(db)).turns)).toEqual(['bea:other:t', 'cid:bot:t', 'dan:bot:t'])
  })

  it('what is given back is due as before, and its timer is claimed again', async () => {
    const { db } = await emptiedStore(store, () => new Date(START))
    await timer(db, ANN, 'a')
    const token = newId()
    const [turn] = (await claimDue(db, token)).turns
    expect(turn).toBeDefined()
    await releaseClaims(db, SESSIONS, [{ bucket: turn?.bucket ?? 0, key: ANN, token }])
    await endLeases(db, [token])
    expect((await claim(db)).turns).toEqual([])
    expect(keys((await claimDue(db)).turns)).toEqual([ANN])
    expect(await db.query('select due_at, deaths from wakeful.sessions')).toEqual([
      { due_at: null, deaths: 0 },
    ])
  })

  it('an event is not earlier than its instant, whose microseconds the start does not have', async () => {
    const { db } = await emptiedStore(store, () => new Date(START))
    await timer(db, ANN, 'a')
    await db.query(
      `update wakeful.autonomy_timers set fire_at = fire_at - interval '0.2 milliseconds'`,
    )
    const token = newId()
    const [turn] = (await claimDue(db, token)).turns
    if (turn === undefined) throw new Error('nothing was claimed')
    await writeTurns(
      db,
      [
        {
          bucket: turn.bucket,
          key: ANN,
          token,
          eventSeq: turn.seq,
          eventId: turn.event_id,
          attempt: 1,
          status: 'committed',
          startedAt: new Date(START - 1),
          error: null,
          cause: null,
          checkpointId: null,
          retryMs: null,
          traceparent: null,
          lineage: null,
          pushedTo: null,
          lastUserSeq: null,
          userId: 'ann',
          assumesNoPreferences: false,
          decision: {
            counters: { consecutive: 1, lastAt: null },
            effects: [],
            timers: [],
            cancelledTimers: [],
            verdicts: [],
            notes: [],
          },
          inFlight: turn.inFlight ?? null,
        },
      ],
      [],
    )
    expect(
      await db.query('select created_at < scheduled_for as early from wakeful.events'),
    ).toEqual([{ early: false }])
  })
})
