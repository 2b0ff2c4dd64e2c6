/** Invariant 11: whatever the rows of a slot say, it has exactly one outcome, a reason where one is due, and words. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type CheckFacts,
  type EventFacts,
  judgeOccasion,
  judgeSlot,
  type MessageFact,
  OUTCOME_MEANINGS,
  OUTCOMES,
  type SlotFacts,
  TRIGGER_KINDS,
  type TurnFact,
} from '../../src/features/ledger/rules.ts'
import { slotWords, type Told } from '../../src/features/ledger/sentence.ts'
import type { Reason } from '../../src/features/sessions/gate.ts'

const AT = new Date('2026-01-01T21:04:00Z')
const LATER = new Date('2026-01-01T21:09:00Z')
const CAP = { allowed: false, rule: 'hard_cap_reached', count: 3, max: 3 } as const
const COOL = { allowed: false, rule: 'cooldown_active', count: 1, max: 3, until: LATER } as const
const OK = { allowed: true, rule: 'within_limits', count: 1, max: 3 } as const

const turn = (more: Partial<TurnFact> = {}): TurnFact => ({
  ...{ eventSeq: 1, status: 'committed', startedAt: AT, finishedAt: AT, error: null, verdicts: [] },
  cause: null,
  ...more,
})
const bad = (
  error: string,
  status: 'failed' | 'retrying' = 'failed',
  cause: TurnFact['cause'] = 'agent_error',
) => turn({ status, error, cause })
const message = (status: MessageFact['status'], error: string | null = null): MessageFact => ({
  ...{ id: 'm', status, channel: 'websocket', attempts: 1, at: AT, error, preview: 'hello' },
  reason: 'follow_up',
})
const event = (more: Partial<EventFacts> = {}): EventFacts => ({
  ...{ from: 'event', turns: [], messages: [], passed: false, again: null, cancelled: false },
  ...more,
})
const check = (more: Partial<CheckFacts> = {}): CheckFacts => ({
  ...{ from: 'check', status: 'condition_not_met', expired: false, reported: false, gate: null },
  ...{ seen: null, error: null, repeats: 1 },
  ...more,
})
const output = (status: 'pending' | 'running' | 'completed' | 'failed') => ({
  ...{ status, runNumber: 3, title: 'Trends', error: status === 'failed' ? 'no paper' : null },
})
const wake = (status: 'taken' | 'failed' | 'retrying', more: object = {}): SlotFacts => ({
  ...{ from: 'wake', status, attempts: 2, error: status === 'taken' ? null : '503' },
  ...{ again: null, cancelled: false },
  ...more,
})
const blocked = turn({ verdicts: [CAP] })
const timer = { kind: 'timer', at: AT, endedAt: AT, missedCount: 0, attempts: 1 } as const

function told(facts: SlotFacts, more: Partial<Told> = {}, zone = 'UTC'): string {
  return slotWords({ ...timer, ...judgeSlot(facts), facts, ...more }, zone, LATER)
}

describe('the outcome of a slot', () => {
  test.each<[string, SlotFacts, string, string | null]>([
    ['no turn yet', event(), 'pending', 'waits_for_turn'],
    ['cancelled before its turn', event({ cancelled: true }), 'cancelled', 'cancelled'],
    ['its turn is pruned', event({ passed: true }), 'silent', 'record_pruned'],
    ['nothing said', event({ turns: [turn()] }), 'silent', null],
    ['received', event({ turns: [turn()], messages: [message('completed')] }), 'delivered', null],
    [
      'one of two',
      event({ messages: [message('failed'), message('completed')] }),
      'delivered',
      null,
    ],
    ['on its way', event({ messages: [message('pending')] }), 'sent', null],
    ['being sent', event({ messages: [message('executing')] }), 'sent', null],
    ['undeliverable', event({ messages: [message('failed', 'x')] }), 'failed', 'delivery_failed'],
    ['held back', event({ turns: [blocked] }), 'suppressed', 'hard_cap_reached'],
    ['to be retried', event({ turns: [bad('x', 'retrying')] }), 'pending', 'attempt_failed'],
    ['next attempt known', event({ turns: [bad('x')], again: LATER }), 'pending', 'attempt_failed'],
    ['given up', event({ turns: [bad('x')] }), 'failed', 'attempts_failed'],
    ['withdrawn', event({ turns: [bad('x', 'failed', 'withdrawn')] }), 'cancelled', 'cancelled'],
    ['deleted', event({ turns: [bad('x', 'failed', 'deleted')] }), 'cancelled', 'cancelled'],
    [
      'cancelled between attempts',
      event({ turns: [bad('x')], cancelled: true }),
      'cancelled',
      'cancelled_between_attempts',
    ],
    [
      'sent, then cancelled: a message is not unsent',
      event({ turns: [turn()], messages: [message('completed')], cancelled: true }),
      'delivered',
      null,
    ],
    ['run done', event({ turns: [turn()], output: output('completed') }), 'delivered', null],
    ['run failed', event({ turns: [turn()], output: output('failed') }), 'failed', 'run_failed'],
    ['run queued', event({ output: output('pending') }), 'pending', 'waits_for_turn'],
    [
      'run gone with its work',
      event({ turns: [turn()], output: null }),
      'delivered',
      'output_deleted',
    ],
    [
      'run kept, turn pruned',
      event({ passed: true, output: output('completed') }),
      'delivered',
      null,
    ],
    ['condition', check({ seen: { reason: 'stale' } }), 'condition_false', 'stale'],
    ['condition reported', check({ reported: true }), 'condition_false', 'reported_not_met'],
    ['expired', check({ expired: true }), 'expired', 'expires_at_passed'],
    ['gate', check({ status: 'gate_blocked', gate: { reason: 'quiet' } }), 'postponed', 'quiet'],
    ['a gate without words', check({ status: 'gate_blocked' }), 'postponed', 'gate_blocked'],
    ['unreadable', check({ status: 'failed', error: 'x' }), 'failed', 'check_failed'],
    ['done outside', check({ status: 'success', reported: true }), 'delivered', null],
    ['taken', wake('taken'), 'delivered', null],
    ['refused', wake('failed'), 'failed', 'attempts_failed'],
    ['tried again', wake('retrying', { again: LATER }), 'pending', 'attempt_failed'],
    ['replaced between attempts', wake('retrying'), 'failed', 'attempts_failed'],
    [
      'called off between attempts',
      wake('retrying', { cancelled: true }),
      'cancelled',
      'cancelled_between_attempts',
    ],
    ['called off', { from: 'cancel', calling: false }, 'cancelled', 'cancelled'],
    [
      'called off while calling',
      { from: 'cancel', calling: true },
      'cancelled',
      'cancelled_while_calling',
    ],
  ])('%s', (_, facts, outcome, rule) => {
    const judged = judgeSlot(facts)
    expect(judged.outcome).toBe(outcome)
    expect(judged.reason?.rule ?? null).toBe(rule)
  })

  test('every outcome has a meaning', () => {
    expect(Object.keys(OUTCOME_MEANINGS).toSorted()).toEqual([...OUTCOMES].toSorted())
  })

  const instant = fc.constantFrom(null, LATER)
  const facts: fc.Arbitrary<SlotFacts> = fc.oneof(
    fc.record({
      from: fc.constant('event' as const),
      turns: fc.array(
        fc.constantFrom(
          turn(),
          blocked,
          turn({ verdicts: [OK, COOL] }),
          bad('x'),
          bad('', 'retrying'),
        ),
        { maxLength: 3 },
      ),
      messages: fc.array(
        fc.constantFrom(message('pending'), message('completed'), message('failed', 'x')),
        { maxLength: 3 },
      ),
      passed: fc.boolean(),
      again: instant,
      cancelled: fc.boolean(),
      output: fc.constantFrom(null, output('completed'), output('failed'), output('running')),
    }),
    fc.record({
      from: fc.constant('check' as const),
      status: fc.constantFrom('success', 'failed', 'gate_blocked', 'condition_not_met' as const),
      expired: fc.boolean(),
      reported: fc.boolean(),
      gate: fc.option(
        fc.dictionary(fc.constantFrom('rule', 'until', 'count', 'max'), fc.anything()),
      ),
      seen: fc.option(fc.dictionary(fc.constantFrom('reason', 'ticker', 'price'), fc.anything())),
      error: fc.option(fc.string()),
      repeats: fc.integer({ min: 1, max: 9 }),
    }) as fc.Arbitrary<SlotFacts>,
    fc.record({
      from: fc.constant('wake' as const),
      status: fc.constantFrom('taken' as const, 'failed' as const, 'retrying' as const),
      attempts: fc.integer({ min: 1, max: 9 }),
      error: fc.option(fc.string()),
      again: instant,
      cancelled: fc.boolean(),
    }),
    fc.record({ from: fc.constant('cancel' as const), calling: fc.boolean() }),
  )

  test('whatever the facts: one outcome of the list, one sentence, and an outcome that holds something back says the rule', () => {
    fc.assert(
      fc.property(
        facts,
        fc.constantFrom(...TRIGGER_KINDS),
        instant,
        fc.nat({ max: 9 }),
        (some, kind, endedAt, missedCount) => {
          const judged = judgeSlot(some)
          expect(OUTCOMES).toContain(judged.outcome)
          const words = told(some, { kind, endedAt, missedCount })
          expect(words).toMatch(/^[A-Z].*\.$/s)
          expect(words).not.toMatch(/undefined|null|\[object/)
          if (
            ['suppressed', 'postponed', 'failed', 'cancelled', 'expired'].includes(judged.outcome)
          )
            expect(judged.reason?.rule).toBeTruthy()
        },
      ),
      { numRuns: 2000 },
    )
  })
})

describe('an event by itself', () => {
  test('is judged as the slot is that has no other', () => {
    const status = fc.constantFrom('pending', 'completed', 'failed' as const)
    const attempt = fc.constantFrom(
      ...[turn(), blocked, turn({ verdicts: [OK, COOL] }), bad('x'), bad('x', 'retrying')],
      ...[bad('x', 'failed', 'withdrawn'), bad('x', 'failed', 'deleted')],
    )
    fc.assert(
      fc.property(fc.option(attempt), fc.array(status, { maxLength: 3 }), (last, messages) => {
        const occasion = {
          ...{ status: last?.status ?? null, error: last?.error ?? null },
          ...{
            cause: last?.cause ?? null,
            verdicts: JSON.stringify(last?.verdicts ?? []),
            messages,
          },
        }
        const slot = event({
          turns: last === null ? [] : [last],
          messages: messages.map((each) => message(each)),
        })
        expect(judgeOccasion(occasion)).toEqual({
          ...judgeSlot(slot),
          verdicts: last?.verdicts ?? [],
        })
      }),
    )
  })
})

describe('its words', () => {
  test('say the rule and its number, in the zone that was asked for', () => {
    const cap = event({ turns: [blocked] })
    expect(told(cap)).toBe('Held back at 21:04: 3 unanswered follow-ups in a row, cap 3.')
    expect(told(cap, {}, 'Europe/Berlin')).toContain('Held back at 22:04:')
    const quiet = { reason: 'quiet', defer_until: LATER.toISOString() }
    expect(told(check({ status: 'gate_blocked', gate: quiet }))).toBe(
      'Held back at 21:04: quiet until 21:09; to be tried again.',
    )
  })

  test('name the day where it is not today', () => {
    const yesterday = new Date('2025-12-31T09:00:00Z')
    const facts = event({ turns: [turn()], messages: [message('completed')] })
    expect(told(facts, { endedAt: yesterday })).toBe(
      'Delivered at 2025-12-31 09:00 as a follow-up.',
    )
  })

  test('say why a message was sent', () => {
    const said = (reason: Reason, status: MessageFact['status']) =>
      told(event({ turns: [turn()], messages: [{ ...message(status), reason }] }))
    expect(said('follow_up', 'completed')).toBe('Delivered at 21:04 as a follow-up.')
    expect(said('promise', 'completed')).toBe('Delivered at 21:04 as promised.')
    expect(said('notice', 'completed')).toBe('Delivered at 21:04 as a notice.')
    expect(said('promise', 'pending')).toBe('Sent at 21:04 as promised, not yet received.')
  })

  test('say what was seen, how often, and what is covered', () => {
    const seen = { reason: 'false', ticker: 'NVDA', price: 140, operator: '<', value: 130 }
    expect(told(check({ seen, repeats: 12 }))).toBe(
      'Checked at 21:04 (12 times in a row): NVDA was 140, waiting for < 130 (the condition does not hold).',
    )
    expect(told(event({ turns: [turn()] }), { missedCount: 2 })).toBe(
      'The agent ran at 21:04 and had nothing to say. It also stands for 2 slots that passed meanwhile.',
    )
  })

  test('tell failures and runs', () => {
    expect(told(event({ turns: [bad('no\nluck')] }), { attempts: 3 })).toBe(
      'Failed at 21:04 after 3 attempts: no luck.',
    )
    expect(told(event({ turns: [turn()], output: output('completed') }))).toBe(
      'Run 3 completed at 21:04: "Trends".',
    )
    expect(told(wake('retrying', { again: LATER }), { attempts: 2 })).toBe(
      'Attempt 2 failed (503); the next is at 21:09.',
    )
  })
})
