/** Of turns: the slots they stand for, which of those were cancelled since, and what ends turns that run. */

import type { Agent } from '../agents/agent.ts'
import { type DeferredRow, slotsOfEvents } from '../features/people/deferred-rows.ts'
import type { ClaimedTurn } from '../features/sessions/rows.ts'
import type { Db } from '../store/db.ts'
import type { Triggers } from './commit.ts'
import type { Due } from './gates.ts'
import { isRelease } from './preferences.ts'
import { AgentTimeoutError, type Run, SlotDeletedError, StoppedError } from './run.ts'
import type { Stops } from './stops.ts'
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
async function releasedSlots(
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

async function notifyStarted(
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

/** Of claimed turns, what has to be known of their slots before they begin. Their triggers are told. */
export async function slotsOfTurns(
  db: Db,
  triggers: Triggers,
  turns: readonly ClaimedTurn[],
): Promise<Pick<Due, 'claim' | 'withdrawn' | 'slots'>[]> {
  const released = await releasedSlots(db, triggers, turns.filter(isRelease))
  const withdrawn = await withdrawnTurns(db, triggers.values(), turns)
  const begun = turns.filter((claim) => !withdrawn.has(claim.event_id))
  await notifyStarted(db, triggers.values(), begun)
  return turns.map((claim) => {
    const slots = released.get(claim.event_id)
    return { claim, slots, withdrawn: withdrawn.has(claim.event_id) || slots?.length === 0 }
  })
}

interface RunningTurn {
  readonly claim: ClaimedTurn
  readonly slots: readonly DeferredRow[] | undefined
  readonly run: Run
}

/** Also what runs: its agent's signal is aborted, and nothing of it is committed. */
export function abortStopped(all: Iterable<RunningTurn>, stops: Stops): void {
  for (const { claim, slots, run } of all)
    if (!run.over && stops.turn(claim, slots) !== 'run') run.abort(new StoppedError('stopped'))
}

/** Nobody wants their result any more: why let them go on? */
export async function abortWithdrawn(
  all: readonly RunningTurn[],
  { claims: db, triggers }: { readonly claims: Db; readonly triggers: Triggers },
): Promise<void> {
  const claims = all.filter(({ run }) => !run.over && !run.aborted).map(({ claim }) => claim)
  const aborting = [...triggers.values()].filter((each) => each.abortsWithdrawn)
  const gone = await withdrawnTurns(db, aborting, claims)
  for (const { claim, run } of all) {
    if (gone.has(claim.event_id) && !run.over)
      run.abort(new SlotDeletedError(`the ${claim.type} was deleted while it ran`))
  }
}

export function abortLate(
  all: Iterable<RunningTurn>,
  agents: { get(id: string): Pick<Agent, 'timeoutMs'> | undefined },
): void {
  const now = performance.now()
  for (const { run, claim } of all) {
    if (now < run.deadlineMs || run.over || run.aborted) continue
    const timeoutMs = agents.get(claim.agent_id)?.timeoutMs
    run.abort(new AgentTimeoutError(`the agent took longer than ${timeoutMs} ms`))
  }
}
