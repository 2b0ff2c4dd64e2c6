/**
 * docs/sql holds the hot statements as they are sent to PostgreSQL, so that they can be pasted into psql. This test runs a small
 * scenario, captures what the engine sent, and compares. UPDATE_SQL=1 writes the pages.
 */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import * as commands from '../../src/agents/commands.ts'
import type { Turn } from '../../src/agents/function.ts'
import { FOR_MANY } from '../../src/store/statement.ts'
import { Client } from '../sessions/live.ts'
import { type Stage, stage } from '../setup/listening-app.ts'
import { dropDatabases, postgresDatabase } from '../setup/stores.ts'

const FOLDER = fileURLToPath(new URL('../../docs/sql/', import.meta.url))

/** What each page shows, and how its statement is recognised among all that were sent. */
const PAGES: Readonly<Record<string, readonly [purpose: string, statement: RegExp]>> = {
  'append-events': [
    'Append events to sessions: assign seq, deduplicate by client id, cancel pending timers, make the session due.',
    /^with input as materialized .*insert into wakeful\.events/,
  ],
  'claim-turns': [
    'Claim due sessions under a lease, and read the next event and the state of each.',
    /^with claimed as \( ?update wakeful\.sessions/,
  ],
  'commit-turns': [
    'Commit turns if the fence still holds: checkpoint, counters, effects and the proof of each turn.',
    /^with heads as \( ?update wakeful\.sessions .*insert into wakeful\.attempts/,
  ],
  'claim-timers': [
    'Lease the idle sessions of due timers, for turns whose events do not exist yet.',
    /^with due as materialized .*wakeful\.autonomy_timers .*order by t\.fire_at limit .*insert into wakeful\.leases/,
  ],
  'commit-timers': [
    'Commit turns of timers together with their events, if the fence still holds.',
    /^with heads as \( ?update wakeful\.sessions .*insert into wakeful\.events/,
  ],
  'promote-timers': [
    'Turn due timers into events, in the order of their times.',
    /^with taken as \( ?delete from wakeful\.autonomy_timers .*t\.timer_id = i\.timer_id/,
  ],
  'due-alarms': ['Claim due alarms.', /^with taken as materialized \(.*wakeful\.alarms/],
  'promote-alarms': [
    'Turn the slots of claimed alarms into events.',
    /^with taken as \( ?update wakeful\.alarms/,
  ],
  'due-intents': [
    'Claim intents that are due for a check.',
    /^with taken as materialized \(.*wakeful\.scheduled_intents/,
  ],
  'promote-intents': [
    'Turn the slots of fired intents into events.',
    /^with taken as \( ?update wakeful\.scheduled_intents/,
  ],
  'due-work': ['Claim due work.', /^with taken as materialized \(.*wakeful\.work /],
  'promote-work': [
    'Create the outputs of due runs, and their events.',
    /^with taken as \( ?update wakeful\.work /,
  ],
  undelivered: [
    'Read the undelivered effects of sessions that have a socket in this process.',
    /^select e\.\* from .* cross join lateral .*wakeful\.effects/,
  ],
  'record-receipts': [
    'Record what became of delivered effects.',
    /^with r as materialized .*bool_or\(done\)/,
  ],
}

const sent = new Set<string>()
const made: string[] = []
let s: Stage
let client: pg.Client

beforeAll(async () => {
  const query = pg.Client.prototype.query as (...args: unknown[]) => unknown
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: object,
    ...args: unknown[]
  ) {
    const [what] = args
    if (typeof what === 'object') {
      const { text } = what as { text: string }
      sent.add(FOR_MANY.get(text) ?? text)
    }
    return query.apply(this, args)
  } as never)
  const database = await postgresDatabase(made)
  s = await stage(database, {
    agents: { bot },
    work: { chores: async () => ({ title: 'Done', content: 'done' }) },
  })
  client = new pg.Client({ connectionString: database })
  await client.connect()
})

afterAll(async () => {
  vi.restoreAllMocks()
  await client.end()
  await s.stop()
  await dropDatabases(made)
})

/** Creates one trigger of each kind. */
async function bot(turn: Turn): Promise<void> {
  if (turn.event.type !== 'user_message') return
  turn.say('yes')
  turn.schedule('nudge', { in: 60, cancelOnReply: true })
  turn.schedule('nudge again', { in: 60, cancelOnReply: true })
  commands.setAlarm(turn, { schedule: 'in 2 minutes', wake_message: 'up' })
  await commands.createIntent(turn, {
    intent_name: 'often',
    trigger_type: 'interval',
    trigger_schedule: { interval_minutes: 60 },
    action_context: 'look',
  })
  commands.createWork(turn, { task: 'tidy', agent_type: 'chores', frequency: 'every 2 hours' })
}

/** Without the indentation of the source file; comments and line breaks stay. */
function dedented(text: string): string {
  const [first = '', ...rest] = text.trim().split('\n')
  const depth = Math.min(...rest.map((line) => line.search(/\S/)).filter((at) => at >= 0))
  return [first, ...rest.map((line) => line.slice(Math.max(0, depth - 2)))].join('\n')
}

it('docs/sql shows the hot statements as they are sent, and PostgreSQL prepares each of them', async () => {
  await s.call('POST', '/v1/sessions/ann:bot:t/messages', { text: 'go' })
  await s.settle()
  for (let step = 0; step < 3; step++) await s.advanceBy(3_600_000)
  const socket = await Client.open(s.url, 'ann:bot:t')
  await s.settle()
  const [said] = await socket.hears(1)
  socket.ack(said?.id)
  await socket.roundTrip()
  await expect.poll(() => [...sent].some((text) => text.includes('bool_or'))).toBe(true)
  const pages = Object.entries(PAGES).map(([name, [purpose, form]]) => {
    const found = [...sent].filter((text) => form.test(text.replaceAll(/\s+/g, ' ').trim()))
    expect(found, `statements of ${name}`).toHaveLength(1)
    const body = `prepare ${name.replaceAll('-', '_')} as\n${dedented(found[0] ?? '')};\n`
    return [`${name}.sql`, `-- ${purpose}\n${body}`] as const
  })
  for (const [name, page] of pages)
    await client.query(page).catch((error: Error) => {
      throw new Error(`${name}: ${error.message}\n${page}`)
    })
  if (process.env.UPDATE_SQL === '1') {
    mkdirSync(FOLDER, { recursive: true })
    for (const [name, page] of pages) writeFileSync(`${FOLDER}${name}`, page)
  }
  expect(readdirSync(FOLDER).sort()).toEqual(pages.map(([name]) => name).sort())
  for (const [name, page] of pages)
    expect(page, `docs/sql/${name}: UPDATE_SQL=1 writes it`).toBe(
      readFileSync(`${FOLDER}${name}`, 'utf8'),
    )
})
