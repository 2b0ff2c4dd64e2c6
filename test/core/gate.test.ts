/** The gate alone: cap, cooldown, and what a user's message does to both (invariant 7, rules 8 and 11). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Counters,
  type GatePolicy,
  judge,
  nearsCap,
  QUIET,
  spoke,
} from '../../src/features/sessions/gate.ts'

const POLICY: GatePolicy = { maxConsecutive: 3, cooldownMs: 15_000 }
const T0 = Date.UTC(2026, 0, 1)
const at = (ms: number) => new Date(T0 + ms)
const counted = (consecutive: number, lastMs: number | null): Counters => ({
  consecutive,
  lastAt: lastMs === null ? null : at(lastMs),
})

describe('judge', () => {
  it('lets the first message through and says its number', () => {
    expect(judge(QUIET, POLICY, at(0))).toEqual({
      allowed: true,
      rule: 'within_limits',
      count: 1,
      max: 3,
    })
  })

  it('rule 11: exactly 15 000 ms is allowed, 14 999 is not', () => {
    expect(judge(counted(1, 0), POLICY, at(15_000)).allowed).toBe(true)
    expect(judge(counted(1, 0), POLICY, at(14_999))).toEqual({
      allowed: false,
      rule: 'cooldown_active',
      count: 1,
      max: 3,
      until: at(15_000),
    })
  })

  it('rule 11: the cap is judged before the cooldown', () => {
    const both = judge(counted(3, 0), POLICY, at(1))
    expect(both).toEqual({ allowed: false, rule: 'hard_cap_reached', count: 3, max: 3 })
    expect(judge(counted(3, 0), POLICY, at(10 ** 9)).rule).toBe('hard_cap_reached')
  })

  it('rule 11: a negative elapsed time counts as cooling down, also without a cooldown', () => {
    expect(judge(counted(1, 0), POLICY, at(-1)).rule).toBe('cooldown_active')
    expect(judge(counted(1, 0), POLICY, at(-(10 ** 10))).rule).toBe('cooldown_active')
    const impatient = { maxConsecutive: 3, cooldownMs: 0 }
    expect(judge(counted(1, 0), impatient, at(-1)).rule).toBe('cooldown_active')
    expect(judge(counted(1, 0), impatient, at(0)).allowed).toBe(true)
  })

  it('a cap of 0 keeps every follow-up back', () => {
    const silent = { maxConsecutive: 0, cooldownMs: 0 }
    expect(judge(QUIET, silent, at(0)).rule).toBe('hard_cap_reached')
  })

  it('a counter beyond a cap that was lowered since is still over it', () => {
    expect(judge(counted(9, null), POLICY, at(0)).rule).toBe('hard_cap_reached')
  })
})

describe('nearsCap', () => {
  it('rule 11: speaks once, at half of the cap', () => {
    for (const [max, half] of [
      [1, 1],
      [2, 1],
      [3, 2],
      [4, 2],
      [10, 5],
    ] as const) {
      const policy = { maxConsecutive: max, cooldownMs: 0 }
      const warned = Array.from({ length: max + 1 }, (_, n) => n).filter((n) =>
        nearsCap(counted(n, 0), policy),
      )
      expect(warned).toEqual([half])
    }
  })
})

type Step = { readonly kind: 'user' | 'agent'; readonly byMs: number }
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    kind: fc.constantFrom('user' as const, 'agent' as const, 'agent' as const),
    // Mostly forward, sometimes a clock that is set back, often exactly on the edge.
    byMs: fc.oneof(
      fc.integer({ min: 0, max: 40_000 }),
      fc.constantFrom(0, 1, 14_999, 15_000, 15_001),
      fc.integer({ min: -100_000, max: -1 }),
    ),
  }),
  { maxLength: 80 },
)
const policies = fc.record({
  maxConsecutive: fc.integer({ min: 0, max: 5 }),
  cooldownMs: fc.constantFrom(0, 1, 15_000, 60_000),
})

describe('invariant 7', () => {
  it('whatever the order and the clock: never more than the cap in a row, never closer than the cooldown', () => {
    fc.assert(
      fc.property(steps, policies, (sequence, policy) => {
        let now = T0
        let counters = QUIET
        let row: number[] = []
        for (const step of sequence) {
          now += step.byMs
          if (step.kind === 'user') {
            counters = QUIET
            row = []
            continue
          }
          const verdict = judge(counters, policy, new Date(now))
          if (!verdict.allowed) continue
          const previous = row.at(-1)
          if (previous !== undefined)
            expect(now - previous).toBeGreaterThanOrEqual(policy.cooldownMs)
          counters = spoke(counters, new Date(now))
          row.push(now)
          expect(row.length).toBeLessThanOrEqual(policy.maxConsecutive)
          expect(verdict.count).toBe(row.length)
          expect(counters.consecutive).toBe(row.length)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('what it holds back it would let through at the instant it names', () => {
    fc.assert(
      fc.property(fc.integer({ min: -30_000, max: 30_000 }), policies, (elapsed, policy) => {
        const counters = counted(1, 0)
        const verdict = judge(counters, policy, at(elapsed))
        if (verdict.rule !== 'cooldown_active' || !('until' in verdict)) return
        expect(judge(counters, policy, verdict.until).allowed).toBe(true)
        expect(judge(counters, policy, new Date(verdict.until.getTime() - 1)).allowed).toBe(false)
      }),
    )
  })
})
