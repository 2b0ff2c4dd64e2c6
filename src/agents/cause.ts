/** Why a turn runs, for adapters that tell a model. */
import { type CauseRow, readCause } from '../features/sessions/cause-rows.ts'
import type { TurnInput } from './agent.ts'

export type Cause = CauseRow

export function causeOf({
  db,
  session,
  event,
}: Pick<TurnInput, 'db' | 'session' | 'event'>): Promise<Cause | null> {
  return readCause(db, session, event)
}
