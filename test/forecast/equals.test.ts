/** What a forecast tells is what then happens: random people, the real engine on the test clock beside it, outcome by outcome. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type TestWakeful, testWakeful } from '../../src/testing.ts'
import { afterEachTest } from '../setup/ends.ts'
import type { Loose } from '../setup/http.ts'
import { databaseEnv, eachStore } from '../setup/stores.ts'
import { anyCall } from '../setup/worlds.ts'
import { type Life, life, moody, named, plain } from './life.ts'

const RUNS = Number(process.env.FORECASTS ?? 2)
const START = '2026-10-23T05:00:00Z'
/** Across the end of summer time in Europe. */
const DAYS = 3
const DAY_MS = 86_400_000

eachStore('a forecast', (store) => {
  const open = async (run: boolean) => {
    const database = await store.database()
    const one = run ? moody : plain
    const app = await testWakeful({
      ...{ database, startAt: START, agents: { bot: one, nag: one } },
      work: { job: async ({ task }) => ({ title: task, content: '' }) },
      env: { LOG_LEVEL: 'silent', AUTONOMY_ENABLED: 'true', ...databaseEnv(database) },
    })
    afterEachTest(() => app.stop())
    return app
  }

  it('equals what then happens', { timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(life, async (each) => {
        const app = await open(each.run)
        try {
          await begin(app, each)
          const before = await rowsOf(app)
          const told = await forecast(app, each)
          expect(await rowsOf(app), 'it has changed something').toEqual(before)
          const known = new Map((await ledger(app)).map(({ id, outcome }) => [id, outcome]))
          const from = new Date(told.from)
          await live(app, each)
          const really = (await ledger(app)).filter(({ id, at }) =>
            isAhead(known.get(id), new Date(at) >= from),
          )
          expect(told.cut).toBeNull()
          expect(lines(told.occurrences, each.run)).toEqual(lines(really, each.run))
        } finally {
          await app.stop()
        }
      }),
      { numRuns: RUNS, endOnFailure: process.env.SHRINK === undefined, ...seed() },
    )
  })
})

function seed() {
  const given = process.env.SEED
  const path = process.env.LIFE
  return given === undefined ? {} : { seed: Number(given), ...(path === undefined ? {} : { path }) }
}

async function begin(app: TestWakeful, { preferences, ...each }: Life): Promise<void> {
  await anyCall(app)('set_preferences', { user_id: 'ann', ...preferences })
  const say = (threadId: string) =>
    app.call('post_message', { session_key: `ann:bot:${threadId}`, text: 'hello' })
  await say('main')
  await app.settle()
  await add(app, each, 'had')
  for (const [place, minutes] of each.timers.entries())
    await app.call('put_timer', {
      ...{ session_key: 'ann:bot:main', timer_id: `t${place}` },
      delay_seconds: minutes * 60,
    })
  await app.advanceBy(each.lived)
  if (each.paused !== null) await app.call('pause', { user_id: 'ann', for: `${each.paused} hours` })
}

async function add(
  app: TestWakeful,
  some: Pick<Life, 'alarms' | 'intents' | 'work'>,
  prefix: string,
) {
  const as = { actAs: 'ann' }
  for (const body of named(some.alarms, 'label', `${prefix} alarm`))
    await anyCall(app)('set_alarm', body, as)
  for (const body of named(some.intents, 'intent_name', `${prefix} intent`))
    await anyCall(app)('create_intent', body, as)
  for (const body of named(some.work, 'task', `${prefix} work`))
    await anyCall(app)('create_work', body, as)
}

function factsAt(app: TestWakeful, { facts }: Life) {
  return facts
    .map(({ inMs, signal }) => ({ at: new Date(app.now().getTime() + inMs).toISOString(), signal }))
    .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
}

function forecast(app: TestWakeful, each: Life): Promise<Loose> {
  return app.call('forecast', {
    ...{ user_id: 'ann', days: DAYS, agents: each.run ? 'run' : 'recorded' },
    draft: {
      alarms: named(each.draft.alarms, 'label', 'new alarm'),
      intents: named(each.draft.intents, 'intent_name', 'new intent'),
      work: named(each.draft.work, 'task', 'new work'),
    },
    facts: factsAt(app, each),
  }) as Promise<Loose>
}

async function live(app: TestWakeful, each: Life): Promise<void> {
  const end = app.now().getTime() + DAYS * DAY_MS
  const facts = factsAt(app, each)
  await add(app, each.draft, 'new')
  for (const { at, signal } of facts) {
    await app.advanceTo(at)
    await anyCall(app)('post_signal', signal, { actAs: 'ann' })
  }
  await app.advanceTo(end)
}

async function ledger(app: TestWakeful): Promise<Loose[]> {
  const all: Loose[] = []
  for (let cursor: string | undefined; ; ) {
    const page = (await app.call('get_ledger', {
      ...{ user_id: 'ann', limit: 200, ...(cursor === undefined ? {} : { cursor }) },
      timezone: ((await app.call('get_preferences', { user_id: 'ann' })) as Loose).timezone,
    })) as Loose
    all.push(...page.data)
    if (page.next_cursor === null) return all
    cursor = page.next_cursor
  }
}

/** Of what was known before, only what waits, and looks that go on where they found nothing. */
function isAhead(outcome: string | undefined, later: boolean): boolean {
  if (outcome === 'deferred' || outcome === 'pending') return true
  return later && (outcome === undefined || outcome === 'condition_false')
}

/** By what both say of a slot: when, of what, what came of it and why, and in words how long it waited and with how many it came. */
function lines(slots: readonly Loose[], texts: boolean): string[] {
  return slots
    .map((slot) => {
      const { at, scheduled_for, trigger, outcome, reason, words, missed_count, repeats } = slot
      const text = slot.text ?? slot.effects?.map(({ preview }: Loose) => preview).join('\n')
      return JSON.stringify({
        ...{ at, scheduled_for, of: `${trigger.kind} ${trigger.name}`, outcome, reason, words },
        ...{ missed_count, repeats, text: texts && text ? text : undefined },
      })
    })
    .sort()
}

/** Every row of the real store. */
async function rowsOf(app: TestWakeful): Promise<string[]> {
  const told: string[] = []
  for (const { db, schema } of app.app.stores.all) {
    const tables = await db.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = $1 order by 1`,
      [schema],
    )
    for (const { name } of tables) {
      const rows = await db.query<{ row: string }>(
        `select row_to_json(t)::text as row from ${schema}.${name} t order by 1`,
      )
      told.push(...rows.map(({ row }) => `${name} ${row}`))
    }
  }
  return told
}
