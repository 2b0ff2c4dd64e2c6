/** Whether an agent may follow up now, as one verdict: limits, then preferences, then stops. */
import type { Context } from '../../api/contract.ts'
import { preferencesOf, readPerson } from '../people/fields.ts'
import { judgePreferences, type PreferenceRule } from '../people/preferences.ts'
import { judge } from './gate.ts'
import type { SessionHead } from './rows.ts'

export const GATE_REASONS = [
  'hard_cap_reached',
  'cooldown_active',
  'quiet_hours',
  'paused',
  'daily_limit',
  'muted',
  'stopped',
] as const
type GateReason = (typeof GATE_REASONS)[number]

const REASON_OF: Readonly<Record<PreferenceRule, GateReason>> = {
  quiet_hours: 'quiet_hours',
  day_limit: 'daily_limit',
  paused: 'paused',
  agent_muted: 'muted',
}

export interface GateView {
  readonly allowed: boolean
  readonly reason?: GateReason
  readonly until?: Date
}

/** Judges a follow-up. Promises may be deferred by these rules, but are never dropped. */
export function gateOf({ kernel }: Context, head: SessionHead): GateView {
  const { consecutive_autonomous_msgs: consecutive, last_autonomous_at: lastAt } = head
  const verdict = judge({ consecutive, lastAt }, kernel.policy, head.now)
  if (!verdict.allowed) {
    const until = 'until' in verdict ? { until: verdict.until } : {}
    return { allowed: false, reason: verdict.rule, ...until }
  }
  const held = preferenceGate(head, kernel.policy.timezone ?? 'UTC')
  if (held !== null) return held
  const { user_id: userId, agent_id: agentId } = head
  const stopped = kernel.app.stops.holds({ userId, agentId })
  return stopped ? { allowed: false, reason: 'stopped' } : { allowed: true }
}

function preferenceGate(head: SessionHead, zone: string): GateView | null {
  if (head.person === null) return null
  const said = {
    ...({ reason: 'follow_up', timed: false, critical: false } as const),
    agentId: head.agent_id,
  }
  const verdict = judgePreferences(preferencesOf(readPerson(head.person), zone), said, head.now)
  if (verdict.move === 'send') return null
  const until = verdict.until === undefined ? {} : { until: verdict.until }
  return { allowed: false, reason: REASON_OF[verdict.rule], ...until }
}
