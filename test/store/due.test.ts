/** Claims on due rows: who holds what, until when, and what a worker that lost its lease can still do. */
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { newId } from '../../src/core/ids.ts'
import { appendEvents } from '../../src/features/sessions/event-rows.ts'
import { type ClaimedTurn, claimTurns } from '../../src/features/sessions/rows.ts'
import { lockHeads } from '../../src/features/sessions/turn-rows.ts'
import { promoteTimers, putTimer } from '../../src/features/timers/rows.ts'
import { commitTurns, type Finished } from '../../src/kernel/commit.ts'
import type { Db } from '../../src/store/db.ts'
import { dueLagMs, extendClaims, releaseClaims, SESSIONS, TIMERS } from '../../src/store/due.ts'
import type { Store } from '../../src/store/open.ts'
import { dropDatabases, eachStore, postgresDatabase } from '../setup/stores.ts'
import { ref } from '../setup/worlds.ts'
import { bareStore, beside, emptiedStore } from './stores.ts'

const START = Date.UTC(2026, 0, 1)
const LEASE_MS = 1000
const POLICY = { autonomy: true, maxConsecutive: 3, cooldownMs: 15_000 }
const key = (n: number) => `user${n}:bot:t`

/** A store whose clock the test moves. */
async function clocked(open: (now: () => Date) => Promise<Store>) {
  let now = START
  const { db } = await open(() => new Date(now))
  return {
    db,
    now: () => now,
    advance: (ms: number) => {
      now += ms
    },
    say: (n: number) =>
      appendEvents(db, [
        {
          session: ref(key(n)),
          id: newId(),
          type: 'user_message',
          payload: '{"text":"hi"}',
          clientId: null,
        },
      ]),
  }
}

function claim(db: Db, token: string, limit = 100, leaseMs = LEASE_MS) {
  return claimTurns(db, limit, leaseMs, token, ['bot'])
}

const keysOf = (turns: readonly ClaimedTurn[]) => turns.map((turn) => turn.session_key)
const held = (turns: readonly ClaimedTurn[], token: string) =>
  turns.map((turn) => ({ bucket: turn.bucket, key: turn.session_key, token }))

/** A finished turn with something to write in every table. */
function finished(turn: ClaimedTurn, token: string): Finished {
  const checkpointId = newId()
  const point = {
    threadId: turn.session_key,
    ns: '',
    id: checkpointId,
    parentId: null,
    type: 'state',
    checkpoint: '{}',
    metadata: {},
  }
  const wishes = [
    { type: 'send_message', content: 'hello' },
    { type: 'schedule_timer', timerId: 'later', fireAt: null, delayMs: 60_000_000, payload: null },
  ] as const
  return { claim: turn, token, failure: null, result: { wishes, checkpointId, points: [point] } }
}

const commit = (db: Db, turns: readonly ClaimedTurn[], token: string) =>
  commitTurns(
    db,
    turns.map((turn) => finished(turn, token)),
    { policy: POLICY, triggers: new Map() },
  )

const everything = async (db: Db) => {
  const tables = ['sessions', 'events', 'turns', 'effects', 'autonomy_timers', 'checkpoints']
  const rows: unknown[] = []
  for (const table of tables)
    rows.push(await db.query(`select * from wakeful.${table} t order by t::text`))
  return rows
}

eachStore('due rows', (store) => {
  it('invariant 2: a leased session is nobody else’s until its lease ends, and due again at that very instant', async () => {
    const world = await clocked((now) => emptiedStore(store, now))
    await world.say(1)
    const first = newId()
    expect(keysOf((await claim(world.db, first)).turns)).toEqual([key(1)])
    world.advance(LEASE_MS - 1)
    const early = await claim(world.db, newId())
    expect(early).toMatchObject({ turns: [], nextMs: 1 })
    world.advance(1)
    const [again] = (await claim(world.db, newId())).turns
    // The lease that ran out counts as the death of whoever held it.
    expect(again).toMatchObject({ session_key: key(1), seq: 1, attempt: 0, deaths: 1 })
  })

  it('invariant 5: a worker whose lease ran out and was taken over writes nothing any more', async () => {
    const world = await clocked((now) => emptiedStore(store, now))
    await world.say(1)
    const [slow, swift] = [newId(), newId()]
    const lost = (await claim(world.db, slow)).turns
    world.advance(LEASE_MS)
    const taken = (await claim(world.db, swift)).turns
    const before = await everything(world.db)
    expect(await lockHeads(world.db, held(lost, slow))).toEqual(new Map())
    expect(await commit(world.db, lost, slow)).toMatchObject([{ status: 'lost', decision: null }])
    expect(await extendClaims(world.db, SESSIONS, held(lost, slow), 9 * LEASE_MS)).toEqual(
      new Set(),
    )
    await releaseClaims(world.db, SESSIONS, held(lost, slow))
    expect(await everything(world.db)).toEqual(before)
    // The one who took over is not disturbed, and after it nobody writes a second time.
    expect(await commit(world.db, taken, swift)).toMatchObject([{ status: 'committed' }])
    const after = await everything(world.db)
    for (const [turns, token] of [
      [lost, slow],
      [taken, swift],
    ] as const)
      expect(await commit(world.db, turns, token)).toMatchObject([{ status: 'lost' }])
    expect(await everything(world.db)).toEqual(after)
  })

  it('invariants 5 and 14: in one group commit the lost turn writes nothing and its neighbours everything', async () => {
    const world = await clocked((now) => emptiedStore(store, now))
    for (const n of [1, 2, 3]) await world.say(n)
    const token = newId()
    const turns = (await claim(world.db, token)).turns
    const others = turns.filter((turn) => turn.session_key !== key(2))
    world.advance(LEASE_MS - 1)
    await extendClaims(world.db, SESSIONS, held(others, token), LEASE_MS)
    world.advance(1)
    expect(keysOf((await claim(world.db, newId())).turns)).toEqual([key(2)])
    const outcomes = await commit(world.db, turns, token)
    const commitTx = Object.fromEntries(turns.map((t, n) => [t.session_key, outcomes[n]?.status]))
    expect(commitTx).toEqual({ [key(1)]: 'committed', [key(2)]: 'lost', [key(3)]: 'committed' })
    const rows = await world.db.query('select distinct session_key from wakeful.effects order by 1')
    expect(rows).toEqual([{ session_key: key(1) }, { session_key: key(3) }])
  })

  it('extend keeps a lease; release gives it back at once and is not counted as a death', async () => {
    const world = await clocked((now) => emptiedStore(store, now))
    await world.say(1)
    const token = newId()
    const { turns } = await claim(world.db, token)
    for (let n = 0; n < 5; n++) {
      world.advance(LEASE_MS - 1)
      expect(await extendClaims(world.db, SESSIONS, held(turns, token), LEASE_MS)).toEqual(
        new Set([key(1)]),
      )
      expect((await claim(world.db, newId())).turns).toEqual([])
    }
    await releaseClaims(world.db, SESSIONS, held(turns, token))
    const [again] = (await claim(world.db, newId())).turns
    expect(again).toMatchObject({ session_key: key(1), deaths: 0, attempt: 0 })
  })

  it('claims are bounded, oldest first, and of known agents only', async () => {
    const world = await clocked((now) => emptiedStore(store, now))
    for (const n of [3, 1, 2]) {
      await world.say(n)
      world.advance(10)
    }
    expect(keysOf((await claim(world.db, newId(), 2)).turns)).toEqual([key(3), key(1)])
    expect((await claimTurns(world.db, 10, LEASE_MS, newId(), ['other'])).turns).toEqual([])
    expect(keysOf((await claim(world.db, newId())).turns)).toEqual([key(2)])
  })

  it('says how late the oldest waiting row is, and when the next becomes due', async () => {
    const world = await clocked((now) => emptiedStore(store, now))
    const timer = (timerId: string, delayMs: number) =>
      putTimer(world.db, ref(key(1)), {
        id: newId(),
        timerId,
        fireAt: null,
        delayMs,
        payload: null,
      })
    await timer('a', 5000)
    await timer('b', 7000)
    const promote = () => promoteTimers(world.db, 10)
    expect(await promote()).toMatchObject({ events: [], nextMs: 5000 })
    expect(await dueLagMs(world.db, TIMERS)).toBe(0)
    world.advance(5250)
    expect(await dueLagMs(world.db, TIMERS)).toBe(250)
    expect(await promote()).toMatchObject({
      events: [{ seq: 1 }],
      nextMs: 1750,
    })
    expect(await dueLagMs(world.db, TIMERS)).toBe(0)
    world.advance(40)
    expect(await dueLagMs(world.db, SESSIONS)).toBe(40)
    await claim(world.db, newId())
    // Somebody is at it: nobody waits.
    expect(await dueLagMs(world.db, SESSIONS)).toBe(0)
  })

  it('invariants 2 and 5: any history of claims, heartbeats, releases and commits agrees with the model', async () => {
    const world = await clocked((now) => emptiedStore(store, now))
    let round = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        await world.db.exec(
          'truncate wakeful.sessions, wakeful.events, wakeful.attempts, wakeful.effects, wakeful.autonomy_timers, wakeful.checkpoints',
        )
        const history = new History(world, ++round)
        for (const each of steps) await history.apply(each)
      }),
      { seed: 20260101, numRuns: store.name === 'pglite' ? 15 : 25 },
    )
  })
})

const worker = fc.integer({ min: 0, max: 2 })
const step = fc.oneof(
  fc.record({ do: fc.constant('say' as const), session: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ do: fc.constant('claim' as const), worker, limit: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(1, 400, 999, 1000, 2500) }),
  fc.record({ do: fc.constant('extend' as const), worker }),
  fc.record({ do: fc.constant('release' as const), worker }),
  fc.record({ do: fc.constant('commit' as const), worker }),
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

interface Head {
  waiting: number
  dueAt: number
  leasedUntil: number | null
  token: string | null
  deaths: number
  done: number
}

/** What the store ought to do, in memory, beside what it does. */
class History {
  readonly #world: Awaited<ReturnType<typeof clocked>>
  readonly #round: number
  readonly #heads = new Map<string, Head>()
  readonly #hands: { turn: ClaimedTurn; token: string }[][] = [[], [], []]

  constructor(world: Awaited<ReturnType<typeof clocked>>, round: number) {
    this.#world = world
    this.#round = round
  }

  async apply(each: Step): Promise<void> {
    if (each.do === 'advance') this.#world.advance(each.ms)
    else if (each.do === 'say') await this.#say(this.#round * 10 + each.session)
    else if (each.do === 'claim') await this.#claim(each.worker, each.limit)
    else if (each.do === 'extend') await this.#extend(each.worker)
    else if (each.do === 'release') await this.#release(each.worker)
    else await this.#commit(each.worker)
    expect(await dueLagMs(this.#world.db, SESSIONS)).toBeCloseTo(this.#lag(), 6)
  }

  #due(): Head[] {
    const now = this.#world.now()
    const free = (head: Head) => head.leasedUntil === null || head.leasedUntil <= now
    return [...this.#heads.values()].filter(
      (head) => head.waiting > 0 && head.dueAt <= now && free(head),
    )
  }

  #lag(): number {
    const due = this.#due().map((head) => head.dueAt)
    return due.length === 0 ? 0 : this.#world.now() - Math.min(...due)
  }

  #next(): number | null {
    const now = this.#world.now()
    const ahead = [...this.#heads.values()]
      .filter((head) => head.waiting > 0)
      .flatMap((head) => [head.dueAt, head.leasedUntil ?? 0])
      .filter((at) => at > now)
    return ahead.length === 0 ? null : Math.min(...ahead) - now
  }

  async #say(n: number): Promise<void> {
    await this.#world.say(n)
    const head = this.#heads.get(key(n)) ?? {
      waiting: 0,
      dueAt: 0,
      leasedUntil: null,
      token: null,
      deaths: 0,
      done: 0,
    }
    if (head.waiting === 0) head.dueAt = this.#world.now()
    head.waiting++
    this.#heads.set(key(n), head)
  }

  async #claim(who: number, limit: number): Promise<void> {
    const token = newId()
    const due = this.#due()
    const next = this.#next()
    const { turns, nextMs } = await claim(this.#world.db, token, limit)
    expect(turns).toHaveLength(Math.min(limit, due.length))
    expect(nextMs === null ? null : Math.round(nextMs)).toBe(next)
    const oldest = due.map((head) => head.dueAt).sort((a, b) => a - b)
    expect(turns.map((turn) => turn.was_due_at.getTime())).toEqual(oldest.slice(0, limit))
    for (const turn of turns) {
      const head = this.#heads.get(turn.session_key)
      if (head === undefined || !due.includes(head)) throw new Error(`not due: ${turn.session_key}`)
      if (head.token !== null) head.deaths++
      expect(turn).toMatchObject({ seq: head.done + 1, deaths: head.deaths })
      head.token = token
      head.leasedUntil = this.#world.now() + LEASE_MS
      this.#hands[who]?.push({ turn, token })
    }
  }

  async #extend(who: number): Promise<void> {
    const hand = this.#hands[who] ?? []
    const still = hand.filter(
      ({ turn, token }) => this.#heads.get(turn.session_key)?.token === token,
    )
    const claims = hand.flatMap(({ turn, token }) => held([turn], token))
    const kept = await extendClaims(this.#world.db, SESSIONS, claims, LEASE_MS)
    expect(kept).toEqual(new Set(still.map(({ turn }) => turn.session_key)))
    for (const name of kept) {
      const head = this.#heads.get(name)
      if (head !== undefined) head.leasedUntil = this.#world.now() + LEASE_MS
    }
  }

  async #release(who: number): Promise<void> {
    const hand = this.#hands[who]?.splice(0) ?? []
    await releaseClaims(
      this.#world.db,
      SESSIONS,
      hand.flatMap(({ turn, token }) => held([turn], token)),
    )
    for (const { turn, token } of hand) {
      const head = this.#heads.get(turn.session_key)
      if (head?.token === token) Object.assign(head, { token: null, leasedUntil: null })
    }
  }

  async #commit(who: number): Promise<void> {
    for (const { turn, token } of this.#hands[who]?.splice(0) ?? []) {
      const head = this.#heads.get(turn.session_key)
      const holds = head?.token === token
      const [outcome] = await commit(this.#world.db, [turn], token)
      expect(outcome?.status).toBe(holds ? 'committed' : 'lost')
      if (head === undefined || !holds) continue
      head.waiting--
      head.done++
      Object.assign(head, { dueAt: this.#world.now(), token: null, leasedUntil: null, deaths: 0 })
    }
  }
}

describe('due rows beside other connections', () => {
  const made: string[] = []
  afterAll(() => dropDatabases(made))

  it('invariant 14: a claim and a promotion skip rows that somebody else has locked, and take the rest', async () => {
    const url = await postgresDatabase(made)
    const world = await clocked((now) => bareStore(url, { now }))
    for (const n of [1, 2, 3]) {
      await world.say(n)
      await putTimer(world.db, ref(key(n)), {
        id: newId(),
        timerId: 'x',
        fireAt: null,
        delayMs: 0,
        payload: null,
      })
    }
    await beside(url, async (other) => {
      await other.query('begin')
      await other.query('select 1 from wakeful.sessions where session_key = $1 for update', [
        key(2),
      ])
      const promoted = await promoteTimers(world.db, 10)
      expect(promoted.events).toHaveLength(2)
      expect(keysOf((await claim(world.db, newId())).turns).sort()).toEqual([key(1), key(3)])
      await other.query('rollback')
    })
    expect(keysOf((await claim(world.db, newId())).turns)).toEqual([key(2)])
    expect((await promoteTimers(world.db, 10)).events).toHaveLength(1)
  })

  it('invariants 2 and 4: twenty claimants at once share the rows without taking one twice', async () => {
    const url = await postgresDatabase(made)
    const world = await clocked((now) => bareStore(url, { now }))
    for (let n = 0; n < 60; n++) await world.say(n)
    const other = await bareStore(url, { now: () => new Date(world.now()) })
    const claims = await Promise.all(
      Array.from({ length: 20 }, (_, n) => claim(n % 2 === 0 ? world.db : other.db, newId(), 7)),
    )
    const all = claims.flatMap(({ turns }) => keysOf(turns))
    expect(new Set(all).size).toBe(all.length)
    const rest = (await claim(world.db, newId())).turns
    expect(all.length + rest.length).toBe(60)
  })
})
