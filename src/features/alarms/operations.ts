/** Alarms: what an agent is to be woken for, when, and with which words. */

import { z } from 'zod'
import { RawJson } from '../../../packages/exact-json/src/index.ts'
import { describe, hasOffset } from '../../../packages/schedule/src/index.ts'
import {
  type Actor,
  type Context,
  idParam,
  listQuery,
  mergedPages,
  notify,
  operation,
  pageFrom,
  pageOf,
  wakeClockIfSoon,
} from '../../api/contract.ts'
import { lineageFor, withinPending } from '../../api/lineage.ts'
import { schemaOf, visibleOf } from '../../core/columns.ts'
import { Refusal } from '../../core/errors.ts'
import { keyPart, shortName } from '../../core/fields.ts'
import { newId } from '../../core/ids.ts'
import { LOCAL_USER, MAIN_THREAD, ownerDidOf } from '../../core/session.ts'
import { readSpread, spreadField } from '../../core/spread.ts'
import { notesText, quoted, sentences, timesText, whenText } from '../../core/words.ts'
import type { Db } from '../../store/db.ts'
import { askedZone } from '../people/zone-operations.ts'
import { timingOf } from './draft.ts'
import { ALARM, alarmFields, alarmTimes } from './fields.ts'
import {
  type AlarmRow,
  type AlarmScope,
  cancelAlarm,
  fireAlarmNow,
  getAlarm,
  type ListedAlarm,
  listAlarms,
  scopeWhere,
  searchAlarms,
  type ToldAlarm,
} from './rows.ts'
import { ALARM_KINDS, ALARM_STATUSES, cronWords, nextFires } from './rules.ts'

const SEARCH_MAX = 100
/** What `kind` and its fields say together, `schedule` says alone. */
const KIND_FIELDS = ['kind', 'fire_at', 'delay_seconds', 'cron_expr'] as const

const body = z
  .object({
    kind: z.enum(ALARM_KINDS).optional(),
    ...alarmTimes,
    agent_id: shortName.optional().describe('Who is woken.'),
    spread: spreadField.optional(),
    ...alarmFields,
    // Left out and empty mean different threads.
    conversation_id: alarmFields.conversation_id.unwrap().optional(),
  })
  .refine(...timed('kind'))
  .refine(...timed('fire_at'))
  .refine(...timed('delay_seconds'))
  .refine(...timed('cron_expr'))

type KindField = (typeof KIND_FIELDS)[number]
type Given = Partial<Record<KindField | 'schedule', unknown>>

function timed(field: KindField) {
  const wrong = (value: unknown) => timingError(field, (value ?? {}) as Given)
  return [
    (value: unknown) => wrong(value) === null,
    {
      path: [field] as PropertyKey[],
      error: (issue: { input?: unknown }) => wrong(issue.input) ?? '',
      // Reported beside other errors, so that one correction fixes all of them.
      when: () => true,
    },
  ] as const
}

/** What is wrong with a field that says when, seen beside the others. */
function timingError(field: KindField, given: Given): string | null {
  const has = given[field] !== undefined
  const { kind } = given
  if (given.schedule !== undefined) return has ? 'must be left out when schedule is given' : null
  if (field === 'kind') return has ? null : 'is required, or schedule instead'
  if (kind !== 'once' && kind !== 'cron') return null
  if ((field === 'cron_expr') !== (kind === 'cron'))
    return has ? `must be left out for kind ${kind}` : null
  if (field === 'cron_expr') return has ? null : 'is required for kind cron'
  if (field === 'delay_seconds') return null
  const both = (given.delay_seconds !== undefined) === has
  return both ? 'kind once takes exactly one of fire_at and delay_seconds' : null
}

/** The agent bound to the credential, else the one named; with neither the wake URL, else the only agent there is. */
function targetOf(
  ctx: Context,
  named: string | undefined,
): { agentId: string | null; errors: string[] } {
  const { kernel, actor } = ctx
  const wanted = actor.agentId ?? named
  if (wanted !== undefined) {
    if (kernel.agents.knows(wanted, actor.userId ?? LOCAL_USER))
      return { agentId: wanted, errors: [] }
    return {
      agentId: null,
      errors: [`agent_id: there is no agent ${wanted} here; ${known(kernel.agents.names)}`],
    }
  }
  if (kernel.wakesByUrl) return { agentId: null, errors: [] }
  const [only, other] = kernel.agents.names
  if (only !== undefined && other === undefined) return { agentId: only, errors: [] }
  return { agentId: null, errors: [`agent_id: say who is woken; ${known(kernel.agents.names)}`] }
}

function known(agentIds: readonly string[]): string {
  return agentIds.length === 0
    ? 'no agents run here'
    : `known are ${agentIds.slice(0, 20).join(', ')}`
}

/** Its owner's own; a person sees those of all their agents; admin and service see everybody's unless they act for one. */
export function scopeOf(actor: Actor): AlarmScope {
  const { ownerDid, userId } = actor
  if (ownerDid === null && userId === null) return { ownerDid, userId }
  if (actor.role === 'user' || ownerDid === null) return { ownerDid: null, userId }
  return { ownerDid, userId }
}

export const alarmView = schemaOf(ALARM).extend({
  next_fire_at: z.iso.datetime().optional(),
  description: z.string(),
  next_fires: z.array(z.iso.datetime()).optional(),
  words: z.string(),
  deduped: z.boolean().optional(),
  notes: z.array(z.string()).optional(),
})

/** What is told beside the columns: the next times only while there are any. */
function toldOf(row: ToldAlarm, words?: string) {
  const times = row.status === 'active' ? nextFires(row, row.now) : null
  return {
    ...(times !== null && { next_fire_at: row.next_fire_at, next_fires: times }),
    description: wordsFor(row),
    words: words ?? alarmWords(row, times ?? []),
  }
}

export function alarmViewOf(row: AlarmRow, words?: string) {
  return { ...visibleOf(ALARM, row), ...toldOf(row, words) }
}

/** The same of a row that PostgreSQL has printed. */
const listedView = (row: ListedAlarm) =>
  new RawJson(`${row.printed},${JSON.stringify(toldOf(row)).slice(1)}`)

export const nameOf = ({ label }: ToldAlarm) => (label === '' ? 'Alarm' : `Alarm ${quoted(label)}`)

/** What is set, or what became of it. */
export function alarmWords(row: ToldAlarm, next: readonly Date[], notes: readonly string[] = []) {
  const { status, timezone, now, last_fired_at: fired, failure_count: failures } = row
  const times = timesText(next.length > 0 ? next : [row.next_fire_at], timezone, now)
  const set = row.kind === 'cron' ? `set: ${wordsFor(row)}. Next: ${times}.` : `set for ${times}.`
  return sentences(
    nameOf(row),
    status === 'active' ? set : `is ${status}: ${wordsFor(row)}.`,
    fired !== null && `Last fired ${whenText(fired.getTime(), timezone, now.getTime())}.`,
    failures > 0 && `Failed attempts at this slot: ${failures}.`,
    row.last_error !== '' && `Last error: ${quoted(row.last_error, 200)}.`,
    notesText(notes),
    `It says ${quoted(row.wake_message)}. Its id is ${row.id}.`,
  )
}

const cancelledWords = (row: AlarmRow) =>
  row.status === 'cancelled'
    ? `${nameOf(row)} is cancelled and will not fire. Its id was ${row.id}.`
    : `${nameOf(row)} had already ended as ${row.status}; nothing was changed.`

/** With whose it is, for the audit log: an admin may have changed anybody's. */
function told(row: AlarmRow, words?: string) {
  return { body: alarmViewOf(row, words), about: { id: row.id, owner: row.user_id } }
}

function wordsFor(row: ToldAlarm): string {
  if (row.kind === 'cron') return cronWords(row)
  return describe({ kind: 'once', at: row.fire_at?.getTime() ?? null, timezone: row.timezone })
}

const params = z.object({ id: idParam })

export function notFound(id: string): Refusal {
  return new Refusal('not_found', `there is no alarm ${id}`)
}

const createAlarmOp = operation({
  name: 'set_alarm',
  method: 'POST',
  path: '/v1/alarms',
  tag: 'Alarms',
  summary: 'Set an alarm that wakes an agent, once or again and again',
  description:
    'A known `idempotency_key` of the owner answers 200 with the first alarm and `deduped`, whatever else the body says.',
  body,
  opaque: ['payload'],
  status: 201,
  repeats: true,
  creates: true,
  audit: 'own',
  owner: 'caller',
  roles: ['admin', 'service', 'agent'],
  output: alarmView,
  async run(ctx, { body }) {
    const userId = ctx.actor.userId ?? LOCAL_USER
    const { fire_at, delay_seconds } = body
    const target = targetOf(ctx, body.agent_id)
    // An instant or a delay means the same everywhere.
    const anywhere = delay_seconds !== undefined || (fire_at !== undefined && hasOffset(fire_at))
    const asked = await askedZone(
      ctx,
      userId,
      body.timezone,
      anywhere ? (ctx.kernel.policy.timezone ?? 'UTC') : undefined,
    )
    const { timezone } = asked
    const { agentId } = target
    const lineage = await lineageFor(ctx, userId, agentId)
    const id = newId()
    const errors = [...target.errors]
    const spread = readSpread(body.spread, userId, id, errors)
    const set = (tx: Db | null) =>
      ctx.kernel.writes.setAlarm(
        {
          id,
          spread,
          ownerDid: ctx.actor.ownerDid ?? ownerDidOf(userId),
          userId,
          agentId,
          timing: timingOf(body, timezone),
          followsZone: asked.followsZone && !anywhere,
          fields: {
            ...body,
            timezone,
            // A receiver at the wake URL has threads of its own.
            conversation_id: body.conversation_id ?? (agentId === null ? '' : MAIN_THREAD),
          },
          errors,
          traceparent: ctx.traceparent ?? null,
          lineage,
          audit: ctx.entry ?? null,
        },
        tx,
      )
    const { row, deduped, notes } = await withinPending(ctx, { userId, agentId }, set)
    if (deduped && ctx.actor.agentId !== null && row.agent_id !== ctx.actor.agentId)
      throw new Refusal('conflict', 'idempotency_key: another agent of this person has used it')
    if (deduped) return { status: 200, body: { ...alarmViewOf(row), deduped } }
    wakeClockIfSoon(ctx, row.next_fire_at, row.now)
    if (notes.length === 0) return told(row)
    const { body: view, about } = told(row, alarmWords(row, nextFires(row, row.now), notes))
    return { body: { ...view, notes }, about }
  },
})

const listAlarmsOp = operation({
  name: 'list_alarms',
  method: 'GET',
  path: '/v1/alarms',
  tag: 'Alarms',
  summary: 'Alarms, newest first',
  query: listQuery({ max: 500, default: 100 }).extend({
    user_id: keyPart.optional().describe('Whose. Admin and service only.'),
    agent_id: shortName.optional().describe('Only those that wake this agent.'),
    status: z.enum(ALARM_STATUSES).optional(),
    q: z
      .string()
      .min(1)
      .max(SEARCH_MAX)
      .optional()
      .describe(
        'In label or wake_message. A page may hold fewer than it could: follow next_cursor.',
      ),
  }),
  across: mergedPages,
  owner: 'query',
  roles: ['admin', 'service', 'agent', 'user'],
  output: pageOf(alarmView),
  async run(ctx, { query }) {
    const { owner: userId = null, actor } = ctx
    const scope = userId === actor.userId ? scopeOf(actor) : { ownerDid: null, userId }
    const { status, agent_id } = query
    const asked = {
      where: { ...scopeWhere(scope), agent_id, status },
      limit: query.limit + 1,
      after: query.cursor,
    }
    const { rows, end } =
      query.q === undefined
        ? { rows: await listAlarms(ctx.db, asked), end: null }
        : await searchAlarms(ctx.db, asked, query.q)
    const at = (row: ListedAlarm) => [row.created_text, row.id]
    return pageFrom(rows, query.limit, { at, view: listedView, end })
  },
})

const getAlarmOp = operation({
  name: 'get_alarm',
  method: 'GET',
  path: '/v1/alarms/{id}',
  tag: 'Alarms',
  summary: 'One alarm: its status, its next times, and what went wrong',
  params,
  owner: 'row',
  roles: ['admin', 'service', 'agent', 'user'],
  output: alarmView,
  async run(ctx, { params }) {
    const row = await getAlarm(ctx.db, scopeOf(ctx.actor), params.id)
    if (row === null) throw notFound(params.id)
    return { body: alarmViewOf(row) }
  },
})

const cancelAlarmOp = operation({
  name: 'cancel_alarm',
  method: 'DELETE',
  path: '/v1/alarms/{id}',
  tag: 'Alarms',
  summary: 'Cancel an alarm; one that has ended stays as it is',
  params,
  owner: 'row',
  roles: ['admin', 'service', 'agent', 'user'],
  output: alarmView,
  async run(ctx, { params }) {
    const row = await cancelAlarm(ctx.db, scopeOf(ctx.actor), params.id)
    if (row === null) throw notFound(params.id)
    return told(row, cancelledWords(row))
  },
})

const fireAlarmOp = operation({
  name: 'fire_alarm_now',
  method: 'POST',
  path: '/v1/alarms/{id}/fire-now',
  tag: 'Alarms',
  summary: 'Wake now, besides its schedule',
  description: 'Uses up an alarm of kind once; a recurring one keeps all of its own times.',
  params,
  status: 202,
  creates: true,
  owner: 'row',
  roles: ['admin', 'service', 'agent'],
  output: alarmView,
  async run(ctx, { params }) {
    const wake = { delivery: newId(), extra: newId(), traceparent: ctx.traceparent ?? null }
    const row = await fireAlarmNow(ctx.db, scopeOf(ctx.actor), params.id, wake)
    if (row === null) throw notFound(params.id)
    if (row.status !== 'active') throw new Refusal('conflict', `this alarm is ${row.status}`)
    notify(ctx, 'clock')
    return told(row, `${nameOf(row)} wakes now, besides its schedule. Its id is ${row.id}.`)
  },
})

export const alarms = [createAlarmOp, listAlarmsOp, getAlarmOp, cancelAlarmOp, fireAlarmOp]
