/**
 * A clock that was ahead and was set right leaves rows behind that nobody would touch for as long as it was ahead: leases that end
 * then, and due times that were computed by it. This finds such rows by their stamps, and pulls them back.
 */

import { CLOCK_STEP_MS } from '../../packages/schedule/src/count.ts'
import { pulledSlot } from '../../packages/schedule/src/moved.ts'
import { HELD_UNTIL } from '../features/limits/stops.ts'
import type { Db } from './db.ts'
import { inMs, NOW } from './due.ts'
import { moveSlots } from './zoned.ts'

/** What is stamped later than this was written by a clock that was ahead. */
const AHEAD = inMs(String(CLOCK_STEP_MS))

/** Stamps that an index, or a table of a few rows, gives at once. Whatever the engine does leaves one of them. */
const STAMPS = [
  'select max(created_at) from wakeful.events where scheduled_for is not null and seq >= 1',
  'select max(created_at) from wakeful.sessions',
  'select max(at) from wakeful.audit_log',
  'select max(created_at) from wakeful.alarm_wakes where attempts >= 1',
  'select max(executed_at) from wakeful.intent_executions where event_seq is null and repeats >= 1',
  `select max(claimed_at) from wakeful.sessions where due_at is not null and due_at <= ${NOW}`,
  'select max(updated_at) from wakeful.source_polls',
  'select max(updated_at) from wakeful.channel_readers',
]

/** The newest stamp, by how far it is ahead of the clock; 0 where none is, but for the grain of clocks. */
export async function stampedAheadMs(db: Db): Promise<number> {
  const [row] = await db.query<{ ms: number | null }>(
    `select extract(epoch from greatest(${STAMPS.map((stamp) => `(${stamp})`)}) - ${NOW})::float8 * 1000 as ms`,
    [db.now()],
  )
  const ms = row?.ms ?? 0
  return ms > CLOCK_STEP_MS ? ms : 0
}

/** Ends of leases, each in a table with `claim_token`. */
const LEASES = [
  ['sessions', 'leased_until'],
  ['channel_readers', 'leased_until'],
  ['alarms', 'due_at'],
  ['effects', 'due_at'],
  ['source_polls', 'due_at'],
  ['subscription_deliveries', 'due_at'],
] as const

/** Waits that were computed from a time that was ahead: shortened by how far it was, never to before now. */
const WAITS: readonly { table: string; columns: readonly string[]; where: string }[] = [
  { table: 'sessions', columns: ['due_at'], where: 'true' },
  { table: 'effects', columns: ['due_at'], where: 'claim_token is null' },
  { table: 'source_polls', columns: ['due_at'], where: 'claim_token is null' },
  { table: 'subscription_deliveries', columns: ['due_at'], where: 'claim_token is null' },
  {
    table: 'alarms',
    columns: ['due_at', 'next_fire_at'],
    where: 'claim_token is null and attempt > 0',
  },
  { table: 'deferred', columns: ['release_at'], where: `deferred_at > ${AHEAD}` },
  { table: 'scheduled_intents', columns: ['claimed_until'], where: 'claim_token is not null' },
  {
    table: 'scheduled_intents',
    columns: ['next_check'],
    where: `enabled and greatest(updated_at, last_checked) > ${AHEAD} and (trigger_type not in ('cron', 'interval', 'once')
      or last_execution_status in ('failed', 'gate_blocked'))`,
  },
]

/** Instants that count as the past: one ahead of now would keep a follow-up cooling down, or somebody from being silent. */
const PAST = ['last_autonomous_at', 'last_user_at'] as const

const HELD = `timestamptz '${HELD_UNTIL.toISOString()}'`

/** Each takes the time, and, where it asks for one, the number it is listed under. */
const PULL: Readonly<Record<'leaseMs' | 'aheadMs' | 'nothing', readonly string[]>> = {
  leaseMs: [
    ...LEASES.map(([table, column]) => endsBy(table, column, 'claim_token is not null')),
    endsBy('leases', 'ends_at', 'true'),
  ],
  aheadMs: WAITS.map(({ table, columns: [due = '', ...also], where }) => {
    const pulled = `greatest(${NOW}, ${due} - $2::float8 * interval '1 millisecond')`
    return `update wakeful.${table} set ${[due, ...also].map((column) => `${column} = ${pulled}`)}
      where ${due} > ${NOW} and ${due} < ${HELD} and ${where} returning 1 as one`
  }),
  nothing: PAST.map(
    (column) =>
      `update wakeful.sessions set ${column} = ${NOW} where ${column} > ${AHEAD} returning 1 as one`,
  ),
}

function endsBy(table: string, column: string, where: string): string {
  const end = inMs('$2::int')
  return `update wakeful.${table} set ${column} = ${end} where ${where} and ${column} > ${end} returning 1 as one`
}

/** Answers how many rows were pulled back. */
export async function pullBack(
  db: Db,
  given: { readonly leaseMs: number; readonly aheadMs: number },
): Promise<number> {
  const now = db.now()
  let pulled = 0
  for (const text of PULL.leaseMs) pulled += (await db.query(text, [now, given.leaseMs])).length
  for (const text of PULL.aheadMs) pulled += (await db.query(text, [now, given.aheadMs])).length
  for (const text of PULL.nothing) pulled += (await db.query(text, [now])).length
  const moved = await moveSlots(db, 'ahead', (row) => pulledSlot(row, row.slot, row.now))
  return pulled + Object.values(moved).reduce((sum, count) => sum + count, 0)
}
