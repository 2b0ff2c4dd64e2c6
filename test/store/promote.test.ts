/** Timers whose sessions are leased with their promotion: as if they had been promoted and then claimed. */
import { expect, it } from 'vitest'
import { newId } from '../../src/core/ids.ts'
import { claimTurns, endLeases, markHeld } from '../../src/features/sessions/rows.ts'
import { promoteTimers, putTimer } from '../../src/features/timers/rows.ts'
import type { Db } from '../../src/store/db.ts'
import { eachStore } from '../setup/stores.ts'
import { ref } from '../setup/worlds.ts'
import { emptiedStore } from './stores.ts'

const LEASE_MS = 1000
const START = Date.UTC(2026, 0, 1)

function timer(db: Db, key: string, timerId: string, payload: string | null = null) {
  return putTimer(db, ref(key), { id: newId(), timerId, fireAt: null, delayMs: 0, payload })
}

function promote(db: Db, token: string, agentIds = ['bot'], together = false) {
  const ids = Array.from({ length: 10 }, newId)
  return promoteTimers(db, ids, { leaseMs: LEASE_MS, token, agentIds, together })
}

const claim = (db: Db) => claimTurns(db, 10, LEASE_MS, newId(), ['bot', 'other'])

eachStore('promotion with a lease', (store) => {
  it('invariants 1, 2 and 4: an idle session comes back with what a claim would have brought, and is nobody else’s', async () => {
    let now = START
    const { db } = await emptiedStore(store, () => new Date(now))
    await timer(db, 'ann:bot:t', 'a', '{"n": 1}')
    await timer(db, 'ann:bot:t', 'b')
    await timer(db, 'bea:bot:t', 'c')
    now += 5
    const { promoted, fires, turns } = await promote(db, newId())
    expect(promoted).toBe(3)
    expect(fires.map((fire) => fire.lateness_ms)).toEqual([5, 5, 5])
    expect(turns.map((turn) => turn.session_key).toSorted()).toEqual(['ann:bot:t', 'bea:bot:t'])
    expect((await claim(db)).turns).toEqual([])
    // When nobody ends it, it is claimed as after any death: the same but for the lease.
    now += LEASE_MS
    const again = (await claim(db)).turns
    for (const turn of turns) {
      const found = again.find((other) => other.session_key === turn.session_key)
      const { now: _, was_due_at, ...rest } = turn
      expect(was_due_at).toEqual(new Date(START + 5))
      expect(rest).toMatchObject({ seq: 1, type: 'timer', deaths: 0 })
      for (const [name, value] of Object.entries(found ?? {}))
        if (!['now', 'deaths', 'done_seq', 'last_seq', 'next_ms'].includes(name))
          expect([name, turn[name as keyof typeof turn]]).toEqual([name, value])
      expect(found?.deaths).toBe(1)
    }
    const log = await db.query(
      `select seq, payload from wakeful.events where session_key = 'ann:bot:t' order by seq`,
    )
    expect(log).toEqual([
      { seq: 1, payload: '{"timer_id":"a","payload":{"n": 1}}' },
      { seq: 2, payload: '{"timer_id":"b"}' },
    ])
  })

  it('invariant 2: promoted twice under one lease, as when the newest go first, a session has one turn', async () => {
    const { db } = await emptiedStore(store, () => new Date(START))
    const token = newId()
    await timer(db, 'ann:bot:t', 'a')
    expect((await promote(db, token)).turns).toHaveLength(1)
    await timer(db, 'ann:bot:t', 'b')
    expect(await promote(db, token)).toMatchObject({ promoted: 1, turns: [] })
  })

  it('invariant 2: a session that is ahead, and one of an agent unknown here, are only promoted', async () => {
    const { db } = await emptiedStore(store, () => new Date(START))
    await timer(db, 'ann:bot:t', 'a')
    await timer(db, 'ann:other:t', 'b')
    const first = await promote(db, newId())
    expect(first.promoted).toBe(2)
    expect(first.turns.map((turn) => turn.session_key)).toEqual(['ann:bot:t'])
    const held = 'select session_key, claim_token, leased_until from wakeful.sessions order by 1'
    const before = await db.query(held)
    // It runs: what comes due meanwhile waits behind it.
    await timer(db, 'ann:bot:t', 'c')
    const second = await promote(db, newId())
    expect(second).toMatchObject({ promoted: 1, turns: [] })
    expect(await db.query(held)).toEqual(before)
    const { turns } = await claim(db)
    expect(turns.map((turn) => turn.session_key)).toEqual(['ann:other:t'])
  })

  it('rule 49: sessions of people who hold more than their share are only promoted', async () => {
    const { db } = await emptiedStore(store, () => new Date(START))
    await timer(db, 'ann:bot:t', 'a')
    await timer(db, 'bea:bot:t', 'b')
    const lease = { leaseMs: LEASE_MS, token: newId(), agentIds: ['bot'], notUserIds: ['ann'] }
    const { promoted, turns } = await promoteTimers(db, [newId(), newId()], lease)
    expect(promoted).toBe(2)
    expect(turns.map((turn) => turn.session_key)).toEqual(['bea:bot:t'])
    expect((await claim(db)).turns.map((turn) => turn.session_key)).toEqual(['ann:bot:t'])
  })

  it('rule 14: leased together, they are found when the row of their batch is over, and count a death', async () => {
    let now = START
    const { db } = await emptiedStore(store, () => new Date(now))
    await timer(db, 'ann:bot:t', 'a')
    await timer(db, 'bea:bot:t', 'b')
    await timer(db, 'cleo:other:t', 'c')
    const token = newId()
    const { turns } = await promote(db, token, ['bot'], true)
    expect(turns.map((turn) => turn.session_key).toSorted()).toEqual(['ann:bot:t', 'bea:bot:t'])
    const due = `select session_key from wakeful.sessions where due_at is not null order by 1`
    expect(await db.query(due)).toEqual([{ session_key: 'cleo:other:t' }])
    expect(await markHeld(db)).toEqual({ marked: 0, nextMs: LEASE_MS })
    // Somebody writes to one of them meanwhile: it is due, and still held.
    await db.query(`update wakeful.sessions set due_at = $1 where session_key = 'bea:bot:t'`, [
      new Date(now),
    ])
    expect((await claim(db)).turns.map((turn) => turn.session_key)).toEqual(['cleo:other:t'])
    now += LEASE_MS
    expect(await markHeld(db)).toEqual({ marked: 1, nextMs: null })
    const found = (await claim(db)).turns.filter((turn) => turn.agent_id === 'bot')
    expect(
      found.map(({ session_key, seq, deaths }) => [session_key, seq, deaths]).toSorted(),
    ).toEqual([
      ['ann:bot:t', 1, 1],
      ['bea:bot:t', 1, 1],
    ])
  })

  it('rule 14: of a batch whose turns have all ended nothing is found, nor of sessions that others hold since', async () => {
    let now = START
    const { db } = await emptiedStore(store, () => new Date(now))
    await timer(db, 'ann:bot:t', 'a')
    const first = newId()
    await promote(db, first, ['bot'], true)
    await endLeases(db, [first])
    expect(await markHeld(db)).toEqual({ marked: 0, nextMs: null })
    await timer(db, 'bea:bot:t', 'b')
    await promote(db, newId(), ['bot'], true)
    await db.query(`update wakeful.sessions set claim_token = $1 where session_key = 'bea:bot:t'`, [
      newId(),
    ])
    now += LEASE_MS
    expect(await markHeld(db)).toEqual({ marked: 0, nextMs: null })
  })
})
