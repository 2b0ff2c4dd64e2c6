/**
 * The gate: may an agent speak unasked? Pure; the caller brings counters and database time and applies
 * the answer in the transaction that creates the message. Cap is judged before cooldown.
 */

export interface GatePolicy {
  readonly maxConsecutive: number
  readonly cooldownMs: number
}

export interface Counters {
  readonly consecutive: number
  readonly lastAt: Date | null
}

export type Verdict =
  | {
      readonly allowed: true
      readonly rule: 'asked' | 'within_limits'
      readonly count: number
      readonly max: number
    }
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

export const QUIET: Counters = { consecutive: 0, lastAt: null }

export function judge(counters: Counters, policy: GatePolicy, now: Date): Verdict {
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

/** Counters after an autonomous message went through. */
export function spoke(counters: Counters, now: Date): Counters {
  return { consecutive: counters.consecutive + 1, lastAt: now }
}

/** At half of the cap somebody watching wants to know. */
export function nearsCap(counters: Counters, policy: GatePolicy): boolean {
  return counters.consecutive > 0 && counters.consecutive === Math.ceil(policy.maxConsecutive / 2)
}
