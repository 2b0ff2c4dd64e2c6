/**
 * Deferred slots whose moment has come. What is released for one session at one instant becomes its own event if it is one, a digest
 * if it is more; nothing is composed before. What the preferences of the person still hold back waits on.
 */
import { Refusal } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { parseSessionKey } from '../../core/session.ts'
import { BATCH, soonest, type Trigger } from '../../kernel/trigger.ts'
import type { Db } from '../../store/db.ts'
import { claimTx, DEFERRED } from '../../store/due.ts'
import { lookAgain } from '../intents/trigger.ts'
import { readLineage } from '../limits/lineage.ts'
import { judgeDeferred } from './deferred.ts'
import {
  busySessions,
  type DeferredRow,
  dueDeferred,
  type Moved,
  moveDeferred,
  type Release,
  releaseDeferred,
  takenBackOf,
} from './deferred-rows.ts'
import { digestPayload, releasedPayload } from './digest.ts'
import { counted, type Preferences, type PreferenceVerdict } from './preferences.ts'
import { changePerson, readPeople } from './rows.ts'
import { isCondition } from './utterance.ts'

/** `zone`: of people whose own nobody knows. */
export function deferredTrigger(zone: string): Trigger {
  return {
    type: 'digest',
    table: DEFERRED,
    /** It was right when it was asked for; what has become wrong since is left out, as the turns that share this commit go on. */
    async wishes(tx, asked) {
      const wishes = asked
        .flatMap(({ session, wish: { ask } }) =>
          'preferences' in ask ? [{ userId: session.userId, wish: ask.preferences }] : [],
        )
        .toSorted((a, b) => (a.userId < b.userId ? -1 : 1))
      for (const { userId, wish } of wishes)
        await changePerson(tx, userId, zone, () => wish).catch((error: unknown) => {
          if (!(error instanceof Refusal)) throw error
        })
    },
    promote: (db) =>
      claimTx(db, async (tx) => {
        const { taken, nextMs } = await dueDeferred(tx, BATCH)
        const [first] = taken
        if (first === undefined) return { promoted: 0, more: false, nextMs, rows: [] }
        const { releases, moved, gathering } = await release(tx, taken, first.now, zone)
        const rows = releases.flatMap(({ slots }) =>
          slots.map(({ release_at }) => ({
            latenessMs: first.now.getTime() - (release_at ?? first.now).getTime(),
          })),
        )
        return {
          promoted: rows.length,
          more: taken.length === BATCH && rows.length > 0,
          nextMs: soonest([
            nextMs,
            ...moved.map((slot) => waitOf(slot, first.now)),
            ...gathering.map((slot) => gatheringMs(slot, first.now)),
          ]),
          rows,
        }
      }),
  }
}

async function release(
  tx: Db,
  taken: readonly DeferredRow[],
  now: Date,
  zone: string,
): Promise<{ releases: Release[]; moved: Moved[]; gathering: readonly DeferredRow[] }> {
  const late = taken.filter((slot) => slot.rule === 'late' && gatheringMs(slot, now) > 0)
  const busy = await busySessions(tx, late)
  const gathering = late.filter(({ session_key }) => busy.has(session_key))
  const waits = new Set(gathering)
  const due = taken.filter((slot) => !waits.has(slot))
  const cancelled = await takenBackOf(tx, due)
  const left = due.filter(({ id }) => !cancelled.has(id))
  const people = await readPeople(
    tx,
    left.map(({ user_id }) => user_id),
    zone,
  )
  const { open, moved } = judged(left, people, now)
  const conditions = open.filter(({ kind, held, payload }) => held && isCondition(kind, payload))
  const { seen, gone } = await lookAgain(
    tx,
    conditions.map(({ bucket, id: eventId }) => ({ bucket, eventId })),
  )
  await moveDeferred(tx, [
    ...due.filter(({ id }) => cancelled.has(id)).map((slot) => ended(slot, 'cancelled')),
    ...open.filter(({ id }) => gone.has(id)).map((slot) => ended(slot, 'expired')),
    ...moved,
  ])
  const releases = bySession(open.filter(({ id }) => !gone.has(id))).map((slots) =>
    releaseOf(slots, seen, people.get(slots[0]?.user_id ?? '')?.timezone ?? zone),
  )
  await releaseDeferred(tx, releases)
  return { releases, moved, gathering }
}

/**
 * What is late is gathered until nothing of its session waits, so that all that became due together comes together; but in a session that
 * never falls silent it was promised all the same.
 */
const GATHERED_MS = 60_000

/** For how long yet. */
function gatheringMs({ deferred_at }: DeferredRow, now: Date): number {
  return deferred_at.getTime() + GATHERED_MS - now.getTime()
}

const waitOf = ({ release_at }: Moved, now: Date) =>
  release_at === null ? null : release_at.getTime() - now.getTime()

const ended = ({ bucket, id, rule }: DeferredRow, status: Moved['status']): Moved => ({
  ...{ bucket, id, status, rule, release_at: null },
})

/** What may be said now. Each session is one message more: beyond a day's most the others wait on, and no agent is woken for them. */
function judged(
  slots: readonly DeferredRow[],
  people: ReadonlyMap<string, Preferences>,
  now: Date,
) {
  const counting = new Map(people)
  const open: DeferredRow[] = []
  const moved: Moved[] = []
  for (const session of bySession(slots)) {
    const verdicts = session.map((slot) => ({
      slot,
      verdict: judgeDeferred(slot, counting.get(slot.user_id), now),
    }))
    // What is to be dropped is dropped by its turn, which wakes no agent and settles the slot.
    const sent = verdicts.filter(({ verdict }) => verdict.move !== 'defer').map(({ slot }) => slot)
    moved.push(...verdicts.flatMap(({ slot, verdict }) => movedBy(slot, verdict)))
    open.push(...sent)
    const userId = sent.find(({ asked }) => !asked)?.user_id ?? ''
    const preferences = counting.get(userId)
    if (preferences !== undefined)
      counting.set(userId, { ...preferences, unasked: counted(preferences, 1, now) })
  }
  return { open, moved }
}

function movedBy(slot: DeferredRow, verdict: PreferenceVerdict): Moved[] {
  const { bucket, id } = slot
  if (verdict.move !== 'defer') return []
  return [{ bucket, id, status: 'waiting', rule: verdict.rule, release_at: verdict.until }]
}

/** In the order of their slots; the sessions in that of their soonest. */
function bySession(slots: readonly DeferredRow[]): DeferredRow[][] {
  const sorted = slots.toSorted(
    (a, b) => a.scheduled_for.getTime() - b.scheduled_for.getTime() || (a.id < b.id ? -1 : 1),
  )
  const groups = new Map<string, DeferredRow[]>()
  for (const slot of sorted) {
    const group = groups.get(slot.session_key)
    if (group === undefined) groups.set(slot.session_key, [slot])
    else group.push(slot)
  }
  return [...groups.values()]
}

const depthOf = ({ lineage }: DeferredRow) => readLineage(lineage)?.depth ?? 0

function releaseOf(
  slots: readonly DeferredRow[],
  seen: ReadonlyMap<string, string>,
  timezone: string,
): Release {
  const [first, ...others] = slots
  const session = first === undefined ? null : parseSessionKey(first.session_key)
  if (first === undefined || session === null) throw new Error('a deferred slot without a session')
  // Of several, the deepest: to be gathered is no new beginning.
  const { lineage } = slots.reduce((a, b) => (depthOf(b) > depthOf(a) ? b : a), first)
  const event = { session, eventId: newId(), traceparent: first.traceparent, lineage, slots }
  return others.length === 0
    ? { ...event, type: first.kind, payload: releasedPayload(first, seen.get(first.id) ?? null) }
    : { ...event, type: 'digest', payload: digestPayload(slots, timezone) }
}
