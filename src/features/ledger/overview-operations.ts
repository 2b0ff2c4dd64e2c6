/** What is to come and what waits, the rules in force, and who asks: what a console shows first. */
import { z } from 'zod'
import { LAST_INSTANT, localInstant } from '../../../packages/schedule/src/index.ts'
import { type Across, type Operation, operation, ROLES } from '../../api/contract.ts'
import { everywhere } from '../../api/shards.ts'
import { Refusal } from '../../core/errors.ts'
import { keyPart } from '../../core/fields.ts'
import type { Db } from '../../store/db.ts'
import { INTENTS_MAX } from '../intents/checks.ts'
import { TRIGGER_KINDS } from './rules.ts'
import { onlyLooks, repeatingOf, SLOTS_PER_TRIGGER_MAX, slotsUntil } from './upcoming.ts'
import {
  COUNTED_MAX,
  type Due,
  reading,
  readWaiting,
  upcoming,
  type Window,
} from './upcoming-rows.ts'

const SLOTS_PER_LANE_MAX = 200
const DAY_MS = 86_400_000
const SPAN_MAX_MS = 31 * DAY_MS

const readers = ['admin', 'service', 'agent', 'user'] as const
const instant = z.iso.datetime()

function when(description: string) {
  return z
    .string()
    .max(64)
    .refine((text) => localInstant(text, 'UTC') !== null, {
      error: 'must be an instant such as 2030-01-31T09:00:00Z, before the year 10000',
    })
    .optional()
    .describe(description)
}

const slot = z.object({
  trigger_id: z.uuid(),
  name: z.string(),
  at: instant,
  user_id: z.string(),
  session_key: z.string().optional(),
  by: z
    .string()
    .nullable()
    .describe('The agent that will run, or the executor; null: somebody outside.'),
  repeats: z.boolean(),
  checks: z
    .boolean()
    .optional()
    .describe('Of an intent with a condition: only looked at then, maybe not fired.'),
  attempt: z.int().optional().describe('Of an alarm: attempts at this slot that have failed.'),
})

const lane = z.object({
  slots: z.array(slot).describe(`Soonest first, at most ${SLOTS_PER_LANE_MAX}.`),
  triggers: z
    .int()
    .describe(`How many have their next slot in the window; counted to ${COUNTED_MAX}.`),
  more: z.boolean().describe('There are slots in the window that are not shown.'),
})

const overview = z.object({
  now: instant,
  from: instant.nullable(),
  to: instant,
  lanes: z.object({ timer: lane, alarm: lane, intent: lane, work: lane }),
  figures: z.object({
    due_lag_ms: z.number().describe('How long the oldest due slot or session has waited.'),
    undelivered: z.int().describe(`Messages no reader has taken; counted to ${COUNTED_MAX}.`),
    oldest_undelivered_at: instant.nullable(),
    sessions_waiting: z.int(),
  }),
})

interface Lane {
  readonly rows: readonly Due[]
  readonly total: number
}

async function readLanes(db: Db, window: Window): Promise<Lane[]> {
  const read: Lane[] = []
  for (const kind of TRIGGER_KINDS) read.push(await upcoming(db, kind, window))
  return read
}

function slotOf(row: Due, repeats: boolean): Omit<z.output<typeof slot>, 'at'> {
  const { id: trigger_id, name, user_id, session_key, agent: by, attempt } = row
  return {
    ...{ trigger_id, name, user_id, by, repeats },
    session_key: session_key ?? undefined,
    checks: onlyLooks(row) || undefined,
    attempt: attempt || undefined,
  }
}

function laneView({ rows, total }: Lane, now: Date, to: Date) {
  const each = rows.map((row) => {
    const repeating = repeatingOf(row)
    // One more than is shown, to know whether there is more.
    const at = slotsUntil(row.at, repeating, now, to, SLOTS_PER_TRIGGER_MAX + 1)
    return { slot: slotOf(row, repeating !== null), at }
  })
  const slots = each
    .flatMap(({ slot, at }) =>
      at.slice(0, SLOTS_PER_TRIGGER_MAX).map((one) => ({ ...slot, at: one.toISOString() })),
    )
    .sort((a, b) => (a.at < b.at ? -1 : 1))
  const more =
    slots.length > SLOTS_PER_LANE_MAX ||
    total > rows.length ||
    each.some(({ at }) => at.length > SLOTS_PER_TRIGGER_MAX)
  return { slots: slots.slice(0, SLOTS_PER_LANE_MAX), triggers: total, more }
}

type Overview = z.input<typeof overview>
type LaneView = Overview['lanes']['timer']

/** What each shard says, as one: what is to come merged by time, what waits added up. */
const mergedOverview: Across = async (shards, ask) => {
  const answers = await everywhere(shards, ask)
  const all = answers.map(({ body }) => body as Overview)
  const [first] = all
  const lane = (kind: (typeof TRIGGER_KINDS)[number]) =>
    mergedLane(all.map(({ lanes }) => lanes[kind]))
  const sum = (of: (each: Overview['figures']) => number) =>
    all.reduce((total, { figures }) => total + of(figures), 0)
  const oldest = all.flatMap(({ figures }) => figures.oldest_undelivered_at ?? [])
  return {
    body: {
      ...first,
      lanes: Object.fromEntries(TRIGGER_KINDS.map((kind) => [kind, lane(kind)])),
      figures: {
        due_lag_ms: Math.max(...all.map(({ figures }) => figures.due_lag_ms)),
        undelivered: Math.min(
          COUNTED_MAX,
          sum((each) => each.undelivered),
        ),
        oldest_undelivered_at: oldest.toSorted((a, b) => +new Date(a) - +new Date(b))[0] ?? null,
        sessions_waiting: sum((each) => each.sessions_waiting),
      },
    },
  }
}

function mergedLane(all: readonly LaneView[]): LaneView {
  const slots = all.flatMap(({ slots }) => slots).sort((a, b) => (a.at < b.at ? -1 : 1))
  const triggers = all.reduce((sum, { triggers }) => sum + triggers, 0)
  return {
    slots: slots.slice(0, SLOTS_PER_LANE_MAX),
    triggers: Math.min(COUNTED_MAX, triggers),
    more: slots.length > SLOTS_PER_LANE_MAX || all.some(({ more }) => more),
  }
}

const getOverview = operation({
  name: 'get_overview',
  method: 'GET',
  path: '/v1/overview',
  tag: 'Overview',
  summary: 'What is to come in each lane, and what waits',
  description:
    'The next slots of timers, alarms, intents and work up to `to` (a day from now by default, at most 31 days), soonest first, those of what recurs each on its own, and figures of what waits. Without `from` what is overdue comes, too. What has been is in the ledger.',
  query: z.object({
    from: when('Not before this instant.'),
    to: when('Up to this instant.'),
    user_id: keyPart.optional(),
  }),
  across: mergedOverview,
  owner: 'query',
  roles: readers,
  output: overview,
  async run(ctx, { query }) {
    const userId = ctx.owner ?? null
    const waiting = await readWaiting(ctx.db, userId)
    const { now } = waiting
    const from = instantOf(query.from)
    const dayLater = Math.min((from ?? now).getTime() + DAY_MS, LAST_INSTANT)
    const to = instantOf(query.to) ?? new Date(dayLater)
    const span = to.getTime() - (from ?? now).getTime()
    if (span < 0)
      throw new Refusal('rule', `to: must not be before ${from === null ? 'now' : 'from'}`)
    if (span > SPAN_MAX_MS)
      throw new Refusal('rule', 'to: at most 31 days after from, or after now')
    const window = { userId, from, to, limit: SLOTS_PER_LANE_MAX }
    const read = await reading(ctx.db, userId, (db) => readLanes(db, window))
    const lanes = read.map((lane, index) => [TRIGGER_KINDS[index], laneView(lane, now, to)])
    const due = read.flatMap(({ rows }) => rows.slice(0, 1).map(({ at }) => at))
    const oldest = Math.min(...[...due, waiting.oldest_session_at ?? now].map((at) => at.getTime()))
    return {
      body: {
        now,
        from,
        to,
        lanes: Object.fromEntries(lanes),
        figures: {
          due_lag_ms: Math.max(0, now.getTime() - oldest),
          undelivered: waiting.undelivered,
          oldest_undelivered_at: waiting.oldest_undelivered_at,
          sessions_waiting: waiting.sessions_waiting,
        },
      },
    }
  },
})

function instantOf(text: string | undefined): Date | null {
  return text === undefined ? null : new Date(localInstant(text, 'UTC') ?? 0)
}

const getRules = operation({
  name: 'get_rules',
  method: 'GET',
  path: '/v1/rules',
  tag: 'Overview',
  summary: 'The limits in force on what agents do on their own',
  owner: 'caller',
  roles: readers,
  output: z.object({
    autonomy_enabled: z.boolean(),
    max_consecutive: z.int().describe('Unanswered follow-ups of an agent in a row.'),
    cooldown_ms: z.int().describe('Between a follow-up and what the agent said unasked before it.'),
    intents_max: z.int().describe('Enabled intents of one person.'),
  }),
  async run({ kernel }) {
    const { autonomy, maxConsecutive, cooldownMs } = kernel.policy
    return {
      body: {
        autonomy_enabled: autonomy,
        max_consecutive: maxConsecutive,
        cooldown_ms: cooldownMs,
        intents_max: INTENTS_MAX,
      },
    }
  },
})

const getMe = operation({
  name: 'get_me',
  method: 'GET',
  path: '/v1/me',
  tag: 'Keys',
  summary: 'Whom the credentials of this request stand for',
  owner: 'caller',
  roles: ROLES,
  output: z.object({
    role: z.enum(ROLES),
    user_id: z.string().nullable().describe('Null: nobody in particular, so everybody.'),
    agent_id: z.string().nullable(),
    acting_for: z.boolean(),
  }),
  async run({ actor }) {
    const { role, userId, agentId, actAs } = actor
    return { body: { role, user_id: userId, agent_id: agentId, acting_for: actAs } }
  },
})

export const overviews: readonly Operation[] = [getOverview, getRules, getMe]
