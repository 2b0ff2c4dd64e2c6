/** What is told of a turn when it has ended. */
import { performance } from 'node:perf_hooks'
import type { Span } from '../core/trace/trace.ts'
import type { Verdict } from '../features/sessions/gate.ts'
import { reasonOf } from '../features/sessions/reason.ts'
import type { ClaimedTurn } from '../features/sessions/rows.ts'
import type { Committed, Finished } from './commit.ts'
import type { Hints } from './hints.ts'
import type { Meter, TurnRecord } from './meter.ts'

/** By the monotonic clock. */
interface Timed {
  readonly claimedMs: number
  /** When the agent was entered; null if it never was. */
  readonly enteredMs: number | null
  readonly span: Span
}

/** Counts a turn that has ended, and wakes the services that its commit gave something to do. */
export function reportTurn(
  finished: Finished,
  committed: Committed,
  running: Timed,
  { hints, meter }: { readonly hints: Hints; readonly meter: Meter },
): void {
  const { claim, result } = finished
  const { decision, status } = committed
  if (status === 'lost') meter.leasesLost(1)
  if (decision?.effects.some((effect) => effect.status === 'pending'))
    hints.hint('outbox', [claim.session_key])
  if (decision?.timers.length || decision?.verdicts.some(isDeferred)) hints.hint('clock')
  if (status === 'committed' && result?.wishes.some((wish) => wish.type === 'trigger_command')) {
    hints.hint('clock')
    hints.hint('turns')
  }
  meter.turn(turnRecord(finished, committed, running))
}

const isDeferred = (verdict: Verdict) => 'deferred' in verdict && verdict.deferred

function turnRecord(
  { claim, result, failure }: Finished,
  { decision, status }: Committed,
  { claimedMs, enteredMs, span }: Timed,
): TurnRecord {
  return {
    agentId: claim.agent_id,
    sessionKey: claim.session_key,
    eventSeq: claim.seq,
    eventType: claim.type,
    reason: reasonOf(claim.type),
    payload: claim.payload,
    triggerId: claim.trigger_id,
    slot: claim.scheduled_for,
    attempt: claim.attempt + claim.deaths + 1,
    status,
    durationMs: performance.now() - claimedMs,
    ...lateness(claim, claimedMs, enteredMs),
    checkpointId: result?.checkpointId ?? null,
    error: failure?.text ?? null,
    verdicts: decision?.verdicts ?? [],
    notes: decision?.notes ?? [],
    traceparent: span.traceparent,
  }
}

/** How long after its time an agent was entered. The claim brought the database's time; from there on it is the process's own durations. */
function lateness(claim: ClaimedTurn, claimedMs: number, enteredMs: number | null) {
  if (enteredMs === null || claim.attempt + claim.deaths > 0)
    return { waitMs: null, latenessMs: null }
  const enteredAt = claim.now.getTime() + enteredMs - claimedMs
  const since = (instant: Date) => Math.max(0, enteredAt - instant.getTime())
  return {
    waitMs: since(claim.event_created_at),
    latenessMs: claim.scheduled_for === null ? null : since(claim.scheduled_for),
  }
}
