/**
 * Alarms: an agent's own wakes. One for an agent known here becomes an event and is settled by the
 * commit of its turn; one for the wake URL is called under a lease and settled by the answer.
 */

import type { CatchUpPlan } from '../../../packages/schedule/src/catch-up.ts'
import { cronSchedule, firedMark } from '../../../packages/schedule/src/index.ts'
import { TURN_DEATHS_MAX } from '../../core/backoff.ts'
import { Refusal, TerminalError } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { bucketOf, sessionOf } from '../../core/session.ts'
import { storableText } from '../../core/text.ts'
import {
  BATCH,
  givenUp,
  type PromotedRow,
  promotedRow,
  type SlotOutcome,
  type Trigger,
  toldMissed,
  type WakeCall,
  type WakeResult,
  type WakeSource,
} from '../../kernel/trigger.ts'
import type { Db } from '../../store/db.ts'
import { ALARMS, claimTx, databaseNow, WAKES } from '../../store/due.ts'
import { lastEventsOf } from '../../store/slots.ts'
import { agentDids, agentOf } from '../identity/key-rows.ts'
import { recordMissed } from '../people/missed-rows.ts'
import { writeScheduleAsks } from '../schedules/trigger.ts'
import { type AlarmDraft, type AlarmPlan, newAlarm, planAlarm } from './draft.ts'
import { alarmsByKey, cancelOwnAlarms, insertAlarms, keyOf, type SetAlarm } from './rows.ts'
import { type Attempt, missedBy, planCatchUp, settleAlarm, skippedAlarm } from './rules.ts'
import {
  lockByEvent,
  lockByToken,
  recordWakes,
  type SettledSlot,
  settleSlots,
  type WakeRecord,
} from './settle-rows.ts'
import {
  type AlarmEvent,
  type AlarmSlot,
  type ClaimedWake,
  claimWakes,
  dueSlots,
  promoteSlots,
  withdrawnEvents,
} from './slot-rows.ts'

const ERROR_MAX = 2000

export const alarmTrigger: Trigger = {
  type: 'alarm',
  table: ALARMS,
  leases: 'each',

  promote: (db, _busy, lent = null) =>
    claimTx(db, async (tx) => {
      const { taken, nextMs } = await dueSlots(tx, BATCH)
      const slots = taken.map((slot) => ({ slot, caught: planCatchUp(slot, slot.now) }))
      const since = await lastEventsOf(
        tx,
        taken.filter(hasPassed).map(({ id }) => id),
      )
      const events = slots
        .flatMap(({ slot, caught }) => eventOf(slot, caught, since.get(slot.id) ?? null))
        .toSorted(({ slot: a }, { slot: b }) => bySlot(a, b))
      const skipped = slots.filter(({ caught }) => caught.slot === null)
      const turns = await promoteSlots(tx, events, lent)
      await settleSlots(
        tx,
        skipped.map(({ slot, caught }) => ({ slot, state: skippedAlarm(slot, caught) })),
      )
      await recordMissed(
        tx,
        slots.flatMap(({ slot, caught }) => givenUp('alarm', slot, caught)),
      )
      const rows = events.map(rowOf)
      return { promoted: events.length, more: taken.length === BATCH, nextMs, rows, turns }
    }),

  async settle(tx, outcomes) {
    const slots = await lockByEvent(tx, outcomes)
    const settled = outcomes.flatMap((outcome): SettledSlot[] => {
      const slot = slots.get(outcome.eventId)
      if (slot === undefined) return []
      return [{ slot, state: settleAlarm(slot, attemptOf(outcome), slot.now) }]
    })
    await settleSlots(tx, settled)
  },

  withdrawn: withdrawnEvents,

  async wishes(tx, asked, { maxFailures }) {
    await writeScheduleAsks(tx, asked, maxFailures)
    const drafts = asked.flatMap(({ wish, traceparent = null, lineage = null }) =>
      'set' in wish.ask ? [{ ...wish.ask.set, traceparent, lineage }] : [],
    )
    // What a turn asks for was checked when it asked; what time has made impossible since is left out,
    // because a throw here would undo the turns that share this commit.
    const set =
      drafts.length === 0 ? [] : await setAlarms(tx, await ofTheirAgents(tx, drafts), maxFailures)
    // With a promise it is the whole turn that fails: its message must not be said without the alarm.
    const broken = set.find((each, n) => drafts[n]?.promised && each instanceof Refusal)
    if (broken instanceof Refusal) throw new TerminalError(broken.message)
    const cancelled = asked.flatMap(({ session, wish }) =>
      'cancel' in wish.ask
        ? [{ id: wish.ask.cancel, userId: session.userId, agentId: session.agentId }]
        : [],
    )
    if (cancelled.length > 0) await cancelOwnAlarms(tx, cancelled)
  },
}

/** An agent with a name of its own owns what it sets, so that its key lists it. */
export async function ofTheirAgents(tx: Db, drafts: readonly AlarmDraft[]): Promise<AlarmDraft[]> {
  // Keys are kept in one place, whichever shard this is.
  const dids = await agentDids(tx.home ?? tx, drafts)
  return drafts.map((draft) => {
    const ownerDid = dids.get(agentOf(draft))
    return ownerDid === undefined ? draft : { ...draft, ownerDid }
  })
}

/** The order in which alarms of one session become its events. */
function bySlot(a: AlarmSlot, b: AlarmSlot): number {
  return a.scheduled_for.getTime() - b.scheduled_for.getTime() || (a.id < b.id ? -1 : 1)
}

/** With the slot it was. */
type Fire = AlarmEvent & { readonly slot: AlarmSlot }

/** Slots of it passed while its last event was in hand. */
const hasPassed = ({ attempt, missed_count }: AlarmSlot) => attempt === 0 && missed_count > 0

/** All attempts at one slot share a thread: an empty conversation is fresh for each slot, not for each attempt. */
function eventOf(slot: AlarmSlot, caught: CatchUpPlan, since: Date | null): Fire[] {
  const { id, user_id: userId, agent_id: agentId, now } = slot
  if (caught.slot === null) return []
  if (agentId === null) throw new Error(`alarm ${id} names no agent`)
  const threadId = slot.conversation_id === '' ? slot.delivery_id : slot.conversation_id
  const session = sessionOf(userId, agentId, threadId, slot.bucket)
  const schedule = slot.kind === 'once' ? null : cronSchedule(slot)
  const told = toldMissed(caught, { schedule, anchor: slot.anchor_at, since, now })
  const fires = { eventId: newId(), scheduledFor: caught.slot, firedLocal: firedOf(slot, caught) }
  return [{ slot, id, session, ...fires, ...told }]
}

/** Slots that it stands for have fired with it. */
function firedOf(slot: AlarmSlot, caught: CatchUpPlan): string | null {
  if (!slot.follows_zone || slot.kind === 'once' || caught.slot === null) return null
  const newest = slot.catch_up === 'all' ? caught.slot : caught.last
  return firedMark(cronSchedule(slot), newest, slot.fired_local ?? null)
}

function rowOf({ slot, session, scheduledFor }: Fire): PromotedRow {
  const { now, due_at: dueAt, traceparent } = slot
  const latenessMs = dueAt === null ? 0 : now.getTime() - dueAt.getTime()
  const triggerId = slot.parent_id ?? slot.id
  const again = slot.failure_count > 0
  return { ...promotedRow(latenessMs, { traceparent, session, triggerId, scheduledFor }), again }
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

/**
 * Sets alarms for many owners with one write, with the audit log's entries. One that a rule refuses comes back as its refusal.
 * `maxFailures`: of those that do not say.
 */
export async function setAlarms(
  db: Db,
  drafts: readonly AlarmDraft[],
  maxFailures?: number,
): Promise<(AlarmSet | Refusal)[]> {
  const now = await databaseNow(db)
  const plans = drafts.map((draft) => ({ draft, plan: planOrRefusal(draft, now) }))
  const alarms = plans.flatMap(({ draft, plan }) =>
    plan instanceof Refusal ? [] : [newAlarm(draft, plan, maxFailures)],
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
    reason: 'promise',
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
      await recordWakes(tx, settled.map(recordOf))
      await settleSlots(tx, settled)
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
    givenUp: whyGivenUp(wake, deaths),
  }
}

function whyGivenUp(wake: ClaimedWake, deaths: number): string | null {
  if (deaths >= TURN_DEATHS_MAX) return `given up: the process died ${deaths} times at this wake`
  // Its claim has counted this attempt already.
  const missed = planCatchUp({ ...wake, attempt: wake.attempt - 1 }, wake.now).slot === null
  return missed ? 'missed: its time had passed, and its catch_up gave it up' : null
}

/** Written by hand around the payload, which stays the text that was posted. */
function bodyOf(wake: ClaimedWake): string {
  // Those that passed while the slot before was delivered are told with this one.
  const missedCount = wake.missed_count + missedBy(wake, wake.scheduled_for, wake.now)
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

function settledWake(slot: AlarmSlot | undefined, { attempt, call }: WakeResult): SettledWake[] {
  if (slot === undefined) return []
  const state = settleAlarm(slot, attempt, slot.now)
  if (state.delivery_id === slot.delivery_id) return [{ slot, state, attempt }]
  // The call has told what had passed when it began; the next one tells what passed since.
  const missed_count = missedBy(slot, call.now, slot.now)
  const firedLocal = firedOf(slot, planCatchUp(slot, call.now))
  return [{ slot, state: { ...state, missed_count }, attempt, firedLocal }]
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
