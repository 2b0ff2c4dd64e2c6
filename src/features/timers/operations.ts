/** Timers of a session: set one from outside, cancel it, see them. */
import { z } from 'zod'
import { RawJson } from '../../../packages/exact-json/src/index.ts'
import { localInstant } from '../../../packages/schedule/src/index.ts'
import { listQuery, notify, opaqueJson, operation, page, pageOf } from '../../api/contract.ts'
import { lineageFor, withinPending } from '../../api/lineage.ts'
import { Refusal } from '../../core/errors.ts'
import { DELAY_MAX_SECONDS, INSTANT_FORM } from '../../core/fields.ts'
import { newId } from '../../core/ids.ts'
import { TIMER_ID_MAX } from '../../core/session.ts'
import { requireAgent, rowsOf, sessionOf, sessionParams } from '../sessions/ref-operations.ts'
import { cancelTimer, listTimers, putTimer, type TimerRow } from './rows.ts'

export const timerViewSchema = z.object({
  id: z.uuid(),
  session_key: z.string(),
  timer_id: z.string(),
  fire_at: z.iso.datetime(),
  payload: z.unknown().optional(),
  status: z.enum(['pending', 'promoted', 'cancelled']),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
})
const changedTimer = timerViewSchema.extend({ words: z.string() })

export function timerView(row: TimerRow) {
  return { ...row, payload: row.payload === null ? null : new RawJson(row.payload) }
}

function changed(row: TimerRow) {
  const name = `Timer ${row.timer_id} of ${row.session_key}`
  const words =
    row.status === 'pending'
      ? `${name} fires at ${row.fire_at.toISOString()} unless the person writes before.`
      : `${name} is cancelled.`
  return { body: { ...timerView(row), words }, about: { id: row.id } }
}

const timerParams = sessionParams.extend({ timer_id: z.string().min(1).max(TIMER_ID_MAX) })

const putTimerOp = operation({
  name: 'put_timer',
  method: 'PUT',
  path: '/v1/sessions/{session_key}/timers/{timer_id}',
  tag: 'Sessions',
  summary: 'Set or replace a timer; a message of the user cancels it',
  params: timerParams,
  body: z
    .object({
      fire_at: z.string().max(64).optional(),
      delay_seconds: z.number().min(0).max(DELAY_MAX_SECONDS).optional(),
      payload: opaqueJson.optional(),
    })
    .refine(
      (body) => (body.fire_at === undefined) !== (body.delay_seconds === undefined),
      'takes exactly one of fire_at and delay_seconds',
    ),
  opaque: ['payload'],
  owner: 'path',
  roles: ['admin', 'service', 'agent'],
  output: changedTimer,
  async run(ctx, { params, body }) {
    const session = sessionOf(ctx.actor, params.session_key)
    requireAgent(ctx, session)
    const lineage = await lineageFor(ctx, session.userId, session.agentId)
    const timer = {
      lineage,
      id: newId(),
      timerId: params.timer_id,
      fireAt: body.fire_at === undefined ? null : instantOf(body.fire_at),
      delayMs: body.delay_seconds === undefined ? null : body.delay_seconds * 1000,
      payload: body.payload?.text ?? null,
      traceparent: ctx.traceparent ?? null,
    }
    const row = await withinPending(ctx, session, (tx) => putTimer(tx ?? ctx.db, session, timer))
    notify(ctx, 'clock')
    return changed(row)
  },
})

function instantOf(text: string): Date {
  const at = localInstant(text, 'UTC')
  if (at !== null) return new Date(at)
  throw new Refusal('shape', `body.fire_at: ${INSTANT_FORM}`)
}

const deleteTimerOp = operation({
  name: 'cancel_timer',
  method: 'DELETE',
  path: '/v1/sessions/{session_key}/timers/{timer_id}',
  tag: 'Sessions',
  summary: 'Cancel a pending timer',
  params: timerParams,
  owner: 'path',
  roles: ['admin', 'service', 'agent', 'user'],
  output: changedTimer,
  async run(ctx, { params }) {
    const session = sessionOf(ctx.actor, params.session_key)
    const row = await cancelTimer(ctx.db, session, params.timer_id)
    if (row === null)
      throw new Refusal('not_found', `no timer ${params.timer_id} is pending in this session`)
    return changed(row)
  },
})

const listTimersOp = operation({
  name: 'list_timers',
  method: 'GET',
  path: '/v1/sessions/{session_key}/timers',
  tag: 'Sessions',
  summary:
    'Timers of a session, soonest first; the pending ones unless another status is asked for',
  params: sessionParams,
  query: listQuery({
    max: 500,
    default: 100,
    cursor: z.tuple([z.int(), z.string().max(TIMER_ID_MAX)]),
  }).extend({ status: z.enum(['pending', 'promoted', 'cancelled']).default('pending') }),
  owner: 'path',
  roles: ['admin', 'service', 'agent', 'user'],
  output: pageOf(timerViewSchema),
  async run(ctx, { params, query }) {
    const { cursor } = query
    const { shown, more } = await rowsOf(ctx, params.session_key, query.limit, async (session) => {
      const rows = (await listTimers(ctx.db, session, query.status)).sort(bySoonest)
      return cursor === undefined ? rows : rows.filter((row) => isAfter(row, cursor))
    })
    const last = shown.at(-1)
    const next = more && last ? [last.fire_at.getTime(), last.timer_id] : null
    return { body: page(shown.map(timerView), next) }
  },
})

/** A session has few timers, so they are paged here, in an order that a cursor can repeat to the millisecond. */
function bySoonest(a: TimerRow, b: TimerRow): number {
  return isAfter(a, [b.fire_at.getTime(), b.timer_id]) ? 1 : -1
}

function isAfter(row: TimerRow, [fireMs, timerId]: readonly [number, string]): boolean {
  const ms = row.fire_at.getTime()
  return ms > fireMs || (ms === fireMs && row.timer_id > timerId)
}

export const timers = [putTimerOp, deleteTimerOp, listTimersOp]
