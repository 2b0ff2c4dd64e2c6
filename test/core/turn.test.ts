/** What a finished turn becomes, without a store: gate, dedupe keys, timers, notes (invariant 7, rules 8–17). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { EventType } from '../../src/core/session.ts'
import { QUIET } from '../../src/features/sessions/gate.ts'
import {
  afterFailure,
  decide,
  dedupeKey,
  type HeadFacts,
  openingCounters,
  type Policy,
  type TurnAction,
  type TurnFacts,
} from '../../src/features/sessions/turn.ts'

const POLICY: Policy = { autonomy: true, maxConsecutive: 3, cooldownMs: 15_000 }
const NOW = new Date('2026-01-01T00:00:00Z')
const TRIGGER = '0195f5a0-0000-7000-8000-000000000001'

const facts = (eventType: EventType, eventSeq = 5): TurnFacts => ({
  sessionKey: 'ann:bot:t',
  eventSeq,
  eventType,
  triggerId: eventType === 'user_message' ? null : TRIGGER,
  failures: 0,
})
const head = (more: Partial<HeadFacts> = {}): HeadFacts => ({
  counters: QUIET,
  lastUserSeq: 1,
  now: NOW,
  ...more,
})
const say = (content: string): TurnAction => ({ type: 'send_message', content })
const follow = (
  timerId: string,
  more: Partial<TurnAction & { type: 'schedule_timer' }> = {},
): TurnAction => ({
  type: 'schedule_timer',
  timerId,
  fireAt: null,
  delayMs: 60_000,
  payload: null,
  ...more,
})

describe('messages', () => {
  it('rule 8: a reply to the user is not judged, and the counters are reset', () => {
    const busy = { consecutive: 3, lastAt: NOW }
    const decision = decide(
      facts('user_message'),
      [say('a'), say('b')],
      head({ counters: busy }),
      POLICY,
    )
    expect(decision.counters).toEqual(QUIET)
    expect(decision.verdicts).toEqual([])
    expect(decision.effects.map((e) => [e.reason, e.origin])).toEqual([
      ['answer', null],
      ['answer', null],
    ])
  })

  it.each(['alarm', 'intent', 'work'] as const)(
    'rule 11: a message born of %s says where it came from',
    (type) => {
      const [effect] = decide(facts(type), [say('psst')], head(), POLICY).effects
      expect(JSON.parse(effect?.origin ?? '')).toEqual({ kind: type, id: TRIGGER })
    },
  )

  it.each(['timer', 'tool_result'] as const)(
    'rule 11: a message born of %s is a follow-up, counts, and says where it came from',
    (type) => {
      const { effects, counters, verdicts } = decide(facts(type), [say('psst')], head(), POLICY)
      expect(effects[0]).toMatchObject({ reason: 'follow_up', status: 'pending' })
      expect(JSON.parse(effects[0]?.origin ?? '')).toEqual({ kind: type, id: TRIGGER })
      expect(counters).toEqual({ consecutive: 1, lastAt: NOW })
      expect(verdicts).toEqual([{ allowed: true, rule: 'within_limits', count: 1, max: 3 }])
    },
  )

  it('rule 11: a second message in the same turn meets the cooldown, and the verdict says so', () => {
    const decision = decide(facts('timer'), [say('one'), say('two')], head(), POLICY)
    expect(decision.effects.map((e) => e.payload)).toEqual(['{"content":"one"}'])
    expect(decision.verdicts).toEqual([
      { allowed: true, rule: 'within_limits', count: 1, max: 3 },
      {
        allowed: false,
        rule: 'cooldown_active',
        count: 1,
        max: 3,
        until: new Date(NOW.getTime() + 15_000),
      },
    ])
    expect(decision.notes.map((n) => n.rule)).toEqual(['cooldown_active'])
    expect(decision.counters.consecutive).toBe(1)
  })

  it('rule 11: over the cap nothing is sent; rule and number are kept, and the rest of the turn stands', () => {
    const full = { consecutive: 3, lastAt: new Date(NOW.getTime() - 10 ** 6) }
    const decision = decide(
      facts('timer'),
      [say('no'), follow('later')],
      head({ counters: full }),
      POLICY,
    )
    expect(decision.verdicts).toEqual([
      { allowed: false, rule: 'hard_cap_reached', count: 3, max: 3 },
    ])
    expect(decision.counters).toEqual(full)
    expect(decision.effects.map((e) => e.type)).toEqual(['schedule_timer'])
    expect(decision.timers).toHaveLength(1)
    expect(decision.notes[0]?.text).toContain('3 unanswered')
  })

  it('rule 11: at half of the cap a soft warning is noted, once', () => {
    const policy = { ...POLICY, maxConsecutive: 4, cooldownMs: 0 }
    const { notes } = decide(facts('timer'), ['a', 'b', 'c', 'd'].map(say), head(), policy)
    expect(notes).toEqual([
      { level: 'warn', rule: 'half_of_cap', text: '2 of 4 unanswered follow-ups' },
    ])
  })
})

describe('dedupe keys', () => {
  const keys = (type: EventType, wishes: TurnAction[], now = NOW, seq = 5) =>
    decide(facts(type, seq), wishes, head({ now }), POLICY).effects.map((e) => e.dedupeKey)

  it('rule 12: differ by ordinal, event, type and payload', () => {
    const [first, second] = keys('user_message', [say('ding'), say('ding')])
    expect(first).not.toBe(second)
    expect(first).toMatch(/^[0-9a-f]{64}$/)
    expect(keys('user_message', [say('ding')], NOW, 6)[0]).not.toBe(first)
    expect(keys('user_message', [say('dong')])[0]).not.toBe(first)
    expect(dedupeKey('k', 1, 'send_message', '{}', 0)).not.toBe(
      dedupeKey('k', 1, 'schedule_timer', '{}', 0),
    )
  })

  it('rule 12: are stable when the turn runs again, also for a follow-up after a delay', () => {
    const wishes = [say('a'), follow('x'), follow('y', { payload: '{"b":1,"a":2}' }), say('b')]
    const later = new Date(NOW.getTime() + 4_321)
    expect(keys('user_message', wishes, later)).toEqual(keys('user_message', wishes))
  })

  it('rule 12: follow-ups that differ in time or payload differ', () => {
    const [a, b, c, d] = [
      follow('x'),
      follow('x', { delayMs: 1 }),
      follow('x', { delayMs: null, fireAt: NOW }),
      follow('x', { payload: '1' }),
    ].map((wish) => keys('user_message', [wish])[0])
    expect(new Set([a, b, c, d]).size).toBe(4)
  })

  it('rule 12: payloads count by meaning, not by spelling', () => {
    const key = (payload: string) => dedupeKey('k', 1, 'send_message', payload, 0)
    expect(key('{"a":1,"b":{"d":1,"c":2}}')).toBe(key('{ "b": {"c":2,"d":1}, "a": 1 }'))
    expect(key('{"a":1}')).not.toBe(key('{"a":2}'))
  })

  it('no two effects of a session share a key, whatever was asked for', () => {
    const wish = fc.oneof(
      fc.constantFrom('a', 'b').map(say),
      fc.constantFrom('x', 'y').map((id) => follow(id)),
    )
    fc.assert(
      fc.property(fc.array(fc.array(wish, { maxLength: 6 }), { maxLength: 6 }), (turns) => {
        const all = turns.flatMap((wishes, n) => keys('user_message', wishes, NOW, n + 1))
        expect(new Set(all).size).toBe(all.length)
      }),
    )
  })
})

describe('timers', () => {
  it('rule 16: the effect is kept as completed; a delay counts from database time', () => {
    const { effects, timers } = decide(facts('user_message', 5), [follow('n')], head(), POLICY)
    const fireAt = new Date(NOW.getTime() + 60_000)
    expect(timers).toEqual([
      { id: expect.any(String), timerId: 'n', fireAt, payload: null, status: 'pending' },
    ])
    expect(effects[0]).toMatchObject({ type: 'schedule_timer', status: 'completed' })
    expect(JSON.parse(effects[0]?.payload ?? '')).toEqual({
      timer_id: 'n',
      fire_at: fireAt.toISOString(),
    })
  })

  it('rule 10: within a turn the last word about an id holds', () => {
    const cancel: TurnAction = { type: 'cancel_timer', timerId: 'n' }
    const set = decide(facts('timer'), [cancel, follow('n')], head(), POLICY)
    expect([set.timers.length, set.cancelledTimers]).toEqual([1, []])
    const gone = decide(facts('timer'), [follow('n'), cancel], head(), POLICY)
    expect([gone.timers.length, gone.cancelledTimers]).toEqual([0, ['n']])
  })

  it('invariant 8: a follow-up of a turn that the user has overtaken is cancelled from the start', () => {
    const { timers } = decide(facts('timer', 5), [follow('n')], head({ lastUserSeq: 6 }), POLICY)
    expect(timers[0]?.status).toBe('cancelled')
  })

  it('rule 17: without autonomy a follow-up is dropped with a note, and the reply goes out', () => {
    const quiet = { ...POLICY, autonomy: false }
    const decision = decide(facts('user_message'), [follow('n'), say('hi')], head(), quiet)
    expect(decision.timers).toEqual([])
    expect(decision.effects.map((e) => e.type)).toEqual(['send_message'])
    expect(decision.notes.map((n) => n.rule)).toEqual(['autonomy_disabled'])
  })
})

describe('bounds', () => {
  it('a turn that asks for more than 1000 effects gets the first 1000 and a note, never silence', () => {
    const wishes = Array.from({ length: 1003 }, (_, n) => say(`m${n}`))
    const { effects, notes } = decide(facts('user_message'), wishes, head(), POLICY)
    expect(effects).toHaveLength(1000)
    expect(notes).toEqual([
      { level: 'warn', rule: 'too_many_effects', text: expect.stringContaining('3 ') },
    ])
  })

  it('rule 15: 1 s, 2 s, 4 s, then given up; terminal at once; never sooner than asked', () => {
    const failure = { cause: 'agent_error', terminal: false, retryAfterMs: 0, text: 'x' } as const
    expect([0, 1, 2, 3].map((n) => afterFailure(n, failure).retryMs)).toEqual([
      1000,
      2000,
      4000,
      null,
    ])
    expect(afterFailure(0, { ...failure, terminal: true }).retryMs).toBeNull()
    expect(afterFailure(0, { ...failure, retryAfterMs: 9000 }).retryMs).toBe(9000)
  })
})

describe('counters', () => {
  it('rule 8: only a user message opens with quiet counters', () => {
    const busy = { consecutive: 2, lastAt: NOW }
    expect(openingCounters('user_message', busy)).toEqual(QUIET)
    expect(openingCounters('tool_result', busy)).toEqual(busy)
  })
})
