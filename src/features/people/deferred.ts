/** What becomes of a deferred slot when its person's preferences change or its time comes. Pure. */

import { parseSessionKey } from '../../core/session.ts'
import type { Reason } from '../sessions/gate.ts'
import {
  type DeferRule,
  judgePreferences,
  type Preferences,
  type PreferenceVerdict,
} from './preferences.ts'

export interface Waiting {
  readonly session_key: string
  readonly reason: Reason
  readonly timed: boolean
  readonly critical: boolean
  readonly asked: boolean
  readonly rule: DeferRule
}

/** What its person's preferences say to it now; who asked for it gets it. */
export function judgeDeferred(
  slot: Waiting,
  preferences: Preferences | undefined,
  now: Date,
): PreferenceVerdict {
  if (slot.asked || preferences === undefined) return { move: 'send' }
  const agentId = parseSessionKey(slot.session_key)?.agentId ?? ''
  return judgePreferences(preferences, { ...slot, agentId }, now)
}
