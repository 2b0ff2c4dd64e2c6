/** Of turns about to run: the slots they stand for, and which of those were cancelled since. */

import { type DeferredRow, slotsOfEvents } from '../features/people/deferred-rows.ts'
import type { ClaimedTurn } from '../features/sessions/rows.ts'
import type { Db } from '../store/db.ts'
import type { Triggers } from './commit.ts'
import type { BegunEvent, Trigger } from './trigger.ts'

/** Cancelled is cancelled: of events that waited for their turn, those whose slot is gone. */
export async function withdrawnTurns(
  db: Db,
  triggers: Iterable<Trigger>,
  turns: readonly ClaimedTurn[],
): Promise<ReadonlySet<string>> {
  const gone = new Set<string>()
  for (const trigger of triggers) {
    const events = trigger.withdrawn === undefined ? [] : eventsOf(turns, trigger)
    if (trigger.withdrawn === undefined || events.length === 0) continue
    for (const id of await trigger.withdrawn(db, events)) gone.add(id)
  }
  return gone
}

/** By event, the slots that were released with it and that nobody has cancelled since. */
export async function releasedSlots(
  db: Db,
  triggers: Triggers,
  turns: readonly ClaimedTurn[],
): Promise<ReadonlyMap<string, DeferredRow[]>> {
  const rows = await slotsOfEvents(db, turns)
  const gone = await withdrawnSlots(db, triggers.values(), rows)
  return new Map(
    turns.map(({ event_id, session_key, seq }) => [
      event_id,
      rows.filter(
        (row) => row.session_key === session_key && row.released_seq === seq && !gone.has(row.id),
      ),
    ]),
  )
}

/** Of deferred slots that their triggers hold on, those that were cancelled. */
export async function withdrawnSlots(
  db: Db,
  triggers: Iterable<Trigger>,
  rows: readonly DeferredRow[],
): Promise<ReadonlySet<string>> {
  const gone = new Set<string>()
  for (const trigger of triggers) {
    const events = rows
      .filter(({ kind, held }) => kind === trigger.type && held)
      .map(({ bucket, id: eventId }) => ({ bucket, eventId }))
    if (trigger.withdrawn === undefined || events.length === 0) continue
    for (const id of await trigger.withdrawn(db, events)) gone.add(id)
  }
  return gone
}

export async function notifyStarted(
  db: Db,
  triggers: Iterable<Trigger>,
  turns: readonly ClaimedTurn[],
): Promise<void> {
  for (const trigger of triggers) {
    const events = trigger.began === undefined ? [] : eventsOf(turns, trigger)
    if (events.length > 0) await trigger.began?.(db, events)
  }
}

/** Those that stand for a slot. Others of the type, such as a notice of work, cannot be cancelled. */
function eventsOf(turns: readonly ClaimedTurn[], { type }: Trigger): BegunEvent[] {
  return turns.flatMap((claim) => {
    const { bucket, event_id: eventId, trigger_id: triggerId } = claim
    if (claim.type !== type || triggerId === null || claim.scheduled_for === null) return []
    return [{ bucket, eventId, triggerId, attempt: claim.attempt + claim.deaths + 1 }]
  })
}
