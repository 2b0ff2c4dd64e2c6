/** A turn whose schedule is refused at the commit fails alone: the others are committed again without what it asked for. */
import { ScheduleRefused } from '../features/schedules/write-rows.ts'
import type { Committed, Finished } from './commit.ts'

export async function withoutRefused(
  finished: readonly Finished[],
  commit: (turns: readonly Finished[]) => Promise<Committed[]>,
): Promise<Committed[]> {
  try {
    return await commit(finished)
  } catch (error) {
    if (!(error instanceof ScheduleRefused)) throw error
    const isRefused = ({ claim }: Finished) =>
      claim.session_key === error.sessionKey && claim.seq === error.eventSeq
    const failure = {
      cause: 'agent_error' as const,
      terminal: true,
      retryAfterMs: 0,
      text: error.message,
    }
    const rest = finished.map((turn) =>
      isRefused(turn) ? { ...turn, result: null, failure } : turn,
    )
    return withoutRefused(rest, commit)
  }
}
