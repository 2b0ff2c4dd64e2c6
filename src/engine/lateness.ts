/** How long after its time an agent was entered. */
import type { ClaimedTurn } from '../store/sessions/sessions.ts'

/** The claim brought the database's time; from there on it is the process's own durations. */
export function lateness({
  claim,
  claimedMs,
  enteredMs,
}: {
  readonly claim: ClaimedTurn
  readonly claimedMs: number
  readonly enteredMs: number | null
}) {
  if (enteredMs === null || claim.attempt + claim.deaths > 0)
    return { waitMs: null, latenessMs: null }
  const enteredAt = claim.now.getTime() + enteredMs - claimedMs
  const since = (instant: Date) => Math.max(0, enteredAt - instant.getTime())
  return {
    waitMs: since(claim.event_created_at),
    latenessMs: claim.scheduled_for === null ? null : since(claim.scheduled_for),
  }
}
