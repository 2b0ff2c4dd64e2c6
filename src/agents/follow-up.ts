/** When a follow-up comes, as a turn says it. */
import { DELAY_MAX_SECONDS } from '../core/fields.ts'

const YEAR_MAX_MS = Date.UTC(9999, 11, 31, 23, 59, 59)

export interface FollowUp {
  readonly inSeconds?: number
  readonly at?: Date | string
  readonly payload?: unknown
}

export function instant(when: FollowUp): { fireAt: Date | null; delayMs: number | null } {
  if ((when.inSeconds === undefined) === (when.at === undefined)) {
    throw new TypeError('followUp: takes exactly one of inSeconds and at')
  }
  if (when.inSeconds !== undefined) {
    const { inSeconds } = when
    if (!Number.isFinite(inSeconds) || inSeconds < 0 || inSeconds > DELAY_MAX_SECONDS) {
      throw new TypeError('followUp: inSeconds takes a number of seconds, 0 or more')
    }
    return { fireAt: null, delayMs: when.inSeconds * 1000 }
  }
  const at = new Date(when.at as string | Date)
  if (Number.isNaN(at.getTime()) || at.getTime() > YEAR_MAX_MS) {
    throw new TypeError('followUp: at takes a Date or an ISO instant before the year 10000')
  }
  return { fireAt: at, delayMs: null }
}
