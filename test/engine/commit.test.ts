/** The commit of a turn: a crash between any two of its statements leaves all or nothing. */
import { expect, it } from 'vitest'
import type { TurnResult } from '../../src/agents/agent.ts'
import { newId } from '../../src/core/ids.ts'
import { appendEvents } from '../../src/features/sessions/event-rows.ts'
import { type ClaimedTurn, claimTurns } from '../../src/features/sessions/rows.ts'
import { putTimer } from '../../src/features/timers/rows.ts'
import { commitTurns, type Finished } from '../../src/kernel/commit.ts'
import type { Trigger } from '../../src/kernel/trigger.ts'
import type { Db } from '../../src/store/db.ts'
import { ALARMS } from '../../src/store/due.ts'
import { eachStore } from '../setup/stores.ts'
import { ref, world } from '../setup/worlds.ts'
import { emptiedStore } from '../store/stores.ts'

const KEYS = ['ann:bot:t', 'bea:bot:t']
const POLICY = { autonomy: true, maxConsecutive: 3, cooldownMs: 15_000 }
const NOW = new Date('2026-01-01T00:00:00Z')
const TABLES = [
  'sessions',
  'events',
  'turns',
  'effects',
  'autonomy_timers',
  'checkpoints',
  'checkpoint_blobs',
  'checkpoint_writes',
  'idempotency_keys',
]

async function everything(db: Db): Promise<Record<string, object[]>> {
  const all: Record<string, object[]> = {}
  for (const table of TABLES)
    all[table] = await db.query(`select * from wakeful.${table} t order by t::text`)
  return all
}

/** A trigger that settles its slots: what it writes belongs to the same transaction. */
const settling: Trigger = {
  type: 'alarm',
  table: ALARMS,
  promote: async () => ({ promoted: 0, more: false, nextMs: null, rows: [] }),
  settle: async (tx, outcomes) => {
    for (const outcome of outcomes)
      await tx.query(
        `insert into wakeful.idempotency_keys (owner, key, fingerprint, created_at) values ('slot', $1, $2, $3)`,
        [outcome.sessionKey, String(outcome.committed), outcome.now],
      )
  },
}
const TRIGGERS = new Map([[settling.type, settling]])

/** Something for every statement of the commit. */
function result(turn: ClaimedTurn): TurnResult {
  const checkpointId = newId()
  const thread = { threadId: turn.session_key, ns: '' }
  return {
    wishes: [
      { type: 'send_message', content: 'hello' },
      { type: 'schedule_timer', timerId: 'new', fireAt: null, delayMs: 60_000, payload: '{"a":1}' },
      { type: 'cancel_timer', timerId: 'old' },
    ],
    checkpointId,
    points: [
      {
        ...thread,
        id: checkpointId,
        parentId: null,
        type: 'state',
        checkpoint: '{}',
        metadata: {},
      },
    ],
    blobs: [{ ...thread, channel: 'c', version: '1', type: 'bytes', blob: Buffer.from('blob') }],
    writes: [
      {
        ...thread,
        checkpointId,
        taskId: 't',
        idx: 0,
        channel: 'c',
        type: 'bytes',
        blob: Buffer.from('write'),
        taskPath: '',
      },
    ],
  }
}

/** An event of a slot for each session. */
async function slotsOf(db: Db, keys: readonly string[], type: 'alarm' | 'timer'): Promise<void> {
  await appendEvents(
    db,
    keys.map((key) => ({ session: ref(key), id: newId(), type, payload: '{}', clientId: null })),
  )
  await db.query('update wakeful.events set trigger_id = id, scheduled_for = created_at')
}

/** Two sessions with an event of a settling trigger each, claimed under one token. */
async function claimed(db: Db): Promise<Finished[]> {
  await slotsOf(db, KEYS, 'alarm')
  for (const key of KEYS)
    await putTimer(db, ref(key), {
      id: newId(),
      timerId: 'old',
      fireAt: null,
      delayMs: 9000,
      payload: null,
    })
  const token = newId()
  const { turns } = await claimTurns(db, 10, 1000, token, ['bot'])
  return turns.map((claim) => ({ claim, token, result: result(claim), failure: null }))
}

/** The same store, but its n-th statement within a transaction never gets there. Counts what it let through. */
function breaking(db: Db, at: number, error: Error): { db: Db; reached: () => number } {
  let count = 0
  const count1 = () => {
    if (++count === at) throw error
  }
  const wrapped = (tx: Db): Db => ({
    ...tx,
    query: async (text, values) => {
      count1()
      return tx.query(text, values)
    },
    exec: async (text) => {
      count1()
      return tx.exec(text)
    },
    tx: (work) => tx.tx((inner) => work(wrapped(inner))),
  })
  return {
    reached: () => count,
    db: {
      ...db,
      tx: (work, options) =>
        db.tx(async (tx) => {
          const answer = await work(wrapped(tx))
          // The last moment before the commit itself.
          count1()
          return answer
        }, options),
    },
  }
}

const CRASHES = [
  new Error('a crash of our own'),
  Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' }),
]

eachStore('the commit of a turn', (store) => {
  it('invariant 3: a crash before any of its statements leaves nothing, and without one all is there', async () => {
    const { db } = await emptiedStore(store, () => NOW)
    const turns = await claimed(db)
    const before = await everything(db)
    let statements = Number.POSITIVE_INFINITY
    for (let at = 1; at <= statements; at++) {
      for (const error of CRASHES) {
        const broken = breaking(db, at, error)
        const outcome = await commitTurns(broken.db, turns, {
          policy: POLICY,
          triggers: TRIGGERS,
        }).catch((e: unknown) => e)
        if (outcome !== error) statements = broken.reached()
        else expect(await everything(db), `crash before statement ${at}`).toEqual(before)
        if (statements !== Number.POSITIVE_INFINITY) break
      }
    }
    // Heads, the write, timers, blobs, pending writes, the slots of both triggers, and the end.
    expect(statements).toBeGreaterThanOrEqual(7)
    const after = await everything(db)
    expect(after.turns).toMatchObject([{ status: 'committed' }, { status: 'committed' }])
    expect(after.sessions).toMatchObject(
      KEYS.map(() => ({
        done_seq: 1,
        due_at: null,
        claim_token: null,
        last_autonomous_at: NOW,
      })),
    )
    expect(after.effects).toHaveLength(4)
    expect(after.checkpoints).toHaveLength(2)
    expect(after.checkpoint_blobs).toHaveLength(2)
    expect(after.checkpoint_writes).toHaveLength(2)
    expect(after.idempotency_keys).toHaveLength(2)
    const timers = after.autonomy_timers as { timer_id: string; status: string }[]
    expect(timers.map((t) => `${t.timer_id} ${t.status}`).sort()).toEqual([
      'new pending',
      'new pending',
      'old cancelled',
      'old cancelled',
    ])
  })

  it('invariant 5: a lost lease writes nothing, also beside the living attempt of the same session', async () => {
    let now = NOW.getTime()
    const { db } = await emptiedStore(store, () => new Date(now))
    const late = await claimed(db)
    now += 1000
    const token = newId()
    const { turns } = await claimTurns(db, 10, 1000, token, ['bot'])
    const before = await everything(db)
    const status = (all: readonly { status: string }[]) => all.map((each) => each.status)
    expect(status(await commitTurns(db, late, { policy: POLICY, triggers: TRIGGERS }))).toEqual([
      'lost',
      'lost',
    ])
    expect(await everything(db)).toEqual(before)
    const living = turns.map((claim) => ({ claim, token, result: result(claim), failure: null }))
    expect(
      status(await commitTurns(db, [...late, ...living], { policy: POLICY, triggers: TRIGGERS })),
    ).toEqual(['lost', 'lost', 'committed', 'committed'])
    const after = await everything(db)
    expect(after.turns).toMatchObject(KEYS.map(() => ({ status: 'committed', attempt: 2 })))
    expect(after.effects).toHaveLength(4)
  })

  it('who speaks where a day has room for one does not depend on whose agent was quicker', async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ] as const) {
      const { db } = await emptiedStore(store, () => NOW)
      await db.query(
        `insert into wakeful.people (bucket, user_id, timezone, most_unasked_per_day, has_preferences, created_at) values ($1, 'ann', 'UTC', 1, true, $2)`,
        [ref('ann:bot:a').bucket, NOW],
      )
      await slotsOf(db, ['ann:bot:z', 'ann:bot:a'], 'timer')
      const token = newId()
      const { turns } = await claimTurns(db, 10, 1000, token, ['bot'])
      const wishes = [{ type: 'send_message', content: 'hello' }] as const
      const said = { wishes, checkpointId: null, points: [] }
      const finished = order
        .flatMap((n) => turns[n] ?? [])
        .map((claim) => ({
          ...{ claim, token, result: said, failure: null },
        }))
      await commitTurns(db, finished, { policy: POLICY, triggers: TRIGGERS })
      expect(await db.query('select session_key from wakeful.effects')).toEqual([
        { session_key: 'ann:bot:a' },
      ])
    }
  })

  it('invariant 3: the same for a failed turn, whose trigger settles the slot', async () => {
    const { db } = await emptiedStore(store, () => NOW)
    const failure = {
      cause: 'agent_error',
      terminal: false,
      retryAfterMs: 0,
      text: 'no luck',
    } as const
    const turns = (await claimed(db)).map((turn) => ({ ...turn, result: null, failure }))
    const before = await everything(db)
    const [error] = CRASHES
    if (error === undefined) throw new Error('no crash')
    for (let at = 1; ; at++) {
      const options = { policy: POLICY, triggers: TRIGGERS }
      const outcome: unknown = await commitTurns(breaking(db, at, error).db, turns, options).catch(
        (e: unknown) => e,
      )
      if (outcome !== error) break
      expect(await everything(db), `crash before statement ${at}`).toEqual(before)
    }
    const after = await everything(db)
    expect(after.turns).toMatchObject(KEYS.map(() => ({ status: 'failed', error: 'no luck' })))
    expect(after.idempotency_keys).toMatchObject(KEYS.map(() => ({ fingerprint: 'false' })))
    expect(after.effects).toEqual([])
    expect(after.checkpoints).toEqual([])
  })

  it('invariant 14: a turn that cannot be written fails alone, beside others in the same commit', async () => {
    const deep = JSON.parse('['.repeat(60) + ']'.repeat(60)) as unknown
    const w = await world(store, {
      bot: (turn) => {
        turn.say('fine')
        if (turn.session.userId === 'bad')
          turn.schedule('x', { in: 60, data: deep, cancelOnReply: true })
      },
    })
    for (const user of ['ann', 'bad', 'bea']) await w.say(`${user}:bot:t`, 'hi')
    await w.settle()
    const rows = await w.query<{ session_key: string; status: string }>(
      'select session_key, status from wakeful.turns where attempt = 1 order by session_key',
    )
    const byUser = Object.fromEntries(
      rows.map((row) => [row.session_key.split(':')[0], row.status]),
    )
    expect(byUser).toEqual({ ann: 'committed', bad: 'retrying', bea: 'committed' })
  })
})
