/** How the last day and the last week went, hour by hour: what plots are drawn from. */
import { z } from 'zod'
import { type Across, operation } from '../../api/contract.ts'
import { everywhere } from '../../api/shards.ts'
import { keyPart } from '../../core/fields.ts'
import {
  type Hours,
  heldByHour,
  runsUnderWay,
  SLOTS_LOOKED_AT,
  slotsByHour,
  TURNS_LOOKED_AT,
} from './activity-rows.ts'
import { TRIGGER_KINDS } from './rules.ts'

const HOUR_MS = 3_600_000
const DAY_HOURS = 24
const WEEK_HOURS = 7 * DAY_HOURS
const instant = z.iso.datetime()

const output = z.object({
  now: instant,
  slots: z
    .array(
      z.object({
        at: instant.describe('The beginning of the hour.'),
        kind: z.enum(TRIGGER_KINDS),
        slots: z.int().describe(`At most ${SLOTS_LOOKED_AT} of an hour are looked at.`),
        late: z.int().describe('Of those: taken up more than a second after they were due.'),
        worst_ms: z.number().describe('The latest of them.'),
      }),
    )
    .describe('What became due in the last day, by hour and trigger.'),
  held: z
    .array(z.object({ at: instant, rule: z.string(), messages: z.int() }))
    .describe(
      `Messages held back in the last week, by hour and rule; at most ${TURNS_LOOKED_AT} turns of an hour are looked at.`,
    ),
  runs: z
    .array(
      z.object({
        work_id: z.uuid(),
        task: z.string(),
        user_id: z.string(),
        run_number: z.int(),
        status: z.enum(['pending', 'running']),
        progress: z.number().nullable().describe('From 0 to 1, as the executor told.'),
        progress_note: z.string().nullable(),
        started_at: instant.nullable(),
      }),
    )
    .describe('Runs of work that wait or go on, the oldest first.'),
})

type Activity = z.input<typeof output>

/** By their hours, and within one by their names, as each shard tells them. */
function inOrder<T>(found: ReadonlyMap<string, T>): T[] {
  const ordered = [...found].sort(([a], [b]) => (a < b ? -1 : 1))
  return ordered.map(([, each]) => each)
}

/** What each shard says, as one: hours added up, the latest of all, runs one after the other. */
const mergedActivity: Across = async (shards, ask) => {
  const all = (await everywhere(shards, ask)).map(({ body }) => body as Activity)
  const slots = new Map<string, Activity['slots'][number]>()
  for (const each of all.flatMap(({ slots }) => slots)) {
    const key = `${+new Date(each.at)} ${each.kind}`
    const { slots: count = 0, late = 0, worst_ms = 0 } = slots.get(key) ?? {}
    slots.set(key, {
      ...each,
      slots: count + each.slots,
      late: late + each.late,
      worst_ms: Math.max(worst_ms, each.worst_ms),
    })
  }
  const held = new Map<string, Activity['held'][number]>()
  for (const each of all.flatMap(({ held }) => held)) {
    const key = `${+new Date(each.at)} ${each.rule}`
    held.set(key, { ...each, messages: (held.get(key)?.messages ?? 0) + each.messages })
  }
  const runs = all.flatMap(({ runs }) => runs)
  return { body: { ...all[0], slots: inOrder(slots), held: inOrder(held), runs } }
}

/** So many whole hours, the one that is not over yet among them. */
function hoursUntil(now: Date, count: number, userId: string | null): Hours {
  const first = Math.floor(now.getTime() / HOUR_MS) - count + 1
  const at = (hour: number) => new Date((first + hour) * HOUR_MS)
  const hours = Array.from({ length: count }, (_, hour) => hour)
  return { userId, from: hours.map(at), to: hours.map((hour) => at(hour + 1)) }
}

export const activity = [
  operation({
    name: 'get_activity',
    method: 'GET',
    path: '/v1/activity',
    tag: 'Overview',
    summary: 'How the last day and the last week went, hour by hour',
    description:
      'How much became due and how late it was taken up in each hour of the last day, which messages were held back by which rule in each hour of the last week, and how far the work is that runs now.',
    query: z.object({ user_id: keyPart.optional().describe('Whose. Admin and service only.') }),
    across: mergedActivity,
    owner: 'query',
    roles: ['admin', 'service', 'agent', 'user'],
    output,
    async run(ctx) {
      const userId = ctx.owner ?? null
      const { now, runs } = await runsUnderWay(ctx.db, userId)
      const slots = await slotsByHour(ctx.db, hoursUntil(now, DAY_HOURS, userId))
      const held = await heldByHour(ctx.db, hoursUntil(now, WEEK_HOURS, userId))
      return { body: { now, slots, held, runs } }
    },
  }),
]
