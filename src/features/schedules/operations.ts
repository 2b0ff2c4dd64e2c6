/** Schedules of all kinds as one list: set by name, changed, paused, resumed, run now and removed. */
import { z } from 'zod'
import {
  type Across,
  type Answer,
  type Context,
  listQuery,
  notify,
  operation,
  pageFrom,
  pageOf,
} from '../../api/contract.ts'
import { everywhere, mergedSoonest } from '../../api/shards.ts'
import { Refusal } from '../../core/errors.ts'
import { keyPart, shortName } from '../../core/fields.ts'
import { isUuid } from '../../core/ids.ts'
import { TIMER_ID_MAX } from '../../core/session.ts'
import { notesText, sentences } from '../../core/words.ts'
import { controlSchedule, removeSchedule } from './control-operations.ts'
import { hasOneTime, ONE_TIME, scheduleName, specFields } from './fields.ts'
import { listSchedules } from './list-rows.ts'
import { mergedSpec, touchesTime } from './patch.ts'
import { patchIntent } from './patch-operations.ts'
import { SCHEDULE_KINDS } from './plan.ts'
import { agentFor, personFor, putSchedule } from './put-operations.ts'
import { SCHEDULE_STATUSES, type ScheduleRow } from './schedule.ts'
import { refOf, scheduleWords, targetOf, viewOf } from './view.ts'

const REF_MAX = TIMER_ID_MAX + 16
const MATCHES_MAX = 100

const scheduleView = z.object({
  kind: z.enum(SCHEDULE_KINDS),
  ref: z.string(),
  id: z.uuid(),
  name: z.string(),
  user_id: z.string(),
  agent_id: z.string().nullable(),
  thread_id: z.string().nullable(),
  description: z.string(),
  note: z.string(),
  timezone: z.string(),
  next_at: z.iso.datetime().nullable(),
  next: z.array(z.iso.datetime()),
  last: z.object({ at: z.iso.datetime(), outcome: z.string() }).nullable(),
  status: z.enum(SCHEDULE_STATUSES),
  words: z.string(),
})

function wireView(row: ScheduleRow, words = scheduleWords(row)) {
  const { userId, agentId, threadId, timeZone, nextAt, ...view } = viewOf(row)
  return {
    ...{ ...view, user_id: userId, agent_id: agentId, thread_id: threadId },
    ...{ timezone: timeZone, next_at: nextAt, words },
  }
}

function answer(row: ScheduleRow, words: string): Answer {
  return { body: wireView(row, words), about: { id: row.id, owner: row.user_id } }
}

const whose = {
  user_id: keyPart.optional().describe('Whose, for callers that see several people.'),
  agent_id: shortName.optional().describe('Of which agent.'),
}

const putOp = operation({
  name: 'put_schedule',
  method: 'PUT',
  path: '/v1/schedules/{name}',
  tag: 'Schedules',
  summary: 'Set a schedule by its name, or replace it',
  description:
    'Exactly one of in, at, every and when says when; run has an executor do work then, or now without a time. The same name again replaces it, also by another kind of time.',
  params: z.object({ name: scheduleName.describe('Unique for a person and agent.') }),
  body: z
    .object({
      ...specFields,
      thread_id: keyPart.optional().describe("The conversation; the person's thread main."),
      agent_id: shortName.optional().describe('Who is woken; the only agent by default.'),
      user_id: keyPart.optional().describe('Whose it is; for admin and service.'),
    })
    .refine(hasOneTime, { error: ONE_TIME, when: () => true }),
  opaque: ['data', 'with'],
  owner: 'body',
  roles: ['admin', 'service', 'agent'],
  output: scheduleView.extend({ notes: z.array(z.string()).optional() }),
  async run(ctx, { params, body }) {
    const { user_id, agent_id, thread_id, ...spec } = body
    const userId = personFor(ctx, user_id)
    const agentId = agentFor(ctx, agent_id, userId)
    const { row, plan } = await putSchedule(ctx, {
      ...{ name: params.name, spec, userId, agentId, threadId: thread_id ?? null },
    })
    const notes = plan.notes.length === 0 ? undefined : plan.notes
    const words = sentences(scheduleWords(row), notesText(plan.notes))
    return { body: { ...wireView(row, words), notes }, about: { id: row.id, owner: userId } }
  },
})

const listOp = operation({
  name: 'list_schedules',
  method: 'GET',
  path: '/v1/schedules',
  tag: 'Schedules',
  summary: 'Timers, alarms, intents and work in one list, soonest first',
  description: 'Those that wait for no time come last.',
  query: listQuery({ max: 200, default: 50, cursor: z.tuple([z.iso.datetime(), z.uuid()]) }).extend(
    {
      ...whose,
      kind: z.enum(SCHEDULE_KINDS).optional(),
      status: z.enum(SCHEDULE_STATUSES).optional(),
      q: z.string().min(1).max(100).optional().describe('In the name or the note.'),
    },
  ),
  across: mergedSoonest,
  owner: 'query',
  roles: ['admin', 'service', 'agent', 'user'],
  output: pageOf(scheduleView),
  async run(ctx, { query }) {
    const { user_id, agent_id: agentId, cursor: after, limit, kind, status, q } = query
    const userId = ownerOf(ctx, user_id)
    const asked = { userId, agentId, kind, status, q, after, limit: limit + 1 }
    const rows = await listSchedules(ctx.db, asked)
    return pageFrom(rows, limit, {
      at: (row) => [row.place, row.id],
      view: (row) => wireView(row),
    })
  },
})

/** Null: everybody's. */
function ownerOf(ctx: Context, named: string | undefined): string | null {
  return ctx.owner === null && named === undefined ? ctx.actor.userId : personFor(ctx, named)
}

const params = z.object({
  ref: z.string().min(1).max(REF_MAX).describe('The name, or `<kind>:<id>` as the list shows it.'),
})
const query = z.object(whose)
type Query = z.output<typeof query>

async function matching(ctx: Context, ref: string, query: Query): Promise<ScheduleRow[]> {
  const target = targetOf(ref)
  if (target !== null && !isUuid(target.id)) return []
  return listSchedules(ctx.db, {
    ...{ userId: ownerOf(ctx, query.user_id), agentId: query.agent_id, limit: MATCHES_MAX },
    ...(target ?? { name: ref }),
  })
}

function onlyOne<T>(ref: string, found: readonly T[], refs: (row: T) => string): T {
  const [row, ...others] = found
  if (row === undefined) throw new Refusal('not_found', `there is no schedule ${ref}`)
  if (others.length === 0) return row
  const list = found.slice(0, 20).map(refs).join(', ')
  throw new Refusal('conflict', `${ref}: several schedules have this name; take one of ${list}`)
}

const shownRef = ({ kind, id, user_id, agent_id }: ScheduleRow) =>
  `${kind}:${id} (${user_id}, ${agent_id ?? 'no agent'})`

/** Held by its person's lock, so that nothing else changes it meanwhile. */
async function found(ctx: Context, ref: string, query: Query): Promise<ScheduleRow> {
  return onlyOne(ref, await matching(ctx, ref, query), shownRef)
}

/** Where nobody is named, the shards are asked first, and the change is made where the schedule is. */
const whereItIs: Across = async (shards, ask, input) => {
  const { ref } = input.params as { ref: string }
  const probe = { ...input, query: { ...(input.query as Query), probe: true } }
  const answers = await everywhere(shards, (number) => ask(number, probe))
  const places = answers.flatMap(({ body }, number) =>
    (body as { refs: string[] }).refs.map((shown) => ({ number, shown })),
  )
  return ask(onlyOne(ref, places, ({ shown }) => shown).number)
}

/** Of `whereItIs`: an answer that is not the operation's own changes nothing, and is not audited. */
async function probed(ctx: Context, ref: string, query: Query): Promise<Answer | null> {
  if (!('probe' in query)) return null
  const refs = (await matching(ctx, ref, query)).map(shownRef)
  return { status: 202, body: { refs } }
}

const one = {
  tag: 'Schedules',
  params,
  query,
  across: whereItIs,
  owner: 'query',
  output: scheduleView,
} as const
const CHANGERS = ['admin', 'service', 'agent'] as const

const updateOp = operation({
  name: 'update_schedule',
  method: 'PATCH',
  path: '/v1/schedules/{ref}',
  summary: 'Change a schedule: when, what is told then, or both',
  description:
    'What is left out stays as it is. Another kind of time may make it another kind of schedule; its name stays. One that has ended is 409: run it again, or set it with PUT.',
  ...one,
  body: z
    .object({ ...specFields, thread_id: keyPart.optional() })
    .refine((value) => Object.values(value).some((each) => each !== undefined), {
      error: 'needs at least one field',
    }),
  opaque: ['data', 'with'],
  roles: CHANGERS,
  async run(ctx, { params, query, body }) {
    const known = await probed(ctx, params.ref, query)
    if (known !== null) return known
    const row = await found(ctx, params.ref, query)
    requireStanding(row)
    const { thread_id, ...change } = body
    const changed = await changeRow(ctx, row, change, thread_id ?? row.thread_id)
    return answer(changed, scheduleWords(changed, 'was changed'))
  },
})

type Change = Parameters<typeof mergedSpec>[1]

async function changeRow(ctx: Context, row: ScheduleRow, change: Change, threadId: string | null) {
  if (row.kind === 'intent' && !['in', 'at', 'every', 'when', 'run'].some((name) => name in change))
    return patchIntent(ctx, row, change, threadId)
  const spec = mergedSpec(row, change)
  if (!hasOneTime(spec)) throw new Refusal('shape', `body: ${ONE_TIME}`)
  const { row: changed } = await putSchedule(ctx, {
    ...{ name: row.name, spec, userId: row.user_id, agentId: row.agent_id, threadId },
    target: { kind: row.kind, id: row.id },
    keepsPast: !touchesTime(change),
    ...(row.name === '' ? { title: row.title } : {}),
  })
  return row.status === 'paused' ? controlSchedule(ctx, changed, 'pause') : changed
}

function requireStanding(row: ScheduleRow): void {
  if (row.status === 'active' || row.status === 'paused') return
  throw new Refusal(
    'conflict',
    `${refOf(row)} has ended (${row.status}): run it again, or set it with PUT`,
  )
}

function control<const N extends string>(
  name: N,
  verb: 'pause' | 'resume' | 'run',
  summary: string,
  description: string,
  did: string,
) {
  return operation({
    name,
    method: 'POST',
    path: `/v1/schedules/{ref}/${verb}`,
    summary,
    description,
    ...one,
    ...(verb === 'run' ? { creates: true } : {}),
    roles: CHANGERS,
    async run(ctx, { params, query }) {
      const known = await probed(ctx, params.ref, query)
      if (known !== null) return known
      const row = await found(ctx, params.ref, query)
      if (verb !== 'run') requireStanding(row)
      const changed = await controlSchedule(ctx, row, verb)
      notify(ctx, 'clock')
      return answer(changed, scheduleWords(changed, did))
    },
  })
}

const pauseOp = control(
  'pause_schedule',
  'pause',
  'Pause a schedule',
  'Nothing of it fires until it is resumed. One that has ended is 409.',
  'was paused',
)
const resumeOp = control(
  'resume_schedule',
  'resume',
  'Resume a paused schedule',
  'A recurring one goes on with its next time; those in between are recorded as missed. One whose only time has passed fires at once.',
  'was resumed',
)
const runOp = control(
  'run_schedule',
  'run',
  'Run a schedule now',
  'A recurring one keeps its own times. One that has failed or ended runs once more; a paused condition is resumed by it.',
  'runs now',
)

const deleteOp = operation({
  name: 'delete_schedule',
  method: 'DELETE',
  path: '/v1/schedules/{ref}',
  summary: 'Remove a schedule',
  ...one,
  roles: ['admin', 'service', 'agent', 'user'],
  async run(ctx, { params, query }) {
    const known = await probed(ctx, params.ref, query)
    if (known !== null) return known
    const row = await found(ctx, params.ref, query)
    await removeSchedule(ctx, row)
    return answer(row, sentences(scheduleWords(row), 'It was removed and will not fire again.'))
  },
})

export const scheduleOperations = [putOp, listOp, updateOp, pauseOp, resumeOp, runOp, deleteOp]
