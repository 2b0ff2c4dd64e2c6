/**
 * The crons of LangGraph's API, at its own addresses and in its own words, so that `new Client({ apiUrl }).crons` of
 * `@langchain/langgraph-sdk` works here. Each enabled cron is an alarm that wakes the agent its assistant stands for.
 */
import { z } from 'zod'
import {
  type Across,
  type Context,
  idParam,
  opaqueJson,
  operation,
  wakeClockIfSoon,
} from '../../../../src/api/contract.ts'
import { everywhere } from '../../../../src/api/shards.ts'
import { Refusal } from '../../../../src/core/errors.ts'
import { cron, keyPart } from '../../../../src/core/fields.ts'
import { newId } from '../../../../src/core/ids.ts'
import { LOCAL_USER, ownerDidOf } from '../../../../src/core/session.ts'
import { scopeOf } from '../../../../src/features/alarms/operations.ts'
import { cancelAlarm, getAlarm } from '../../../../src/features/alarms/rows.ts'
import { databaseNow } from '../../../../src/store/due.ts'
import { RawJson } from '../../../exact-json/src/index.ts'
import {
  type CronChange,
  changedCron,
  changeFields,
  checkSchedule,
  draftOf,
  newCron,
  OPAQUE,
} from './cron.ts'
import {
  type CronFilter,
  type CronRow,
  countCrons,
  deleteCron,
  type KeptCron,
  keepCron,
  lockCron,
  SORTS,
  searchCrons,
} from './crons.ts'

const LIMIT_MAX = 1000
const TAG = 'LangGraph crons'
const WRITERS = ['admin', 'service', 'agent'] as const
const READERS = [...WRITERS, 'user'] as const

const view = z.object({
  cron_id: z.uuid(),
  assistant_id: z.string(),
  thread_id: z.string().nullable(),
  on_run_completed: z.literal('keep'),
  end_time: z.iso.datetime().nullable(),
  schedule: z.string(),
  timezone: z.string().nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  payload: z.unknown(),
  user_id: z.string(),
  next_run_date: z.iso.datetime().nullable(),
  metadata: z.unknown(),
  enabled: z.boolean(),
})
const SELECTED = [...(Object.keys(view.shape) as (keyof typeof view.shape)[]), 'now'] as const

function viewOf(row: CronRow) {
  return {
    cron_id: row.id,
    assistant_id: row.assistant_id,
    thread_id: row.thread_id,
    on_run_completed: 'keep' as const,
    end_time: row.end_time,
    schedule: row.schedule,
    timezone: row.timezone,
    created_at: row.created_at,
    updated_at: row.updated_at,
    payload: new RawJson(row.payload),
    user_id: row.user_id,
    next_run_date: row.next_run_date,
    metadata: new RawJson(row.metadata),
    // A cron that has ended, or whose alarm was cancelled, is disabled too.
    enabled: row.next_run_date !== null,
  }
}

const told = (row: CronRow) => ({ body: viewOf(row), about: { id: row.id, owner: row.user_id } })
const notFound = (id: string) => new Refusal('not_found', `there is no cron ${id}`)

const createFields = {
  assistant_id: keyPart.describe('The name of an agent.'),
  ...changeFields,
  schedule: cron.describe('Five fields.'),
}

/** Creates its alarm if it is enabled. */
async function put(ctx: Context, kept: KeptCron, enabled: boolean, change: boolean) {
  const alarm = enabled ? await ctx.kernel.writes.setAlarm(draftOf(kept, newId()), ctx.db) : null
  const cron: KeptCron = { ...kept, alarm_id: alarm?.row.id ?? null }
  const written = await keepCron(ctx.db, cron, change)
  if (alarm !== null) wakeClockIfSoon(ctx, alarm.row.next_fire_at, alarm.row.now)
  return told({ ...cron, ...written, next_run_date: alarm?.row.next_fire_at ?? null })
}

async function create(
  ctx: Context,
  asked: CronChange & { assistant_id: string },
  thread: string | null,
) {
  const { actor, kernel } = ctx
  const userId = actor.userId ?? LOCAL_USER
  const { assistant_id: assistant } = asked
  const isOther = actor.agentId !== null && actor.agentId !== assistant
  if (isOther || !kernel.agents.knows(assistant, userId)) {
    const known = isOther ? [actor.agentId] : kernel.agents.names.slice(0, 20)
    throw new Refusal(
      'not_found',
      `there is no assistant ${assistant}; known are ${known.join(', ')}`,
    )
  }
  const ownerDid = actor.ownerDid ?? ownerDidOf(userId)
  const who = { userId, ownerDid, assistantId: assistant, threadId: thread }
  const kept = newCron(who, asked, await databaseNow(ctx.db))
  return put(ctx, kept, asked.enabled ?? true, false)
}

const createOp = operation({
  name: 'create_langgraph_cron',
  method: 'POST',
  path: '/runs/crons',
  tag: TAG,
  summary: 'A cron that runs an assistant, on a fresh thread each time',
  body: z.object(createFields),
  opaque: OPAQUE,
  creates: true,
  owner: 'caller',
  roles: WRITERS,
  output: view,
  run: (ctx, { body }) => create(ctx, body, null),
})

const createForThreadOp = operation({
  name: 'create_langgraph_thread_cron',
  method: 'POST',
  path: '/threads/{thread_id}/runs/crons',
  tag: TAG,
  summary: 'A cron that runs an assistant on a thread',
  params: z.object({ thread_id: keyPart }),
  body: z.object(createFields),
  opaque: OPAQUE,
  creates: true,
  owner: 'caller',
  roles: WRITERS,
  output: view,
  run: (ctx, { params, body }) => create(ctx, body, params.thread_id),
})

const params = z.object({ cron_id: idParam })

const updateOp = operation({
  name: 'update_langgraph_cron',
  method: 'PATCH',
  path: '/runs/crons/{cron_id}',
  tag: TAG,
  summary: 'Change a cron, or switch it off or on',
  description:
    'Fields left out keep their value; `metadata` is merged, and `end_time` null removes the end.',
  params,
  body: z.object(changeFields),
  opaque: OPAQUE,
  owner: 'row',
  roles: WRITERS,
  output: view,
  async run(ctx, { params, body }) {
    const scope = scopeOf(ctx.actor)
    const before = await lockCron(ctx.db, scope, params.cron_id)
    if (before === null) throw notFound(params.cron_id)
    const kept = changedCron(before, body)
    const { alarm_id: id } = before
    const alarm = id === null ? null : await getAlarm(ctx.db, scope, id)
    const enabled = body.enabled ?? alarm?.status === 'active'
    const isTimed = body.schedule !== undefined || body.timezone !== undefined
    if (enabled || isTimed) checkSchedule(kept, await databaseNow(ctx.db))
    // Alarms are immutable: replace the old one in this transaction.
    if (id !== null) await cancelAlarm(ctx.db, scope, id)
    return put(ctx, kept, enabled, true)
  },
})

const deleteOp = operation({
  name: 'delete_langgraph_cron',
  method: 'DELETE',
  path: '/runs/crons/{cron_id}',
  tag: TAG,
  summary: 'Delete a cron; what it has run stays',
  params,
  status: 204,
  owner: 'row',
  roles: READERS,
  output: null,
  async run(ctx, { params }) {
    const scope = scopeOf(ctx.actor)
    const cron = await lockCron(ctx.db, scope, params.cron_id)
    if (cron === null) throw notFound(params.cron_id)
    if (cron.alarm_id !== null) await cancelAlarm(ctx.db, scope, cron.alarm_id)
    await deleteCron(ctx.db, cron)
    return { body: null, about: { id: cron.id, owner: cron.user_id } }
  },
})

const filterFields = {
  assistant_id: z.string().max(256).nullish(),
  thread_id: z.string().max(256).nullish(),
  metadata: opaqueJson.optional().describe('All of it must be found in the metadata of a cron.'),
}
const filters = z.object(filterFields)

function filterOf(
  ctx: Context,
  asked: z.output<typeof filters>,
  enabled?: boolean | null,
): CronFilter {
  const { metadata } = asked
  return {
    scope: scopeOf(ctx.actor),
    assistantId: asked.assistant_id ?? null,
    threadId: asked.thread_id ?? null,
    enabled: enabled ?? null,
    metadata: metadata === undefined || metadata.text === 'null' ? null : metadata.text,
  }
}

const search = z.object({
  ...filterFields,
  enabled: z.boolean().nullish(),
  limit: z.int().min(1).max(LIMIT_MAX).default(10),
  offset: z.int().min(0).max(1_000_000).default(0),
  sort_by: z.enum(Object.keys(SORTS) as (keyof typeof SORTS)[]).nullish(),
  sort_order: z.enum(['asc', 'desc']).nullish(),
  select: z.array(z.enum(SELECTED)).max(SELECTED.length).nullish(),
})
type Search = z.output<typeof search>

/** Selects the requested fields. */
function selected(rows: readonly Row[], { select }: Search): Row[] {
  const wanted = select ?? null
  if (wanted === null) return [...rows]
  return rows.map((row) => Object.fromEntries(wanted.map((name) => [name, row[name]])))
}
type Row = Readonly<Record<string, unknown>>

/** Merges the lists of all shards. */
const searchAcross: Across = async (shards, ask, input) => {
  const asked = input.body as Search
  const { offset, limit, sort_by, sort_order } = asked
  const body = { ...asked, limit: offset + limit, offset: 0, select: SELECTED }
  const answers = await everywhere(shards, (number) => ask(number, { ...input, body }))
  const rows = answers.flatMap((answer) => answer.body as Row[])
  const sign = sort_order === 'asc' ? 1 : -1
  const by = sort_by ?? 'created_at'
  rows.sort((a, b) => compared(a[by], b[by], sign) || compared(a.cron_id, b.cron_id, sign))
  return { body: selected(rows.slice(offset, offset + limit), asked) }
}

/** Rows without a value come last in both directions. */
function compared(a: unknown, b: unknown, sign: number): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  const [mine, other] = [a, b].map((each) => (each instanceof Date ? each.getTime() : String(each)))
  if (mine === undefined || other === undefined || mine === other) return 0
  return mine < other ? -sign : sign
}

const searchOp = operation({
  name: 'search_langgraph_crons',
  method: 'POST',
  path: '/runs/crons/search',
  tag: TAG,
  summary: 'Crons, newest first by default',
  body: search,
  opaque: ['metadata'],
  audit: 'none',
  across: searchAcross,
  owner: 'caller',
  roles: READERS,
  output: z.array(view.partial()),
  async run(ctx, { body }) {
    const rows = await searchCrons(ctx.db, filterOf(ctx, body, body.enabled), {
      sortBy: body.sort_by ?? 'created_at',
      ascending: body.sort_order === 'asc',
      limit: body.limit,
      offset: body.offset,
    })
    const now = body.select?.includes('now') ? { now: await databaseNow(ctx.db) } : {}
    const shown = rows.map((row) => ({ ...viewOf(row), ...now }))
    return { body: selected(shown, body) }
  },
})

const countOp = operation({
  name: 'count_langgraph_crons',
  method: 'POST',
  path: '/runs/crons/count',
  tag: TAG,
  summary: 'How many crons there are',
  body: filters,
  opaque: ['metadata'],
  audit: 'none',
  across: async (shards, ask) => {
    const answers = await everywhere(shards, ask)
    return { body: answers.reduce((sum, { body }) => sum + Number(body), 0) }
  },
  owner: 'caller',
  roles: READERS,
  output: z.int(),
  run: async (ctx, { body }) => ({ body: await countCrons(ctx.db, filterOf(ctx, body)) }),
})

export const operations = [
  createOp,
  createForThreadOp,
  updateOp,
  deleteOp,
  searchOp,
  countOp,
] as const
