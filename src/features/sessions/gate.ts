/**
 * The gate: may an agent speak on its own initiative? Pure; the caller brings counters and database time and applies
 * the answer in the transaction that creates the message. Cap is judged before cooldown. Both are for follow-ups
 * alone: what was promised is never held back.
 */
import type { EventType } from '../../core/session.ts'
import type { DeferRule } from '../people/preferences.ts'

export const REASONS = ['answer', 'follow_up', 'promise', 'notice'] as const
export type Reason = (typeof REASONS)[number]

/** What an agent says on its own initiative is a follow-up; what was arranged for a time, a condition or a result is not. */
const BORN_OF: Readonly<Record<EventType, Reason>> = {
  user_message: 'answer',
  timer: 'follow_up',
  tool_result: 'follow_up',
  alarm: 'promise',
  intent: 'promise',
  work: 'notice',
  digest: 'promise',
}

export function reasonOf(type: EventType): Reason {
  return BORN_OF[type]
}

export interface GatePolicy {
  readonly maxConsecutive: number
  readonly cooldownMs: number
}

export interface Counters {
  readonly consecutive: number
  readonly lastAt: Date | null
}

/** Why a turn that no message began said nothing, and what its model wrote without sending it. */
export interface Silence {
  readonly allowed: true
  /** `undecided`: the model neither sent a message nor chose silence. `not_delivered`: it chose, and wrote more. */
  readonly rule: 'silent' | 'undecided' | 'not_delivered'
  readonly reason?: string
  readonly text?: string
}

export type Verdict =
  | {
      readonly allowed: true
      readonly rule: 'within_limits'
      readonly count: number
      readonly max: number
    }
  | { readonly allowed: true; readonly rule: 'promised' }
  /** Sent, though it says that something will come and nothing was set for it. */
  | { readonly allowed: true; readonly rule: 'unbacked' }
  /** The turn answered so many earlier messages, too. */
  | { readonly allowed: true; readonly rule: 'merged'; readonly count: number }
  | Silence
  | {
      readonly allowed: false
      readonly rule: 'hard_cap_reached'
      readonly count: number
      readonly max: number
    }
  | {
      readonly allowed: false
      readonly rule: 'cooldown_active'
      readonly count: number
      readonly max: number
      readonly until: Date
    }
  /** What the preferences of the person say. Deferred: it comes later. */
  | {
      readonly allowed: false
      readonly rule: DeferRule
      readonly deferred: boolean
      readonly count?: number
      readonly max?: number
      readonly until?: Date
    }

/** What the gate says to a follow-up. */
type Judged = Exclude<Verdict, Silence | { rule: 'promised' | 'unbacked' | 'merged' | DeferRule }>

export const QUIET: Counters = { consecutive: 0, lastAt: null }

/** Of a follow-up. */
export function judge(counters: Counters, policy: GatePolicy, now: Date): Judged {
  const { consecutive: count, lastAt } = counters
  const max = policy.maxConsecutive
  if (count >= max) return { allowed: false, rule: 'hard_cap_reached', count, max }
  if (lastAt !== null) {
    // A clock set back makes the elapsed time negative: that is "still cooling down", never "long ago".
    const until = new Date(lastAt.getTime() + policy.cooldownMs)
    if (now < until) return { allowed: false, rule: 'cooldown_active', count, max, until }
  }
  return { allowed: true, rule: 'within_limits', count: count + 1, max }
}

/** Counters after a follow-up went through. */
export function spoke(counters: Counters, now: Date): Counters {
  return { consecutive: counters.consecutive + 1, lastAt: now }
}

/** What the gate says to a message that answers nobody, and the counters after it. */
export function pass(
  reason: Exclude<Reason, 'answer'>,
  counters: Counters,
  policy: GatePolicy,
  now: Date,
): { readonly verdict: Verdict; readonly counters: Counters } {
  if (reason !== 'follow_up')
    return { verdict: { allowed: true, rule: 'promised' }, counters: kept(counters, now) }
  const verdict = judge(counters, policy, now)
  return { verdict, counters: verdict.allowed ? spoke(counters, now) : counters }
}

/** A promise is not counted, but follow-ups keep their distance from it. A clock set back does not make that shorter. */
function kept({ consecutive, lastAt }: Counters, now: Date): Counters {
  return { consecutive, lastAt: lastAt !== null && lastAt > now ? lastAt : now }
}

/** At half of the cap somebody watching wants to know. */
export function nearsCap(counters: Counters, policy: GatePolicy): boolean {
  return counters.consecutive > 0 && counters.consecutive === Math.ceil(policy.maxConsecutive / 2)
}
