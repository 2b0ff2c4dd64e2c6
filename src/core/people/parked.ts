/** What becomes of a parked slot when its person's manners change or its time comes. Pure. */

import type { Reason } from '../sessions/reason.ts'
import { parseSessionKey } from '../sessions/session.ts'
import { judgeManners, type Manners, type MannerVerdict, type ParkRule } from './manners.ts'

export interface Waiting {
  readonly session_key: string
  readonly reason: Reason
  readonly timed: boolean
  readonly critical: boolean
  readonly asked: boolean
  readonly rule: ParkRule
}

/** What its person's manners say to it now; who asked for it gets it. */
export function judgeParked(slot: Waiting, manners: Manners | undefined, now: Date): MannerVerdict {
  if (slot.asked || manners === undefined) return { move: 'send' }
  const agentId = parseSessionKey(slot.session_key)?.agentId ?? ''
  return judgeManners(manners, { ...slot, agentId }, now)
}
