/** The embedded store after its process died: nobody else can hold a lease in it, so nothing waits for one to end. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { agent } from '../../src/agents/function.ts'
import { newId } from '../../src/core/ids.ts'
import { claimTurns } from '../../src/features/sessions/rows.ts'
import { claimTimers } from '../../src/features/timers/rows.ts'
import { LEASED_TABLES } from '../../src/store/settings.ts'
import { type TestWakeful, testWakeful } from '../../src/testing.ts'
import { afterEachTest } from '../setup/ends.ts'

const LEASE_MS = 30_000

function embedded() {
  const dir = mkdtempSync(join(tmpdir(), 'wakeful-expire-'))
  const open = new Set<TestWakeful>()
  afterEachTest(async () => {
    for (const each of open) await each.stop()
    rmSync(dir, { recursive: true, force: true })
  })
  return async () => {
    for (const each of open) await each.stop()
    open.clear()
    const app = await testWakeful({
      ...{ database: `pglite:${join(dir, 'data')}`, agents: { bot: agent(() => undefined) } },
      env: {
        ...{ PORT: '0', LOG_LEVEL: 'silent', WAKEFUL_WAKE_URL: 'http://127.0.0.1:9/' },
        WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'true',
      },
    })
    open.add(app)
    return app
  }
}

const HEADS = 'select session_key, done_seq, deaths from wakeful.sessions order by session_key'
const lease = () => ({ leaseMs: LEASE_MS, token: newId(), agentIds: ['bot'] })

it('rule 14: sessions that a dead process held are taken at once after a restart, and count a death', async () => {
  const open = embedded()
  const dying = await open()
  const { engine } = dying.app.store
  await dying.call('post_message', { session_key: 'ann:bot:t', text: 'hi' })
  expect((await claimTurns(engine, 10, LEASE_MS, newId(), ['bot'])).turns).toHaveLength(1)
  // In flight: found by its timer.
  await dying.call('put_timer', { session_key: 'bea:bot:t', timer_id: 'x', delay_seconds: 1 })
  const quiesce = dying.app.engine.quiesce
  dying.app.engine.quiesce = async () => null
  await dying.advanceBy(1_000)
  dying.app.engine.quiesce = quiesce
  expect((await claimTimers(engine, 10, lease())).turns).toHaveLength(1)

  const living = await open()
  await living.advanceBy(1_000)
  expect(await living.app.store.db.query(HEADS)).toEqual([
    { session_key: 'ann:bot:t', done_seq: 1, deaths: 0 },
    { session_key: 'bea:bot:t', done_seq: 1, deaths: 0 },
  ])
  expect(
    await living.app.store.db.query('select session_key, attempt from wakeful.turns order by 1'),
  ).toEqual([
    { session_key: 'ann:bot:t', attempt: 2 },
    { session_key: 'bea:bot:t', attempt: 2 },
  ])
})

it('rule 14: an alarm whose call a dead process had begun is due at once; an outside worker keeps its claim', async () => {
  const open = embedded()
  const dying = await open()
  const { db } = dying.app.store
  await dying.call('set_alarm', {
    ...{ kind: 'once', delay_seconds: 3600, label: 'tea', wake_message: 'tea' },
  })
  await db.query(
    `update wakeful.alarms set claim_token = gen_random_uuid(), claimed_at = due_at, due_at = $1`,
    [new Date(dying.now().getTime() + LEASE_MS)],
  )
  const made = {
    ...{ user_id: 'ann', intent_name: 'x', trigger_type: 'interval' as const, action_context: 'x' },
    trigger_schedule: { interval_minutes: 5 },
  }
  await dying.call('create_intent', made)
  await db.query(
    `update wakeful.scheduled_intents set claim_token = gen_random_uuid(), claimed_until = $1`,
    [new Date(dying.now().getTime() + LEASE_MS)],
  )
  const living = await open()
  const [alarm] = await living.app.store.db.query('select due_at, claim_token from wakeful.alarms')
  expect(alarm).toMatchObject({ due_at: living.now(), claim_token: expect.any(String) })
  const [intent] = await living.app.store.db.query(
    'select claimed_until from wakeful.scheduled_intents',
  )
  expect(intent).toEqual({ claimed_until: new Date(living.now().getTime() + LEASE_MS) })
})

it('rule 14: every table with leases of ours is known', async () => {
  const { app } = await embedded()()
  const tables = await app.store.db.query<{ name: string }>(
    `select 'wakeful.' || table_name as name from information_schema.columns
     where table_schema = 'wakeful' and column_name = 'claim_token' order by 1`,
  )
  const outside = ['wakeful.intent_executions', 'wakeful.scheduled_intents']
  expect([...LEASED_TABLES.keys(), ...outside].toSorted()).toEqual(tables.map(({ name }) => name))
})
