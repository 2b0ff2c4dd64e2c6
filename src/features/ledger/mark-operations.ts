/** One slot of the ledger: read by its id, dismissed as a failure, or its trigger run again. */
import { z } from 'zod'
import { type Actor, type Context, idParam, notify, operation } from '../../api/contract.ts'
import { Refusal } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { parseSessionKey } from '../../core/session.ts'
import { controlSchedule } from '../schedules/control-operations.ts'
import { listSchedules } from '../schedules/list-rows.ts'
import { requireAgent } from '../sessions/ref-operations.ts'
import { putTimer } from '../timers/rows.ts'
import { entryOf } from './entry-operations.ts'
import { timerOf } from './failure-rows.ts'
import { findSlotRow } from './find-rows.ts'
import { dismissSlot, type NewMark, retriedSlot, slotMarks } from './mark-rows.ts'
import { ledgerEntry } from './operations.ts'
import { ledgerNow } from './rows.ts'
import { judgeSlot } from './rules.ts'
import { gatherSlots, type Slot } from './slot-operations.ts'

const params = z.object({ id: idParam })

async function found(ctx: Context, id: string): Promise<Slot> {
  const row = await findSlotRow(ctx.db, id, ctx.actor.userId)
  const [slot] = row === null ? [] : await gatherSlots(ctx.db, [row])
  if (slot === undefined) throw new Refusal('not_found', `there is no ledger entry ${id}`)
  return slot
}

async function shown(ctx: Context, slot: Slot) {
  const marks = await slotMarks(ctx.db, [slot])
  const body = entryOf(slot, 'UTC', await ledgerNow(ctx.db), marks.get(slot.row.id))
  return { body, about: { id: slot.row.id, owner: slot.userId } }
}

const byOf = ({ keyId, role }: Actor) => keyId ?? role

function markOf({ actor }: Context, { row, userId, sessionKey }: Slot): NewMark {
  const agentId = actor.agentId ?? parseSessionKey(sessionKey ?? '')?.agentId ?? null
  return { bucket: row.bucket, id: row.id, userId, agentId, by: byOf(actor) }
}

const getOp = operation({
  name: 'get_ledger_entry',
  method: 'GET',
  path: '/v1/ledger/{id}',
  tag: 'Ledger',
  summary: 'One entry of the ledger',
  params,
  owner: 'row',
  roles: ['admin', 'service', 'agent', 'user'],
  output: ledgerEntry,
  run: async (ctx, { params }) => shown(ctx, await found(ctx, params.id)),
})

const dismissOp = operation({
  name: 'dismiss_ledger_entry',
  method: 'POST',
  path: '/v1/ledger/{id}/dismiss',
  tag: 'Ledger',
  summary: 'Mark a failure as seen to: it leaves the inbox',
  description:
    'The entry keeps its outcome and says who dismissed it and when. The first to dismiss it stands. What has not failed is 409.',
  params,
  owner: 'row',
  roles: ['admin', 'service', 'agent', 'user'],
  output: ledgerEntry,
  async run(ctx, { params }) {
    const slot = await found(ctx, params.id)
    const { outcome } = judgeSlot(slot.facts)
    if (outcome !== 'failed')
      throw new Refusal('conflict', `only a failure can be dismissed; this entry is ${outcome}`)
    await dismissSlot(ctx.db, markOf(ctx, slot))
    return shown(ctx, slot)
  },
})

const retryOp = operation({
  name: 'retry_ledger_entry',
  method: 'POST',
  path: '/v1/ledger/{id}/retry',
  tag: 'Ledger',
  summary: 'Run the trigger of an entry again, now',
  description:
    'What run_schedule does for its alarm, intent or work; a timer is set again with its payload, due now. 409 where the trigger is gone, or where a timer of that name waits already.',
  params,
  creates: true,
  owner: 'row',
  roles: ['admin', 'service', 'agent'],
  output: ledgerEntry,
  async run(ctx, { params }) {
    const slot = await found(ctx, params.id)
    const { kind } = slot.row
    const as = kind === 'timer' ? await setAgain(ctx, slot) : await runAgain(ctx, slot)
    await retriedSlot(ctx.db, markOf(ctx, slot), as)
    notify(ctx, 'clock')
    return shown(ctx, slot)
  },
})

async function runAgain(ctx: Context, { row, userId, name }: Slot): Promise<null> {
  const { kind, trigger_id: id } = row
  const gone = `this cannot be retried: its ${kind} ${name} is gone`
  if (kind === 'question')
    throw new Refusal('conflict', 'this cannot be retried: a question is asked by its agent')
  if (id === null || kind === 'timer') throw new Refusal('conflict', gone)
  const [schedule] = await listSchedules(ctx.db, { userId, kind, id, limit: 1 })
  if (schedule === undefined) throw new Refusal('conflict', gone)
  await controlSchedule(ctx, schedule, 'run')
  return null
}

/** The new timer's id. */
async function setAgain(ctx: Context, { row, name }: Slot): Promise<string> {
  const session = parseSessionKey(row.session_key ?? '')
  const timer = row.source === 'event' ? await timerOf(ctx.db, row) : null
  if (session === null || timer === null)
    throw new Refusal('conflict', `this cannot be retried: the timer ${name} was cancelled`)
  if (timer.pending)
    throw new Refusal('conflict', `this cannot be retried: a timer ${name} waits already`)
  requireAgent(ctx, session)
  const { timer_id: timerId, payload } = timer
  const { id } = await putTimer(ctx.db, session, {
    ...{ id: newId(), timerId, fireAt: null, delayMs: 0, payload },
    traceparent: ctx.traceparent ?? null,
  })
  return id
}

export const slots = [getOp, dismissOp, retryOp]
