/** What becomes of an intent after each report, and when it is looked at first: the whole table, and its laws. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { validateIntent } from '../../src/features/intents/checks.ts'
import {
  afterReport,
  EXECUTION_STATUSES,
  type ExecutionStatus,
  firstCheck,
  type IntentTerms,
  isConditionType,
  nextChecks,
  scheduleWords,
  TRIGGER_TYPES,
  type TriggerType,
  termsOf,
} from '../../src/features/intents/rules.ts'

const MINUTE = 60_000
const NOW = new Date('2026-03-02T10:07:30Z')
const minutes = (n: number) => new Date(NOW.getTime() + n * MINUTE)

const SCHEDULES: Record<TriggerType, IntentTerms['trigger_schedule']> = {
  cron: { cron: '0 9 * * 1' },
  interval: { interval_minutes: 60 },
  once: { datetime: '2026-03-02T10:00:00Z' },
  price: { check_interval_minutes: 30 },
  silence: {},
  event: {},
  calendar: {},
  news: {},
  condition: {},
}

function terms(type: TriggerType, more: Partial<IntentTerms> = {}): IntentTerms {
  return {
    trigger_type: type,
    trigger_schedule: SCHEDULES[type],
    trigger_condition: {},
    timezone: 'UTC',
    anchor_at: new Date('2026-03-02T08:05:00Z'),
    expires_at: null,
    max_executions: null,
    execution_count: 0,
    next_check: null,
    scheduled_for: null,
    ...more,
  }
}

describe('after a report: the table of state management (rule 27)', () => {
  const table: [TriggerType, ExecutionStatus, Date | null][] = [
    ['cron', 'success', new Date('2026-03-09T09:00:00Z')],
    ['interval', 'success', new Date('2026-03-02T11:05:00Z')],
    ['once', 'success', null],
    ['price', 'success', minutes(30)],
    ['silence', 'success', minutes(5)],
    ['event', 'success', minutes(5)],
    ['calendar', 'success', minutes(5)],
    ['news', 'success', minutes(5)],
    ...TRIGGER_TYPES.flatMap((type): [TriggerType, ExecutionStatus, Date][] => [
      [type, 'condition_not_met', minutes(5)],
      [type, 'gate_blocked', minutes(5)],
      [type, 'failed', minutes(15)],
    ]),
  ]
  it.each(table)('%s, %s', (type, status, next_check) => {
    const settled = afterReport(terms(type, { execution_count: 3 }), { status }, NOW)
    expect(settled).toEqual({
      next_check,
      enabled: next_check !== null,
      executed: status === 'success',
      execution_count: status === 'success' ? 4 : 3,
      ...(next_check === null ? { was_disabled_reason: 'one-time trigger executed' } : {}),
    })
  })

  it('what failed for good goes on as after a success, and counts as none', () => {
    for (const type of TRIGGER_TYPES) {
      const [good, bad] = [{ status: 'success' }, { status: 'failed', terminal: true }] as const
      const through = afterReport(terms(type), good, NOW)
      const failed = afterReport(terms(type), bad, NOW)
      expect(failed.next_check, type).toEqual(through.next_check)
      expect(failed).toMatchObject({ executed: false, execution_count: 0 })
      if (type === 'once')
        expect(failed.was_disabled_reason).toBe('one-time trigger failed for good')
    }
  })

  it('a gate may say until when; an instant that has passed says nothing', () => {
    const until = minutes(90)
    const report = { status: 'gate_blocked' as const, deferUntil: until }
    expect(afterReport(terms('cron'), report, NOW).next_check).toEqual(until)
    for (const deferUntil of [NOW, minutes(-1), null])
      expect(
        afterReport(terms('cron'), { status: 'gate_blocked', deferUntil }, NOW).next_check,
      ).toEqual(minutes(5))
    const other = { status: 'failed' as const, deferUntil: until }
    expect(afterReport(terms('price'), other, NOW).next_check).toEqual(minutes(15))
  })

  it('a failure never postpones past a sooner regular slot', () => {
    const soon = terms('cron', { trigger_schedule: { cron: '10 * * * *' } })
    expect(afterReport(soon, { status: 'failed' }, NOW).next_check).toEqual(
      new Date('2026-03-02T10:10:00Z'),
    )
    const grid = terms('interval', { trigger_schedule: { interval_minutes: 5 } })
    expect(afterReport(grid, { status: 'failed' }, NOW).next_check).toEqual(
      new Date('2026-03-02T10:10:00Z'),
    )
  })

  it('ends by count and by time, whatever was reported, and says which', () => {
    const counted = terms('price', { max_executions: 2, execution_count: 1 })
    expect(afterReport(counted, { status: 'success' }, NOW)).toEqual({
      next_check: null,
      enabled: false,
      executed: true,
      execution_count: 2,
      was_disabled_reason: 'max_executions (2) reached',
    })
    expect(afterReport(counted, { status: 'failed' }, NOW).enabled).toBe(true)
    for (const status of EXECUTION_STATUSES) {
      const expired = afterReport(terms('cron', { expires_at: NOW }), { status }, NOW)
      expect(expired).toMatchObject({ enabled: false, was_disabled_reason: 'expires_at passed' })
      expect(expired.executed).toBe(status === 'success')
    }
    const once = terms('once', { max_executions: 1, expires_at: NOW })
    expect(afterReport(once, { status: 'success' }, NOW).was_disabled_reason).toBe(
      'one-time trigger executed',
    )
    const later = terms('cron', { expires_at: minutes(1) })
    expect(afterReport(later, { status: 'success' }, NOW).enabled).toBe(true)
  })
})

describe('the first check (rule 23)', () => {
  it('cron, interval and once at their time, conditions at once', () => {
    const at = (type: TriggerType, more: Partial<IntentTerms> = {}) =>
      firstCheck(terms(type, { anchor_at: NOW, ...more }), NOW)
    expect(at('cron')).toEqual(new Date('2026-03-09T09:00:00Z'))
    expect(at('interval')).toEqual(minutes(60))
    const zoned = { trigger_schedule: { trigger_at: '2026-03-03T09:00' }, timezone: 'Asia/Tokyo' }
    expect(at('once', zoned)).toEqual(new Date('2026-03-03T00:00:00Z'))
    expect(at('once')).toBeNull()
    for (const type of TRIGGER_TYPES.filter(isConditionType)) expect(at(type)).toEqual(NOW)
  })

  it('next checks: the one it waits for and the slots after it, where there are slots', () => {
    const next_check = minutes(5)
    expect(nextChecks(terms('interval', { next_check }), NOW)).toEqual([
      next_check,
      new Date('2026-03-02T11:05:00Z'),
      new Date('2026-03-02T12:05:00Z'),
    ])
    expect(nextChecks(terms('price', { next_check }), NOW)).toBeNull()
    expect(nextChecks(terms('once', { next_check: null }), NOW)).toEqual([])
  })
})

describe('words', () => {
  it.each<[TriggerType, IntentTerms['trigger_condition'], string]>([
    ['cron', {}, 'every Monday at 09:00 (UTC)'],
    ['interval', {}, 'every hour, counted from its start'],
    ['once', {}, 'once at 2026-03-02 10:00 UTC'],
    ['price', { ticker: 'NVDA', operator: '<', value: 130 }, 'when NVDA is < 130'],
    ['silence', { threshold_hours: 48 }, 'when the user has been silent for 48 hours'],
    ['event', { keywords: ['deploy', 'done'] }, 'when an event mentions deploy, done'],
    ['news', { keywords: ['rates'] }, 'when a headline mentions rates'],
    ['calendar', {}, 'when a calendar entry starts within 15 minutes'],
  ])('%s', (type, trigger_condition, words) => {
    expect(scheduleWords(terms(type, { trigger_condition }))).toBe(words)
  })

  it('rows hold JSON as text', () => {
    const row = { ...terms('price'), trigger_schedule: null, trigger_condition: '{"ticker":"X"}' }
    expect(termsOf(row)).toMatchObject({ trigger_schedule: {}, trigger_condition: { ticker: 'X' } })
  })
})

describe('rules, in the words of clients (rules 22 to 24)', () => {
  const errors = (type: TriggerType, more: Partial<IntentTerms> = {}) =>
    validateIntent(terms(type, more), NOW)
  const cron = (text: string, timezone = 'UTC') =>
    errors('cron', { trigger_schedule: { cron: text }, timezone })

  it('required fields by type', () => {
    const empty = { trigger_schedule: {}, trigger_condition: {} }
    expect(errors('cron', empty)).toEqual([`trigger_schedule.cron required for type 'cron'`])
    expect(errors('interval', empty)).toEqual([
      `trigger_schedule.interval_minutes required for type 'interval'`,
    ])
    expect(errors('once', empty)).toEqual([`trigger_schedule.datetime required for type 'once'`])
    expect(errors('price', empty)).toEqual([
      `trigger_condition.ticker required for type 'price'`,
      `trigger_condition.operator required for type 'price'`,
      `trigger_condition.value required for type 'price'`,
    ])
    expect(errors('silence', empty)).toEqual([
      `trigger_condition.threshold_hours required for type 'silence'`,
    ])
    for (const type of ['event', 'news'] as const)
      for (const trigger_condition of [{}, { keywords: [] }])
        expect(errors(type, { trigger_condition })).toEqual([
          `trigger_condition.keywords required for type '${type}'`,
        ])
    expect(errors('calendar', empty)).toEqual([])
    expect(errors('calendar', { trigger_condition: { value: 0 } })).toHaveLength(1)
  })

  it('cron: spacing and fires a day, on the worst local day of the year', () => {
    expect(cron('*/15 * * * *')).toEqual([])
    expect(cron('* * * * *')).toEqual(['trigger_schedule.cron: Cron would fire 1440x/day. Max: 96'])
    expect(cron('@every 30s')).toEqual([
      'trigger_schedule.cron: Cron too frequent: every 30s. Minimum: 60s',
      'trigger_schedule.cron: Cron would fire 2880x/day. Max: 96',
    ])
    // Sundays only: asked on a Monday, the answer is the same.
    expect(cron('* * * * 0')).toEqual(['trigger_schedule.cron: Cron would fire 1440x/day. Max: 96'])
    // The day with 25 hours has 100 quarters.
    expect(cron('*/15 * * * *', 'Europe/Berlin')).toEqual([
      'trigger_schedule.cron: Cron would fire 100x/day. Max: 96',
    ])
    for (const wrong of ['0 0 30 2 *', '* * * * * *', 'banana'])
      expect(cron(wrong)[0]).toMatch(/^trigger_schedule\.cron: /)
  })

  it('interval, once, zone', () => {
    const interval = (interval_minutes: number) =>
      errors('interval', { trigger_schedule: { interval_minutes } })
    expect(interval(5)).toEqual([])
    for (const n of [4, 0, -5])
      expect(interval(n)).toEqual([
        `trigger_schedule.interval_minutes: Interval too short: ${n}m. Minimum: 5m`,
      ])
    const late = 'One-time trigger must be in the future'
    expect(errors('once')).toEqual([`trigger_schedule.datetime: ${late}`])
    expect(errors('once', { trigger_schedule: { trigger_at: '2020-01-01T00:00:00Z' } })).toEqual([
      `trigger_schedule.trigger_at: ${late}`,
    ])
    expect(errors('once', { trigger_schedule: { datetime: NOW.toISOString() } })).toHaveLength(1)
    expect(errors('cron', { trigger_schedule: {}, timezone: 'Mars/X' })).toEqual([
      expect.stringContaining('timezone: "Mars/X" is not an IANA time zone'),
      `trigger_schedule.cron required for type 'cron'`,
    ])
  })
})

describe('laws', () => {
  const instant = fc.date({
    min: new Date('2025-01-01T00:00:00Z'),
    max: new Date('2035-01-01T00:00:00Z'),
    noInvalidDate: true,
  })
  const anyTerms = fc
    .record({
      type: fc.constantFrom(...TRIGGER_TYPES),
      cron: fc.constantFrom('*/15 * * * *', '0 9 * * 1', '30 2 * * *', '@every 7m', '0 0 1 1 *'),
      interval_minutes: fc.integer({ min: 5, max: 100_000 }),
      datetime: instant.map((at) => at.toISOString()),
      timezone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu'),
      anchor_at: instant,
      expires_at: fc.option(instant),
      max_executions: fc.option(fc.integer({ min: 1, max: 5 })),
      execution_count: fc.integer({ min: 0, max: 6 }),
    })
    .map(({ type, cron, interval_minutes, datetime, ...rest }) =>
      terms(type, { ...rest, trigger_schedule: { cron, interval_minutes, datetime } }),
    )

  it('enabled means a next check, after now; disabled means none, and a reason', () => {
    fc.assert(
      fc.property(
        anyTerms,
        fc.constantFrom(...EXECUTION_STATUSES),
        fc.option(instant),
        instant,
        (intent, status, deferUntil, now) => {
          const settled = afterReport(intent, { status, deferUntil }, now)
          expect(settled.enabled).toBe(settled.next_check !== null)
          expect(settled.was_disabled_reason === undefined).toBe(settled.enabled)
          if (settled.next_check !== null)
            expect(settled.next_check.getTime()).toBeGreaterThan(now.getTime())
          expect(settled.execution_count - intent.execution_count).toBe(settled.executed ? 1 : 0)
          const max = intent.max_executions
          if (settled.enabled && max !== null) expect(settled.execution_count).toBeLessThan(max)
        },
      ),
    )
  })

  it('an interval stays on the grid of its anchor, and takes its next point', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 5, max: 50_000 }),
        instant,
        instant,
        (interval_minutes, anchor_at, now) => {
          const intent = terms('interval', { trigger_schedule: { interval_minutes }, anchor_at })
          const { next_check } = afterReport(intent, { status: 'success' }, now)
          const step = interval_minutes * MINUTE
          const from = (next_check?.getTime() ?? 0) - anchor_at.getTime()
          expect(from % step).toBe(0)
          expect(from).toBeGreaterThan(0)
          if (now >= anchor_at) {
            const wait = (next_check?.getTime() ?? 0) - now.getTime()
            expect(wait).toBeGreaterThan(0)
            expect(wait).toBeLessThanOrEqual(step)
          }
        },
      ),
    )
  })
})
