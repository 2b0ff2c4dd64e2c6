/** Slots whose time passed while nothing could run: what is said of them, and the record of those that were given up. */
import { newId } from '../core/ids.ts'
import { type CaughtUp, missedNote } from '../core/schedule/catch-up.ts'
import type { MissedSlots } from '../store/people/missed.ts'

/** Nobody minds a quarter of an hour. */
const LATE_MS = 15 * 60_000

/** JSON text for the agent; null where it is on time and stands for no other. */
export function missedText(caught: CaughtUp, now: Date): string | null {
  const note = missedNote(caught, now, LATE_MS)
  return note === null ? null : JSON.stringify(note)
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
  caught: CaughtUp,
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
