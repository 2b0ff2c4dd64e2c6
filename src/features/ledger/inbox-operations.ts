/** The inbox: unhandled failures, open questions, undelivered messages and stops. */
import { z } from 'zod'
import { type Across, type Context, listQuery, operation } from '../../api/contract.ts'
import { everywhere } from '../../api/shards.ts'
import { keyPart } from '../../core/fields.ts'
import type { Db } from '../../store/db.ts'
import { readPage } from '../../store/page.ts'
import { stopView, stopViewOf } from '../limits/stop-operations.ts'
import { STOPS, type StopRow } from '../limits/stop-rows.ts'
import { questionView, questionViewOf } from '../questions/operations.ts'
import { listQuestions } from '../questions/rows.ts'
import { entryOf } from './entry-operations.ts'
import { failingSlots, ranWellSince, standingTriggers } from './failure-rows.ts'
import { type SlotMark, slotMarks } from './mark-rows.ts'
import { ledgerEntry } from './operations.ts'
import { ledgerNow } from './rows.ts'
import { judgeSlot } from './rules.ts'
import { gatherSlots, type Slot } from './slot-operations.ts'
import { undeliveredSince } from './undelivered-rows.ts'

const LIMIT = { max: 200, default: 50 } as const
const LOOK_BACK_MS = 30 * 86_400_000
const UNDELIVERED_MS = 5 * 60_000
/** Counting stops here. */
const COUNTED_MAX = 1_000

const output = z.object({
  failures: z.array(
    ledgerEntry.extend({ retryable: z.boolean().describe('Its trigger can be run again.') }),
  ),
  questions: z.array(questionView).describe('Those that are open, newest first.'),
  undelivered: z.array(
    z.object({
      session_key: z.string(),
      effect_id: z.uuid(),
      created_at: z.iso.datetime(),
      preview: z.string(),
      reason: z.string().describe('Why it has not arrived.'),
    }),
  ),
  stops: z.array(stopView).describe('What stands; for admin and service keys.'),
  counts: z.object({
    failures: z.int(),
    questions: z.int(),
    undelivered: z.int(),
    stops: z.int(),
  }),
})
type Inbox = z.input<typeof output>
const PARTS = ['failures', 'questions', 'undelivered', 'stops'] as const

const limitOf = (query: unknown) => (query as { limit: number }).limit

const newest = (each: { created_at?: unknown; at?: unknown }) =>
  new Date((each.created_at ?? each.at) as Date).getTime()

/** Stops are stored in the first shard only. */
const mergedInbox: Across = async (shards, ask, { query }) => {
  const all = (await everywhere(shards, ask)).map(({ body }) => body as Inbox)
  const merged = PARTS.map((part) => {
    const rows = part === 'stops' ? (all[0]?.stops ?? []) : all.flatMap((each) => each[part] as [])
    return [part, [...rows].sort((a, b) => newest(b) - newest(a)).slice(0, limitOf(query))]
  })
  const counts = PARTS.map((part) => {
    const each = part === 'stops' ? all.slice(0, 1) : all
    return [part, each.reduce((sum, { counts }) => sum + counts[part], 0)]
  })
  return { body: { ...Object.fromEntries(merged), counts: Object.fromEntries(counts) } }
}

const inboxOp = operation({
  name: 'get_inbox',
  method: 'GET',
  path: '/v1/inbox',
  tag: 'Overview',
  summary: 'What needs attention: failures, open questions, undelivered messages, stops',
  description:
    'A failure of the last 30 days stays until its retry got through or somebody dismissed it, newest first. Undelivered is what no reader has taken for five minutes. Each list holds up to `limit`; counts go up to a thousand.',
  query: listQuery(LIMIT)
    .omit({ cursor: true })
    .extend({ user_id: keyPart.optional().describe('Whose. Admin and service only.') }),
  across: mergedInbox,
  owner: 'query',
  roles: ['admin', 'service', 'agent', 'user'],
  output,
  async run(ctx, { query: { limit } }) {
    const userId = ctx.owner ?? null
    const failures = await failuresOf(ctx, userId)
    const { agentId } = ctx.actor
    const own = userId === null || agentId === null ? null : `${userId}:${agentId}:`
    const where = { 'starts_with(session_key, $)': own, status: 'open' }
    const questions = await listQuestions(ctx.db, { owner: userId, where, limit: COUNTED_MAX })
    const undelivered = await undeliveredSince(ctx.db, userId, UNDELIVERED_MS, COUNTED_MAX)
    const stops = (await stopsOf(ctx, userId)).map(stopViewOf)
    return {
      body: {
        failures: failures.slice(0, limit),
        questions: questions.slice(0, limit).map(questionViewOf),
        undelivered: undelivered.slice(0, limit),
        stops: stops.slice(0, limit),
        counts: {
          failures: failures.length,
          questions: questions.length,
          undelivered: undelivered.length,
          stops: stops.length,
        },
      },
    }
  },
})

async function failuresOf({ db }: Context, userId: string | null) {
  const rows = await failingSlots(db, userId, LOOK_BACK_MS)
  const slots = (await gatherSlots(db, rows)).filter(
    ({ facts }) => judgeSlot(facts).outcome === 'failed',
  )
  const keys = slots.flatMap(({ row: { bucket, id, trigger_id } }) =>
    trigger_id === null ? [] : [{ bucket, id, trigger_id }],
  )
  const standing = await standingTriggers(db, keys)
  const marks = await slotMarks(db, slots)
  const since = slots.flatMap((slot) => sinceOf(slot, marks.get(slot.row.id), standing) ?? [])
  const handled = await ranWellSince(db, since)
  const now = await ledgerNow(db)
  return slots
    .filter(({ row }) => !handled.has(row.id))
    .map((slot) => ({
      ...entryOf(slot, 'UTC', now, marks.get(slot.row.id)),
      retryable: isRetryable(slot, standing),
    }))
}

/** When a later success counts as the retry. A recurring trigger needs an explicit retry. */
function sinceOf(
  { row: { bucket, id, trigger_id, at } }: Slot,
  mark: SlotMark | undefined,
  standing: ReadonlyMap<string, boolean>,
) {
  if (trigger_id === null) return null
  const { retried_at = null, retried_as = null } = mark ?? {}
  if (retried_at === null && standing.get(id) === true) return null
  return { bucket, id, trigger_id: retried_as ?? trigger_id, after: retried_at ?? at }
}

function isRetryable({ row }: Slot, standing: ReadonlyMap<string, boolean>): boolean {
  if (row.kind === 'question') return false
  return row.kind === 'timer' ? row.source === 'event' : standing.has(row.id)
}

/** For admin and service: the stops in force, or those that concern one person. */
async function stopsOf(ctx: Context, userId: string | null): Promise<readonly StopRow[]> {
  const { db, whole, actor, kernel } = ctx
  if (actor.role !== 'admin' && actor.role !== 'service') return []
  // A transaction with one person's rights cannot read stops, so use those that this process has loaded.
  const all = whole ?? db
  const standing = actor.userId === null ? await read(all.home ?? all) : kernel.app.stops.standing
  if (userId === null) return standing
  return standing.filter(({ level, target }) => level !== 'user' || target === userId)
}

const read = (db: Db) =>
  readPage(db, STOPS, { where: { '(ended_at is null)': true }, limit: COUNTED_MAX })

export const inbox = [inboxOp]
