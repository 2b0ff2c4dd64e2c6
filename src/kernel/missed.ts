/** Slots whose time passed while nothing could run: what is said of them, and the record of those that were given up. */

import { type CatchUpPlan, missedSpan } from '../../packages/schedule/src/catch-up.ts'
import type { Schedule } from '../../packages/schedule/src/index.ts'
import { newId } from '../core/ids.ts'
import type { MissedSlots } from '../features/people/missed-rows.ts'

/** Slots up to 15 minutes late count as on time. */
const LATE_MS = 15 * 60_000

/** What an event tells of the slots that it stands for. */
export interface ToldMissed {
  readonly missedCount: number
  /** JSON text for the agent; null where it stands for no other. */
  readonly missed: string | null
  /** Others of its session may be late as well. */
  readonly late: boolean
}

/** `since`: when the previous event of its trigger was made, where slots passed while that had its turn. */
export function toldMissed(
  caught: CatchUpPlan,
  {
    schedule,
    anchor,
    since,
    now,
  }: { schedule: Schedule | null; anchor: Date; since: Date | null; now: Date },
): ToldMissed {
  const span = missedSpan(caught, schedule, anchor, since)
  const late = caught.slot !== null && now.getTime() - caught.slot.getTime() > LATE_MS
  return {
    missedCount: span?.count ?? 0,
    missed: span === null ? null : JSON.stringify(span),
    late: late || caught.missedCount > 0,
  }
}

export function givenUp(
  kind: MissedSlots['kind'],
  trigger: {
    readonly bucket: number
    readonly id: string
    readonly user_id: string
    readonly agent_id: string | null
    readonly name: string
  },
  caught: CatchUpPlan,
): MissedSlots[] {
  if (caught.givenUp === null) return []
  const { bucket, id: trigger_id, user_id, agent_id, name } = trigger
  const { first: scheduled_for, last: last_for, count: slots } = caught.givenUp
  return [
    {
      bucket,
      id: newId(),
      user_id,
      agent_id,
      kind,
      trigger_id,
      name,
      scheduled_for,
      last_for,
      slots,
    },
  ]
}
