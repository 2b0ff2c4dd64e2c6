/** Why a message is there, and what that means at the gate: only follow-ups can be held back (invariants 7 and 11a). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EVENT_TYPES, type EventType } from '../../src/core/session.ts'
import { type Counters, QUIET, REASONS, reasonOf } from '../../src/features/sessions/gate.ts'
import {
  type Decision,
  decide,
  type Policy,
  type TurnAction,
} from '../../src/features/sessions/turn.ts'

const POLICY: Policy = { autonomy: true, maxConsecutive: 3, cooldownMs: 15_000 }
const NOW = Date.UTC(2026, 0, 1)
const say = (content: string): TurnAction => ({ type: 'send_message', content })

function turn(
  type: EventType,
  wishes: readonly TurnAction[],
  counters: Counters = QUIET,
  now = NOW,
  policy = POLICY,
): Decision {
  const from = { eventSeq: 1, eventType: type, triggerId: null, failures: 0 }
  const head = { counters, lastUserSeq: 0, now: new Date(now) }
  return decide({ sessionKey: 'ann:bot:t', ...from }, wishes, head, policy)
}

describe('a reason', () => {
  it('is told by the type of the event alone', () => {
    const table = Object.fromEntries(EVENT_TYPES.map((type) => [type, reasonOf(type)]))
    expect(table).toEqual({
      user_message: 'answer',
      timer: 'follow_up',
      tool_result: 'follow_up',
      alarm: 'promise',
      intent: 'promise',
      work: 'notice',
      digest: 'promise',
    })
    expect(new Set(Object.values(table))).toEqual(new Set(REASONS))
  })

  it.each(EVENT_TYPES)('is kept on what a turn over %s asked for', (type) => {
    const timer = { timerId: 'x', fireAt: null, delayMs: 1, payload: null }
    const { effects } = turn(type, [say('psst'), { type: 'schedule_timer', ...timer }])
    expect(effects.map(({ reason }) => reason)).toEqual([reasonOf(type), reasonOf(type)])
  })
})

describe('a promise', () => {
  it.each(['alarm', 'intent', 'work'] as const)(
    'born of %s passes a closed gate, is not counted, and follow-ups keep their distance from it',
    (type) => {
      const full = { consecutive: 3, lastAt: new Date(NOW - 1) }
      const decision = turn(type, [say('one'), say('two')], full)
      expect(decision.effects).toHaveLength(2)
      expect(decision.verdicts).toEqual(Array(2).fill({ allowed: true, rule: 'promised' }))
      expect(decision.notes).toEqual([])
      expect(decision.counters).toEqual({ consecutive: 3, lastAt: new Date(NOW) })
      const { counters } = turn(type, [say('one')])
      expect(counters).toEqual({ consecutive: 0, lastAt: new Date(NOW) })
      const soon = turn('timer', [say('and?')], counters, NOW + 14_999)
      expect(soon.verdicts[0]).toMatchObject({ rule: 'cooldown_active', count: 0 })
      const later = turn('timer', [say('and?')], counters, NOW + 15_000)
      expect(later.verdicts).toEqual([{ allowed: true, rule: 'within_limits', count: 1, max: 3 }])
    },
  )

  it('under a clock that was set back leaves the distance to the message before as it was', () => {
    const spoken = { consecutive: 1, lastAt: new Date(NOW) }
    expect(turn('alarm', [say('one')], spoken, NOW - 60_000).counters).toEqual(spoken)
  })
})

interface Step {
  readonly type: EventType
  readonly byMs: number
  readonly wishes: readonly TurnAction[]
}

const wishes: fc.Arbitrary<TurnAction> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('a', 'b').map(say) },
  fc.constant<TurnAction>({ type: 'cancel_timer', timerId: 'x' }),
  fc.constant<TurnAction>({
    type: 'schedule_timer',
    ...{ timerId: 'x', fireAt: null, delayMs: 20_000, payload: null },
  }),
)
const histories: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    type: fc.constantFrom<EventType>(...EVENT_TYPES, 'timer', 'timer'),
    // Mostly forward, often at one instant or on the edge, sometimes by a clock that is set back.
    byMs: fc.oneof(
      fc.integer({ min: 0, max: 40_000 }),
      fc.constantFrom(0, 0, 14_999, 15_000),
      fc.integer({ min: -60_000, max: -1 }),
    ),
    wishes: fc.array(wishes, { maxLength: 4 }),
  }),
  { maxLength: 60 },
)
const policies: fc.Arbitrary<Policy> = fc.record({
  autonomy: fc.constant(true),
  maxConsecutive: fc.integer({ min: 0, max: 4 }),
  cooldownMs: fc.constantFrom(0, 1, 15_000, 60_000),
})

/** What was said since the user last spoke, by the rule's own words: the counters are no part of it. */
class Model {
  followUps = 0
  readonly spoken: number[] = []
  readonly #policy: Policy

  constructor(policy: Policy) {
    this.#policy = policy
  }

  /** Whether a message goes out. */
  hears(type: EventType, now: number): boolean {
    if (type === 'user_message') return true
    const initiative = type === 'timer' || type === 'tool_result'
    const { maxConsecutive, cooldownMs } = this.#policy
    const apart = this.spoken.every((at) => now - at >= cooldownMs)
    if (initiative && (this.followUps >= maxConsecutive || !apart)) return false
    if (initiative) this.followUps++
    this.spoken.push(now)
    return true
  }

  answered(): void {
    this.followUps = 0
    this.spoken.length = 0
  }

  get counters(): Counters {
    const lastAt = this.spoken.length === 0 ? null : new Date(Math.max(...this.spoken))
    return { consecutive: this.followUps, lastAt }
  }
}

describe('invariants 7 and 11a, over any history', () => {
  it('no answer, promise or notice is dropped, follow-ups keep cap and cooldown, and the counters are the model’s', () => {
    fc.assert(
      fc.property(histories, policies, (history, policy) => {
        const model = new Model(policy)
        let counters = QUIET
        let now = NOW
        for (const { type, byMs, wishes } of history) {
          now += byMs
          if (type === 'user_message') model.answered()
          const asked = wishes.filter((wish) => wish.type === 'send_message')
          const expected = asked.map(() => model.hears(type, now))
          const decision = turn(type, wishes, counters, now, policy)
          counters = decision.counters
          const sent = decision.effects.filter((effect) => effect.type === 'send_message')
          expect(sent).toHaveLength(expected.filter(Boolean).length)
          if (reasonOf(type) === 'answer') expect(decision.verdicts).toEqual([])
          else expect(decision.verdicts.map(({ allowed }) => allowed)).toEqual(expected)
          if (reasonOf(type) !== 'follow_up') expect(sent).toHaveLength(asked.length)
          expect(counters).toEqual(model.counters)
          expect(counters.consecutive).toBeLessThanOrEqual(policy.maxConsecutive)
        }
      }),
      { numRuns: 1000 },
    )
  })
})
