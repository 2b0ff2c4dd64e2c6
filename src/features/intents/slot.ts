/** What becomes of an intent that Wakeful runs itself: the slot in hand, and the state after its turn. Pure. */

import { type CatchUpPlan, catchUp } from '../../../packages/schedule/src/catch-up.ts'
import { next, ScheduleError } from '../../../packages/schedule/src/index.ts'
import {
  afterReport,
  type ExecutionStatus,
  type IntentTerms,
  isConditionType,
  type Settled,
  scheduleOf,
} from './rules.ts'

/**
 * The slot a due intent stands for: the one that still waits to be fired, else the time it was due, as far as its catch_up has not
 * given it up; a condition's is now.
 */
export function slotOf(terms: IntentTerms, now: Date): CatchUpPlan {
  const alone = { missedCount: 0, givenUp: null, nextAt: null }
  if (isConditionType(terms.trigger_type)) return { slot: now, last: now, ...alone }
  const slot = terms.scheduled_for ?? terms.next_check ?? now
  const schedule = scheduleOf(terms)
  if (schedule === null || schedule instanceof ScheduleError) return { slot, last: slot, ...alone }
  const begun = terms.scheduled_for !== null
  const policy = begun ? ({ catch_up: 'once', catch_up_within_seconds: null } as const) : terms
  return catchUp(policy, schedule.kind === 'once' ? null : schedule, slot, now, terms.anchor_at)
}

/** The slot that a failure leaves to be tried again: none where the next look is a slot of its own. */
function keptSlot(
  terms: IntentTerms,
  scheduledFor: Date,
  nextCheck: Date | null,
  now: Date,
): Date | null {
  const schedule = scheduleOf(terms)
  if (schedule === null || nextCheck === null) return null
  if (schedule instanceof ScheduleError) return scheduledFor
  const [regular] = next(schedule, now.getTime(), { anchor: terms.anchor_at.getTime() })
  return regular === nextCheck.getTime() ? null : scheduledFor
}

/** The row's next state after the turn over its fire, under the names of its columns. */
export interface AfterTurn extends Settled {
  readonly scheduled_for: Date | null
  /** Slots that passed until now, since the one in hand. */
  readonly missed_count: number
  readonly was_met: boolean
  readonly fact: string | null
}

/**
 * A fire whose turn failed has used up nothing: neither the edge nor the headline. What became true meanwhile is
 * looked at right after a fire that succeeded.
 */
export function afterTurn(
  terms: IntentTerms,
  state: { enabled: boolean; was_met: boolean; fact: string | null; again: string | null },
  report: { readonly status: ExecutionStatus; readonly terminal: boolean },
  now: Date,
): AfterTurn {
  const settled = afterReport(terms, report, now)
  // What is given up for good has used up its slot, too: else it would be tried again without end.
  const through = report.status === 'success' || report.terminal
  const enabled = state.enabled && settled.enabled
  const soon = through && state.again !== null ? now : settled.next_check
  const next_check = enabled ? soon : null
  const slot = terms.scheduled_for
  return {
    ...settled,
    enabled,
    next_check,
    scheduled_for: through || slot === null ? null : keptSlot(terms, slot, next_check, now),
    missed_count: slot === null ? 0 : slotOf({ ...terms, scheduled_for: slot }, now).missedCount,
    was_met: through && state.was_met,
    fact: through ? null : state.fact,
  }
}
