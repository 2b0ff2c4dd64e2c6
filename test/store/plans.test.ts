/**
 * Invariant: what a hot statement costs does not depend on when it was planned. A server that starts on an empty
 * database plans its statements for empty tables and keeps those plans until statistics are gathered, a minute or more;
 * a first burst must not meet a plan that reads whole tables. So everything that the engine ran is planned here
 * for an empty database, as a connection would keep it, and no such plan may read a table without a key.
 */

import pg from 'pg'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import * as commands from '../../src/agents/commands.ts'
import type { Turn } from '../../src/agents/function.ts'
import { FOR_MANY } from '../../src/store/statement.ts'
import { Client } from '../sessions/live.ts'
import { type Stage, stage } from '../setup/listening-app.ts'
import { dropDatabases, postgresDatabase } from '../setup/stores.ts'

interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly 'TID Cond'?: string
  readonly Filter?: string
  readonly Plans?: readonly Plan[]
}

/** Walked in order up to a limit, which is what they are for. */
const IN_ORDER = new Set([
  'timers_due_idx',
  'sessions_due_idx',
  'events_slot_idx',
  'executions_check_idx',
  'alarm_wakes_created_idx',
  'timers_cancelled_idx',
  'alarms_cancelled_idx',
  'missed_at_idx',
  'questions_all_ended_idx',
])
/** Read as a whole on purpose: an operator's few rows. */
const WHOLE = ['migrations', 'settings', 'agents', 'stops']

/** Statements of transactions, or connections, that say how they are to be planned, with what was said. */
const ran = new Map<string, { first: string; text: string }>()
const firsts = new WeakMap<object, string>()
const always = new WeakMap<object, string>()
const made: string[] = []
let s: Stage
let empty: pg.Client

beforeAll(async () => {
  const query = pg.Client.prototype.query as (...args: unknown[]) => unknown
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: object,
    ...args: unknown[]
  ) {
    const [what] = args
    if (typeof what === 'string') {
      if (what.startsWith('begin;')) firsts.set(this, what)
      else if (/\bset enable_seqscan/.test(what)) always.set(this, `begin; ${what}`)
      else if (what === 'commit' || what === 'rollback') firsts.delete(this)
    } else {
      const { text } = what as { text: string }
      // A clock that is moved by hand asks for the first of every index at once; nobody else does.
      if (/^select \(select n\./.test(text)) return query.apply(this, args)
      const first = firsts.get(this) ?? always.get(this)
      if (first?.includes('enable_seqscan'))
        for (const each of [text, FOR_MANY.get(text) ?? text])
          ran.set(`${first} ${each}`, { first, text: each })
    }
    return query.apply(this, args)
  } as never)
  s = await stage(await postgresDatabase(made), {
    agents: { bot: busy },
    work: { chores: async () => ({ title: 'Done', content: 'done' }) },
  })
  empty = new pg.Client({ connectionString: await postgresDatabase(made) })
  await empty.connect()
})

afterAll(async () => {
  vi.restoreAllMocks()
  await s.stop()
  await empty.end()
  await dropDatabases(made)
})

/** Sets one of everything when it is told to; is quiet about what comes of it, so that no gate closes. */
async function busy(turn: Turn): Promise<void> {
  if (turn.event.type !== 'user_message') return
  turn.say('yes')
  turn.schedule('nudge', { in: 60, cancelOnReply: true })
  await commands.setAlarm(turn, { schedule: 'in 2 minutes', wake_message: 'up' })
  await commands.createIntent(turn, {
    intent_name: 'often',
    trigger_type: 'interval',
    trigger_schedule: { interval_minutes: 60 },
    action_context: 'look',
  })
  await commands.createIntent(turn, {
    intent_name: 'cheap',
    trigger_type: 'price',
    trigger_condition: { ticker: 'NVDA', operator: '<', value: 130 },
    action_context: 'say so',
  })
  commands.createWork(turn, {
    task: 'tidy',
    agent_type: 'chores',
    frequency: 'every 2 hours',
    parameters: { notify_session: turn.session.key },
  })
}

async function plansOf(first: string, text: string): Promise<Plan> {
  await empty.query(first)
  try {
    const { rows } = await empty.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `explain (generic_plan, format json) ${text}`,
    )
    const [row] = rows
    if (row === undefined) throw new Error('no plan')
    return row['QUERY PLAN'][0].Plan
  } finally {
    await empty.query('rollback')
  }
}

function* scans(plan: Plan): Generator<Plan> {
  if (plan['Relation Name'] !== undefined || plan['Node Type'] === 'Bitmap Index Scan') yield plan
  for (const inner of plan.Plans ?? []) yield* scans(inner)
}

function readsAll(scan: Plan): boolean {
  const node = scan['Node Type']
  if (
    !node.endsWith('Scan') ||
    node === 'Bitmap Heap Scan' ||
    WHOLE.includes(scan['Relation Name'] ?? '')
  )
    return false
  return (
    scan['Index Cond'] === undefined &&
    scan['TID Cond'] === undefined &&
    !IN_ORDER.has(scan['Index Name'] ?? '')
  )
}

/** A key of which the index finds only the bucket: it reads all rows of a person, and of others who share it. */
function readsBucket(scan: Plan): boolean {
  return /^\(bucket = (ANY \(ARRAY\[)?[^ ]+\)$/.test(scan['Index Cond'] ?? '')
}

async function keyless(): Promise<string[]> {
  const found: string[] = []
  for (const { first, text } of ran.values()) {
    for (const scan of scans(await plansOf(first, text)))
      if (readsAll(scan) || readsBucket(scan)) {
        const name = scan['Index Name'] ?? scan['Relation Name']
        const how = `${scan['Index Cond']} filter ${scan.Filter}`
        found.push(`${scan['Node Type']} ${name} by ${how} in: ${text.slice(0, 300)}`)
      }
  }
  return found
}

it('planned for an empty database, no statement of the engine or the ledger reads a table without a key', async () => {
  for (const user of ['ann', 'ben'])
    await s.call('POST', `/v1/sessions/${user}:bot:t/messages`, { text: 'go' })
  await s.settle()
  await s.call('POST', '/v1/signals', { kind: 'price', ticker: 'NVDA', price: 125 })
  for (let step = 0; step < 5; step++) await s.advanceBy(3_600_000)
  const client = await Client.open(s.url, 'ann:bot:t')
  await s.settle()
  const [said] = await client.hears(1)
  client.ack(said?.id)
  await client.roundTrip()
  await s.call('GET', '/v1/ledger')
  expect(await s.query('select distinct type from wakeful.events order by 1')).toEqual(
    ['alarm', 'intent', 'timer', 'user_message', 'work'].map((type) => ({ type })),
  )
  expect(ran.size).toBeGreaterThan(20)
  expect([...ran.values()].some(({ text }) => text.includes('"eventSeq"'))).toBe(true)
  await expect.poll(() => [...ran.values()].some(({ text }) => text.includes('bool_or'))).toBe(true)
  expect(await keyless()).toEqual([])
  // Before version 17 an array on a later column of a key may be left out of the index scan.
  const later = /\.(?!bucket |id |token |place )\w+ = any\(array\[/
  expect([...ran.values()].filter(({ text }) => later.test(text))).toEqual([])
  // One person with many sessions, of which no statistics tell.
  await empty.query(
    `insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, created_at, updated_at)
     select 7, 'ann:bot:' || n, 'ann', 'bot', n, now(), now() from generate_series(1, 5000) n`,
  )
  expect(await keyless()).toEqual([])
  await empty.query('truncate wakeful.sessions cascade')
  // Now it is known to be empty; before, the planner assumed that a table has ten pages.
  await empty.query('vacuum analyze')
  expect(await keyless()).toEqual([])
})
