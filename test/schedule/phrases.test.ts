import { describe, expect, it } from 'vitest'
import {
  formatLocal,
  parseCron,
  parseFrequency,
  parsePhrase,
  ScheduleError,
} from '../../src/core/schedule/index.ts'
import { EXAMPLES, ONE_OFF_EXAMPLES } from '../../src/core/schedule/nearest.ts'

/** A Monday, 10:20 in Berlin. */
const NOW = Date.parse('2026-11-16T09:20:00Z')
const BERLIN = { timezone: 'Europe/Berlin', now: NOW }

function errorsOf(run: () => unknown): string[] {
  try {
    run()
  } catch (error) {
    if (error instanceof ScheduleError) return error.errors
    throw error
  }
  throw new Error('was accepted')
}

describe('recurring phrases', () => {
  it.each([
    ['daily at 9am', '0 9 * * *'],
    ['every Monday at 10am', '0 10 * * 1'],
    ['weekdays at 8:30', '30 8 * * 1-5'],
    ['every weekday at 8:30', '30 8 * * 1-5'],
    ['monthly on the 1st at noon', '0 12 1 * *'],
    ['every 15 minutes', '*/15 * * * *'],
    ['every 6 hours', '0 */6 * * *'],
    ['every day at 9:30 pm', '30 21 * * *'],
    ['daily at 9am and 5pm', '0 9,17 * * *'],
    ['daily at 9:00, 9:30', '0,30 9 * * *'],
    ['mondays and thursdays at 7', '0 7 * * 1,4'],
    ['monday to friday at 9am', '0 9 * * 1-5'],
    ['last day of each month', '0 9 L * *'],
    ['every first friday of the month', '0 9 * * 5#1'],
    ['every last friday', '0 9 * * 5#L'],
    ['every fourth thursday in november', '0 9 * 11 4#4'],
    ['daily except on weekends', '0 9 * * 1-5'],
    ['every 15 minutes on weekdays', '*/15 * * * 1-5'],
    ['yearly on december 25th at 8am', '0 8 25 12 *'],
    ['every 7 minutes', '@every 7m'],
    ['every 45 mins', '@every 45m'],
    ['every 90 secs', '@every 1m30s'],
    ['every other day', '@every 48h'],
    ['every other week', '@every 336h'],
    ['0 9 * * MON-FRI', '0 9 * * 1-5'],
    ['@every 90m', '@every 1h30m'],
    ['once', 'once'],
  ])('%s is %s', (text, canonical) => {
    expect(parseFrequency(text).canonical).toBe(canonical)
    expect(parsePhrase(text, { now: NOW }).canonical).toBe(canonical)
    expect(parseFrequency(canonical).canonical).toBe(canonical)
  })

  it('says every default it assumed', () => {
    expect(parseFrequency('daily').notes).toEqual(['no hour given: 09:00'])
    expect(parseFrequency('weekly').notes).toEqual([
      'no weekday given: Monday',
      'no hour given: 09:00',
    ])
    expect(parseFrequency('monthly').notes).toEqual([
      'no day given: the 1st',
      'no hour given: 09:00',
    ])
    expect(parseFrequency('monthly').canonical).toBe('0 9 1 * *')
    expect(parseFrequency('every day at 7').notes.join()).toContain('07:00')
    expect(parseFrequency('monthly on the 31st at 9am').notes.join()).toContain('skipped')
    expect(parseFrequency('daily at 9am').notes).toEqual([])
  })

  it.each([
    'every other week on mon',
    'every other weekend',
    'every second tuesday',
    'twice a day',
    'often',
    'biweekly',
    'every 3 months',
    'every 2 days at 9am',
    'daily at 9am and 5:30pm',
    'daily at 9am and 5',
    'daily at 13pm',
    'every day on monday',
    'monthly on monday',
    'monday at 9am',
    'at 9am',
    'the 15th',
    'every december',
    'every monday at 9am until june',
    'every monday at 9am for 3 weeks',
    'every 30 minutes between 9 and 17',
    'every day at 9am UTC',
    'every monday or tuesday',
    'not every monday',
    'every 31st of february',
    'every 99999999 minutes',
    'every 9999 weeks',
    'daily,',
    ', daily',
    'täglich um 9',
    'every dаy',
    'daily\u0000',
  ])('refuses %s and offers phrases that work', (text) => {
    const errors = errorsOf(() => parseFrequency(text))
    expect(errors.at(-1)).toMatch(/^phrases that work: ".+", ".+", ".+"$/)
  })

  it('offers phrases that really work, the nearest first', () => {
    for (const phrase of EXAMPLES) expect(() => parseFrequency(phrase), phrase).not.toThrow()
    const morning = { ...BERLIN, now: Date.parse('2026-11-16T05:00Z') }
    for (const phrase of ONE_OFF_EXAMPLES)
      expect(() => parsePhrase(phrase, morning), phrase).not.toThrow()
    expect(errorsOf(() => parseFrequency('every 3 months')).at(-1)).toContain('"monthly on the 1st')
    expect(errorsOf(() => parseFrequency('every monday or so')).at(-1)).toContain(
      '"every monday at 10:00"',
    )
  })
})

describe('one-off phrases', () => {
  it.each([
    ['in 20 minutes', '2026-11-16 10:40'],
    ['in half an hour', '2026-11-16 10:50'],
    ['in an hour', '2026-11-16 11:20'],
    ['in 1h30m', '2026-11-16 11:50'],
    ['in 2 hours and 30 minutes', '2026-11-16 12:50'],
    ['20 minutes from now', '2026-11-16 10:40'],
    ['in 3 days', '2026-11-19 10:20'],
    ['in 2 days at 9am', '2026-11-18 09:00'],
    ['in two weeks', '2026-11-30 10:20'],
    ['in 3 months', '2027-02-16 10:20'],
    ['tomorrow', '2026-11-17 09:00'],
    ['tomorrow at 9am', '2026-11-17 09:00'],
    ['9am tomorrow', '2026-11-17 09:00'],
    ['tomorrow noon', '2026-11-17 12:00'],
    ['the day after tomorrow at 8:15', '2026-11-18 08:15'],
    ['today at 17:30', '2026-11-16 17:30'],
    ['tonight at 8pm', '2026-11-16 20:00'],
    ['at 5pm', '2026-11-16 17:00'],
    ['at 9am', '2026-11-17 09:00'],
    ['next friday at 14:00', '2026-11-20 14:00'],
    ['next monday at 14:00', '2026-11-23 14:00'],
    ['monday at 14:00', '2026-11-16 14:00'],
    ['on monday at 9am', '2026-11-23 09:00'],
    ['on 24 December at 6pm', '2026-12-24 18:00'],
    ['december 24th, 2027 at 6pm', '2027-12-24 18:00'],
    ['on the 15th at noon', '2026-12-15 12:00'],
    ['march 3', '2027-03-03 09:00'],
    ['feb 29 at 9am', '2028-02-29 09:00'],
    ['2026-12-01', '2026-12-01 09:00'],
    ['2026-12-01 at 17:00', '2026-12-01 17:00'],
    ['2026-12-01T17:00', '2026-12-01 17:00'],
    ['2026-12-01T17:00:00Z', '2026-12-01 18:00'],
    ['2027-03-28 at 2:30', '2027-03-28 03:00'],
  ])('%s is %s', (text, local) => {
    const { schedule, canonical, description } = parsePhrase(text, BERLIN)
    expect(schedule.kind).toBe('once')
    if (schedule.kind !== 'once' || schedule.at === null) return
    expect(formatLocal(schedule.at, 'Europe/Berlin')).toBe(`${local} Europe/Berlin`)
    expect(description).toBe(`once at ${local} Europe/Berlin`)
    expect(parsePhrase(canonical, BERLIN).schedule).toEqual(schedule)
  })

  it.each([
    ['today at 9am', 'past'],
    ['2020-01-01T00:00:00Z', 'past'],
    ['1 january 2020 at 9am', 'past'],
    ['in 0 minutes', 'at least one second'],
    ['in 999999 years', '9999'],
    ['in 999999 weeks', '9999'],
    ['tomorrow at 25:00', 'time of day'],
    ['2026-02-30', 'calendar'],
    ['feb 30 at 9am', 'not exist'],
    ['tonight at 8', '17:00'],
    ['tomorrow at 9am maybe', 'maybe'],
    ['tomorrow tomorrow', 'tomorrow'],
    ['next week', 'next'],
    ['in 20 minutes at 9am', 'not both'],
    ['in two weeks on monday', 'in'],
    ['yesterday', 'yesterday'],
  ])('refuses %s, naming %s', (text, hint) => {
    expect(errorsOf(() => parsePhrase(text, BERLIN)).join('\n')).toContain(hint)
  })
})

describe('descriptions', () => {
  it.each([
    ['30 8 * * 1-5', 'every weekday at 08:30 (UTC)'],
    ['0 9 1 * *', 'at 09:00 on day 1 of every month (UTC)'],
    ['0 9,17 * * *', 'every day at 09:00 and 17:00 (UTC)'],
    ['*/15 * * * *', 'every 15 minutes (UTC)'],
    ['0 */6 * * *', 'every 6 hours, counted from midnight (UTC)'],
    ['15 * * * *', 'at minute 15 of every hour (UTC)'],
    ['*/7 * * * *', 'at minutes 0, 7, 14, 21, 28, 35, 42, 49, 56 of every hour (UTC)'],
    ['* 9-17 * * 1-5', 'every minute during hours 9-17, every weekday (UTC)'],
    ['0 9 L * *', 'at 09:00 on the last day of every month (UTC)'],
    [
      '0 9 15W,LW 6 *',
      'at 09:00 on the weekday nearest to day 15 and the last weekday of June (UTC)',
    ],
    ['0 9 * * 5#1', 'at 09:00 on the first Friday of every month (UTC)'],
    ['0 9 * * 6,0,1,2', 'every Monday, Tuesday, Saturday and Sunday at 09:00 (UTC)'],
    ['0 9 13 * 5', 'at 09:00 on day 13 of every month, and also every Friday (UTC)'],
    ['0 9 * 12 *', 'every day in December at 09:00 (UTC)'],
    ['@every 1h30m', 'every 1 hour 30 minutes, counted from its start'],
    ['@every 24h', 'every 24 hours, counted from its start'],
  ])('%s: %s', (expr, words) => {
    expect(parseCron(expr).description).toBe(words)
  })
})
