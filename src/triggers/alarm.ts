/**
 * Alarms: an agent's own wakes. One for an agent known here becomes an event and is settled by the
 * commit of its turn; one for the wake URL is called under a lease and settled by the answer.
 */
import { type Attempt, missedBy, settleAlarm } from '../core/alarms/alarm.ts'
import { type AlarmDraft, type AlarmPlan, newAlarm, planAlarm } from '../core/alarms/draft.ts'
import { TURN_DEATHS_MAX } from '../core/backoff.ts'
import { Refusal } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { bucketOf } from '../core/sessions/session.ts'
import { storableText } from '../core/text.ts'
import {
  alarmsByKey,
  cancelOwnAlarms,
  databaseNow,
  insertAlarms,
  keyOf,
  type SetAlarm,
} from '../store/alarms/alarms.ts'
import {
  type AlarmEvent,
  type AlarmSlot,
  type ClaimedWake,
  claimWakes,
  lockByEvent,
  lockByToken,
  promoteAlarms,
  type SettledSlot,
  withdrawnEvents,
  writeSlots,
} from '../store/alarms/slots.ts'
import { recordWakes, type WakeRecord } from '../store/alarms/wakes.ts'
import type { Db } from '../store/db/db.ts'
import { WAKES } from '../store/db/due.ts'
import { writeAudit } from '../store/identity/audit.ts'
import type {
  PromotedRow,
  SlotOutcome,
  Trigger,
  WakeCall,
  WakeResult,
  WakeSource,
} from './trigger.ts'

const BATCH = 1000
const ERROR_MAX = 2000

export const alarmTrigger: Trigger = {
  type: 'alarm',

  async promote(db) {
    let events: readonly AlarmEvent[] = []
    const { slots, nextMs } = await promoteAlarms(db, BATCH, (due) => {
      events = due.toSorted(bySlot).flatMap(eventOf)
      return events
    })
    const sessions = new Map(events.map(({ id, sessionKey }) => [id, sessionKey]))
    const rows = slots.map((slot) => promotedRow(slot, sessions.get(slot.id) ?? ''))
    const latenessMs = rows.reduce((most, row) => Math.max(most, row.latenessMs), 0)
    return { promoted: slots.length, more: slots.length === BATCH, nextMs, latenessMs, rows }
  },

  async settle(tx, outcomes) {
    const slots = await lockByEvent(tx, outcomes)
    const settled: SettledSlot[] = []
    for (const outcome of outcomes) {
      const slot = slots.get(outcome.eventId)
      if (slot === undefined) continue
      settled.push({ slot, state: settleAlarm(slot, attemptOf(outcome), slot.now) })
    }
    if (settled.length > 0) await writeSlots(tx, settled)
  },

  withdrawn: withdrawnEvents,

  async wishes(tx, asked) {
    const drafts = asked.flatMap(({ wish, traceparent = null }) =>
      'set' in wish.ask ? [{ ...wish.ask.set, traceparent }] : [],
    )
    // What a turn asks for was checked when it asked; what time has made impossible since is left out,
    // because a throw here would undo the turns that share this commit.
    if (drafts.length > 0) await setAlarms(tx, drafts)
    const cancelled = asked.flatMap(({ session, wish }) =>
      'cancel' in wish.ask
        ? [{ id: wish.ask.cancel, userId: session.userId, agentId: session.agentId }]
        : [],
    )
    if (cancelled.length > 0) await cancelOwnAlarms(tx, cancelled)
  },
}

/** The order in which alarms of one session become its events. */
function bySlot(a: AlarmSlot, b: AlarmSlot): number {
  return a.scheduled_for.getTime() - b.scheduled_for.getTime() || (a.id < b.id ? -1 : 1)
}

/** All attempts at one slot share a thread: an empty conversation is fresh for each slot, not for each attempt. */
function eventOf(slot: AlarmSlot): AlarmEvent[] {
  const { bucket, id, user_id: userId, agent_id: agentId } = slot
  if (agentId === null) return []
  const threadId = slot.conversation_id === '' ? slot.delivery_id : slot.conversation_id
  const sessionKey = `${userId}:${agentId}:${threadId}`
  const missedCount = missedBy(slot, slot.scheduled_for, slot.now)
  return [{ bucket, id, eventId: newId(), missedCount, sessionKey, userId, agentId, threadId }]
}

function promotedRow(slot: AlarmSlot, sessionKey: string): PromotedRow {
  const { now, due_at: dueAt, traceparent, scheduled_for: scheduledFor } = slot
  const latenessMs = dueAt === null ? 0 : now.getTime() - dueAt.getTime()
  const again = slot.failure_count > 0
  if (traceparent === null) return { latenessMs, again }
  const triggerId = slot.parent_id ?? slot.id
  return { latenessMs, again, trace: { traceparent, sessionKey, triggerId, scheduledFor } }
}

function attemptOf(outcome: SlotOutcome): Attempt {
  if (outcome.committed) return { taken: true }
  const retryAfter = outcome.retryAfterMs > 0 ? { afterMs: outcome.retryAfterMs } : null
  const error = outcome.error ?? 'the turn failed'
  return { taken: false, error, terminal: outcome.terminal, retryAfter }
}

export interface AlarmSet extends SetAlarm {
  readonly notes: readonly string[]
}

/** Sets alarms for many owners with one write, with the audit log's entries. One that a rule refuses comes back as its refusal. */
export async function setAlarms(
  db: Db,
  drafts: readonly AlarmDraft[],
): Promise<(AlarmSet | Refusal)[]> {
  if (!drafts.some((draft) => draft.audit)) return setEach(db, drafts)
  return db.tx(async (tx) => {
    const set = await setEach(tx, drafts)
    await writeAudit(
      tx,
      drafts.flatMap(({ id, audit, userId }, index) => {
        const made = set[index]
        const fresh = made !== undefined && !(made instanceof Refusal) && !made.deduped
        return audit && fresh ? { ...audit, objectId: id, owner: userId } : []
      }),
    )
    return set
  })
}

async function setEach(db: Db, drafts: readonly AlarmDraft[]): Promise<(AlarmSet | Refusal)[]> {
  const now = await databaseNow(db)
  const plans = drafts.map((draft) => ({ draft, plan: planOrRefusal(draft, now) }))
  const alarms = plans.flatMap(({ draft, plan }) =>
    plan instanceof Refusal ? [] : [newAlarm(draft, plan)],
  )
  const made = alarms.length === 0 ? null : await insertAlarms(db, alarms)
  const known = await knownAlready(
    db,
    plans.flatMap(({ draft, plan }) => (plan instanceof Refusal ? [draft] : [])),
  )
  return plans.map(({ draft, plan }) => {
    if (plan instanceof Refusal) return known.get(draft.id) ?? plan
    const set = made?.get(draft.id)
    if (set === undefined) throw new Error(`alarm ${draft.id} was not written`)
    return { ...set, notes: plan.notes }
  })
}

/** A key that exists answers with its alarm whatever the body: also when its time has passed by now. */
async function knownAlready(
  db: Db,
  refused: readonly AlarmDraft[],
): Promise<Map<string, AlarmSet>> {
  const keyed = refused.flatMap(({ id, userId, ownerDid, fields: { idempotency_key } }) =>
    idempotency_key === ''
      ? []
      : [{ id, bucket: bucketOf(userId), owner_did: ownerDid, idempotency_key }],
  )
  if (keyed.length === 0) return new Map()
  const rows = await alarmsByKey(db, keyed)
  return new Map(
    keyed.flatMap((key) => {
      const row = rows.get(keyOf(key))
      return row === undefined ? [] : [[key.id, { row, deduped: true, notes: [] }]]
    }),
  )
}

function planOrRefusal(draft: AlarmDraft, now: Date): AlarmPlan | Refusal {
  try {
    return planAlarm({ ...draft, timezone: draft.fields.timezone }, now)
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

/** The alarms of nobody here: their wake goes to the configured URL. */
export function alarmWakes(target: { url: string; bearer: string | null }): WakeSource {
  return {
    type: 'alarm',
    table: WAKES,
    async claim(db, limit, leaseMs, token) {
      const { wakes, nextMs } = await claimWakes(db, limit, leaseMs, token)
      return { calls: wakes.map((wake) => callOf(wake, target)), nextMs }
    },
    async settle(tx, results) {
      const held = results.map(({ call, token }) => ({ bucket: call.bucket, id: call.id, token }))
      const slots = await lockByToken(tx, held)
      const slotOf = ({ call, token }: WakeResult) => slots.get(`${call.id} ${token}`)
      const settled = results.flatMap((result) => settledWake(slotOf(result), result))
      if (settled.length > 0) {
        await recordWakes(tx, settled.map(recordOf))
        await writeSlots(tx, settled)
      }
      return results.map((result) => slotOf(result) !== undefined)
    },
  }
}

function callOf(wake: ClaimedWake, target: { url: string; bearer: string | null }): WakeCall {
  const { bucket, id, delivery_id: deliveryId, now } = wake
  const deaths = wake.attempt - 1 - wake.failure_count
  return {
    ...target,
    ...{ bucket, id, deliveryId, now },
    dueAt: wake.next_fire_at,
    traceparent: wake.traceparent,
    slot: {
      triggerId: wake.parent_id ?? id,
      scheduledFor: wake.scheduled_for,
      attempt: wake.attempt,
      userId: wake.user_id,
    },
    body: bodyOf(wake),
    givenUp:
      deaths < TURN_DEATHS_MAX ? null : `given up: the process died ${deaths} times at this wake`,
  }
}

/** Written by hand around the payload, which stays the text that was posted. */
function bodyOf(wake: ClaimedWake): string {
  const missedCount = missedBy(wake, wake.scheduled_for, wake.now)
  const conversation =
    wake.conversation_id === '' ? '' : `,"conversation_id":${JSON.stringify(wake.conversation_id)}`
  return (
    `{"user_id":${JSON.stringify(wake.user_id)}${conversation},"message":${JSON.stringify(wake.wake_message)},` +
    `"payload":${wake.payload},"alarm_id":"${wake.parent_id ?? wake.id}",` +
    `"scheduled_for":"${wake.scheduled_for.toISOString()}","missed_count":${missedCount},` +
    `"attempt":${wake.attempt},"origin":"wakeful"}`
  )
}

interface SettledWake extends SettledSlot {
  readonly attempt: Attempt
}

function settledWake(slot: AlarmSlot | undefined, { attempt }: WakeResult): SettledWake[] {
  return slot === undefined ? [] : [{ slot, state: settleAlarm(slot, attempt, slot.now), attempt }]
}

/** A slot that is to be tried again keeps its delivery id. */
function recordOf({ slot, state, attempt }: SettledWake): WakeRecord {
  const again = state.status === 'active' && state.delivery_id === slot.delivery_id
  return {
    bucket: slot.bucket,
    deliveryId: slot.delivery_id,
    alarmId: slot.parent_id ?? slot.id,
    scheduledFor: slot.scheduled_for,
    missedCount: missedBy(slot, slot.scheduled_for, slot.now),
    attempts: slot.attempt,
    status: attempt.taken ? 'taken' : again ? 'retrying' : 'failed',
    error: attempt.taken ? null : storableText(attempt.error, ERROR_MAX),
  }
}
