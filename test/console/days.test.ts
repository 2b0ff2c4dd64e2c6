/** Days as lists, the chain behind an occurrence, and where its steps stand. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { chainOf } from '../../packages/console/src/activity/chain.ts'
import { placed } from '../../packages/console/src/activity/placing.ts'
import type { LedgerEntry } from '../../packages/console/src/api/ledger.ts'
import { topicsIn } from '../../packages/console/src/api/topics.ts'
import { dayIn, endOfDay, startOfDay } from '../../packages/console/src/parts/time.ts'
import { daysOf, type Occurrence, past } from '../../packages/console/src/schedule/days.ts'
import { playedOf } from '../../packages/console/src/schedule/played.ts'
import { briefly, stateOf } from '../../packages/console/src/schedule/schedule.ts'

const entry = (more: Partial<LedgerEntry> = {}): LedgerEntry => ({
  id: 'e',
  trigger: { kind: 'alarm', id: 'a', name: 'Tea' },
  user_id: 'ann',
  scheduled_for: '2026-01-01T09:00:00.000Z',
  at: '2026-01-01T09:00:02.000Z',
  outcome: 'delivered',
  reason: null,
  words: '',
  missed_count: 0,
  attempts: 1,
  ...more,
})

const occurrence = (trigger: string, at: string, outcome: string | null = null): Occurrence => ({
  ...{ key: `${trigger}@${at}`, trigger, kind: 'alarm', name: trigger, user: 'ann', agent: null },
  ...{ at, outcome, href: '/' },
})

describe('days', () => {
  test('hold every occurrence once, and fold what recurs within a day', () => {
    const some = fc.record({
      trigger: fc.constantFrom('a', 'b', 'c'),
      minute: fc.integer({ min: 0, max: 4 * 1_440 }),
    })
    fc.assert(
      fc.property(fc.array(some), (drawn) => {
        const all = drawn.map(({ trigger, minute }) =>
          occurrence(trigger, new Date(minute * 60_000).toISOString()),
        )
        const days = daysOf(all, 'UTC')
        const counted = days.flatMap(({ lines }) => lines.map(({ count }) => count))
        expect(counted.reduce((sum, count) => sum + count, 0)).toBe(all.length)
        for (const { lines } of days) {
          const names = lines.map(({ shown }) => shown.trigger)
          expect(new Set(names).size).toBe(names.length)
        }
      }),
    )
  })

  test('are those of the zone that is shown, and a line shows the failure among them', () => {
    const late = occurrence('a', '2026-01-01T23:30:00.000Z')
    expect(daysOf([late], 'UTC').map(({ day }) => day)).toEqual(['2026-01-01'])
    expect(daysOf([late], 'Europe/Berlin').map(({ day }) => day)).toEqual(['2026-01-02'])
    const been = ['delivered', 'failed', 'delivered'].map((outcome, hour) =>
      occurrence('a', `2026-01-01T0${hour}:00:00.000Z`, outcome),
    )
    const [line] = daysOf(been, 'UTC')[0]?.lines ?? []
    expect(line).toMatchObject({ count: 3, failed: 1, shown: { outcome: 'failed' } })
  })

  test('begin and end at midnight of their zone, also where the clocks change', () => {
    const noon = Date.parse('2026-03-29T10:00:00Z')
    expect(new Date(startOfDay(noon, 'Europe/Berlin')).toISOString()).toBe(
      '2026-03-28T23:00:00.000Z',
    )
    expect(new Date(endOfDay(noon, 'Europe/Berlin')).toISOString()).toBe('2026-03-29T22:00:00.000Z')
    expect(dayIn(noon, 'Asia/Tokyo')).toBe('2026-03-29')
  })

  test('lead from what has been to its page, and leave questions out', () => {
    const asked = entry({ id: 'q', trigger: { kind: 'question', id: 'q', name: 'Send?' } })
    expect(past([entry(), asked]).map(({ href }) => href)).toEqual(['/activity/e'])
  })
})

test('a schedule that goes on but failed last is not called active', () => {
  const last = { at: '', outcome: 'failed' }
  expect(stateOf({ status: 'active', last })).toMatchObject({ words: 'failing', tone: 'bad' })
  expect(stateOf({ status: 'active', last: null })).toMatchObject({ tone: 'good' })
  expect(stateOf({ status: 'paused', last })).toMatchObject({ words: 'paused' })
})

test('a time is told briefly: what another column shows is left out', () => {
  const of = (description: string) => briefly({ description })
  expect(of('every weekday at 08:30 (Europe/Berlin)')).toBe('every weekday at 08:30')
  expect(of('once at 2026-11-20 09:00 Europe/Berlin')).toBe('once')
  expect(of('once at 2026-11-20 09:00 UTC, unless the person writes first')).toBe(
    'once, unless the person writes first',
  )
  expect(of('when NVDA is < 130')).toBe('when NVDA is < 130')
})

describe('the chain behind an occurrence', () => {
  const times = { started_at: '2026-01-01T09:00:02.000Z', finished_at: '2026-01-01T09:00:03.500Z' }

  test('tells each link that is there, and the error once', () => {
    const told = chainOf(
      entry({
        outcome: 'failed',
        seen: { ticker: 'NVDA', price: 141.2 },
        turn: { event_seq: 1, status: 'failed', error: 'boom', ...times },
        verdicts: [{ allowed: false, rule: 'hard_cap_reached', count: 3, max: 3 }],
        reason: { rule: 'attempts_failed', error: 'boom' },
      }),
    )
    expect(told.map(({ what }) => what)).toEqual([
      'Was due, taken up 2.0 s late',
      'Its check saw',
      'The agent failed after 1.5 s',
      'The gate held back: 3 unanswered follow-ups in a row, cap 3',
    ])
    expect(told[1]?.detail).toBe('ticker NVDA, price 141.2')
  })

  test('shows every attempt where the turns are known', () => {
    const turn = { event_seq: 1, effect_ids: [], verdicts: [], ...times }
    const told = chainOf(entry(), [
      { ...turn, attempt: 1, status: 'retrying', error: 'overloaded' },
      { ...turn, attempt: 2, status: 'committed' },
    ])
    expect(told.slice(1).map(({ what }) => what)).toEqual([
      'The agent failed after 1.5 s',
      'Attempt 2 ran for 1.5 s',
    ])
  })

  test('ends with the error where no turn has told it', () => {
    const reason = { rule: 'attempts_failed', error: 'HTTP 500' }
    const last = chainOf(entry({ outcome: 'failed', reason })).at(-1)
    expect(last).toMatchObject({ what: 'Gave up', detail: 'HTTP 500', tone: 'bad' })
  })

  test('has its steps within the span, none without a width', () => {
    const steps = chainOf(
      entry({ turn: { event_seq: 1, status: 'committed', error: null, ...times } }),
    )
    for (const { at, size } of placed(steps)) {
      expect(at).toBeGreaterThanOrEqual(0)
      expect(at).toBeLessThan(1)
      expect(size).toBeGreaterThan(0)
    }
  })
})

test('a forecast is drawn on the days of its occurrences', () => {
  const trigger = { kind: 'alarm' as const, id: 'a', name: 'Tea' }
  const told = playedOf({
    ...{ user_id: 'ann', timezone: 'UTC', cut: null, notes: [] },
    totals: { said: 1, deferred: 0, gathered: 0, dropped: 0 },
    occurrences: [
      {
        ...{ id: '1', at: '2026-01-01T09:00:00Z', scheduled_for: '2026-01-01T09:00:00Z', trigger },
        ...{ outcome: 'sent', words: 'Sent', text: 'Tea time', session_key: 'ann:companion:main' },
      },
    ],
  })
  expect(told).toMatchObject([
    { words: 'Tea time', agent: 'companion', href: '/schedule/alarm:a', user: 'ann' },
  ])
})

test('a change names its topics, and an empty one none', () => {
  expect(topicsIn('{"topics":["ledger","stops"]}')).toEqual(['ledger', 'stops'])
  expect(topicsIn('{}')).toEqual([])
})
