/**
 * Two agents and ten sessions race for one person's last message of the day, on PostgreSQL and in three engines: the limit is never
 * exceeded, and nothing promised is lost (invariant 11a). `npm run race` does it a thousand times.
 */
import { afterAll, expect, it } from 'vitest'
import { agent } from '../../src/agents/function.ts'
import { type Wakeful, wakeful } from '../../src/index.ts'
import type { Db } from '../../src/store/db/db.ts'
import type { Loose } from '../setup/http.ts'
import { dropDatabases, postgresDatabase } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { bareStore } from '../store/stores.ts'

const RACES = Number(process.env.MANNERS_RACES ?? 25)
/** People whose races run at once. */
const SIZE = Math.min(RACES, 25)
const ENGINES = 3
const ALARMS = 8
/** With two headlines, each in a session of its own. */
const SLOTS = ALARMS + 2
const FAR = '2090-01-01T00:00:00Z'
const BOUND_MS = 1_800_000
const made: string[] = []
afterAll(() => dropDatabases(made))

const bot = agent((turn) => {
  turn.reply(`${turn.event.type} ${turn.session.threadId}`)
})

async function start(database: string): Promise<Wakeful> {
  const engine = await wakeful({
    database,
    agents: { one: bot, two: bot },
    env: { PORT: '0', LOG_LEVEL: 'silent', WAKEFUL_TIMEZONE: 'UTC' },
  })
  await engine.start()
  return engine
}

async function promise(engine: Wakeful, person: string): Promise<void> {
  await engine.call('set_manners', { user_id: person, most_unasked_per_day: 1 })
  for (let n = 0; n < ALARMS; n++)
    await engine.call(
      'set_alarm',
      {
        ...{ kind: 'once', fire_at: FAR, wake_message: `alarm ${n}` },
        ...{ agent_id: n % 2 === 0 ? 'one' : 'two', conversation_id: `alarm-${n}` },
      },
      { actAs: person },
    )
  for (const agent_id of ['one', 'two'])
    await engine.call('create_intent', {
      ...{ user_id: person, intent_name: `news ${agent_id}`, trigger_type: 'news', agent_id },
      ...{
        trigger_condition: { keywords: ['eclipse'] },
        action_context: 'tell',
        max_executions: 1,
      },
    })
}

/** One round: `SIZE` people at once, each with their own race. All of the rounds before have ended. */
async function race(engines: readonly Wakeful[], db: Db, round: number): Promise<void> {
  const [first] = engines
  if (first === undefined) throw new Error('nobody runs')
  const people = Array.from({ length: SIZE }, (_, n) => `p${round}-${n}`)
  await Promise.all(people.map((person, i) => promise(engines[i % ENGINES] ?? first, person)))
  const total = (round + 1) * SIZE * SLOTS
  const count = async (text: string) =>
    (await db.query<{ n: number }>(`select count(*)::int as n from ${text}`))[0]?.n ?? 0
  const spoken = () => count(`wakeful.effects where type = 'send_message'`)
  const waiting = () => count(`wakeful.parked where status = 'waiting'`)

  // All of them are due at once.
  await db.query(
    `update wakeful.alarms set due_at = now(), next_fire_at = now(), scheduled_for = now() where status = 'active'`,
  )
  await first.call('post_signal', { kind: 'news', headline: `Eclipse number ${round}` })
  await until('each is said or waits', async () => (await spoken()) + (await waiting()) === total)
  const each = await db.query<{ person: string; n: number }>(
    `select split_part(session_key, ':', 1) as person, count(*)::int as n from wakeful.effects
     where session_key like $1 group by 1`,
    [`p${round}-%`],
  )
  expect(each.filter(({ n }) => n > 1)).toEqual([])
  expect(each).toHaveLength(SIZE)
  const wrong = await db.query(
    'select user_id from wakeful.people where user_id like $1 and unasked_count <> 1',
    [`p${round}-%`],
  )
  expect(wrong).toEqual([])

  // Enough for all: what waited comes, each slot as one message.
  for (const person of people)
    await first.call('set_manners', { user_id: person, most_unasked_per_day: null })
  await until('all is said', async () => (await spoken()) === total && (await waiting()) === 0)
  const twice = await db.query(
    `select session_key from wakeful.effects where type = 'send_message' group by session_key having count(*) > 1`,
  )
  expect(twice).toEqual([])
  await toldBy(first, people[0] ?? '')
}

/** The ledger says which slot came when, and why. */
async function toldBy(engine: Wakeful, person: string): Promise<void> {
  const { data } = (await engine.call('get_ledger', { user_id: person, limit: 100 })) as Loose
  const slots = data.filter(({ outcome }: Loose) => outcome !== 'condition_false')
  expect(slots.map(({ outcome }: Loose) => outcome)).toEqual(Array(SLOTS).fill('sent'))
  expect(
    slots.filter(({ words }: Loose) => /parked before \(enough was said that day\)/.test(words)),
  ).toHaveLength(SLOTS - 1)
}

it(`${RACES} races: never more than one message of the day, and each of the others comes later, once`, {
  timeout: BOUND_MS,
}, async () => {
  const database = await postgresDatabase(made)
  const { db } = await bareStore(database)
  const engines = await Promise.all(Array.from({ length: ENGINES }, () => start(database)))
  for (let round = 0; round * SIZE < RACES; round++) await race(engines, db, round)
  await Promise.all(engines.map((engine) => engine.stop()))
})
