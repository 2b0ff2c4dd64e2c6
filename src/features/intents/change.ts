/** What an intent becomes when a request or a turn changes it. Pure. */

import { validateIntent } from './checks.ts'
import { type IntentPlan, type IntentWish, planIntent, termsFrom } from './draft.ts'
import { isConditionType, isExpired } from './rules.ts'

export interface IntentChange {
  readonly plan: IntentPlan
  /** What it remembers of its condition begins again. */
  readonly fresh: boolean
  /** It counts against the limit from now on, and did not before. */
  readonly enabling: boolean
}

/** What another trigger, zone or a new start makes to be reckoned again. */
function touches(row: IntentPlan, wish: IntentWish, now: Date) {
  const schedule = row.trigger_schedule !== wish.trigger_schedule
  const condition = row.trigger_condition !== wish.trigger_condition
  const type = row.trigger_type !== wish.trigger_type
  const waitsAnew = condition && isConditionType(wish.trigger_type)
  const timing = schedule || type || row.timezone !== wish.timezone || waitsAnew
  // What has expired does not count against the limit, so to give it more time is to enable it again.
  const revived = isExpired(row, now) && !isExpired(wish, now)
  const enabling = wish.enabled && (!row.enabled || revived)
  // A grid of its own begins with a schedule of its own; a pause keeps it.
  return { timing, condition, enabling, grid: schedule || type }
}

/** What is wrong with the wish goes to `errors`. */
export function changeIntent(
  row: IntentPlan,
  wish: IntentWish,
  now: Date,
  errors: string[],
): IntentChange {
  const { timing, condition, enabling, grid } = touches(row, wish, now)
  const anchor = grid ? now : row.anchor_at
  // Whatever its times are by now, it can be renamed.
  if (timing || condition || enabling) errors.push(...validateIntent(termsFrom(wish, anchor), now))
  const again = timing || enabling
  const kept = { ...wish, anchor_at: anchor, next_check: wish.enabled ? row.next_check : null }
  return {
    plan: again ? planIntent(wish, now, anchor) : kept,
    fresh: again || condition,
    enabling,
  }
}
