import { describe, expect, it } from 'vitest'
import {
  atOtherTime,
  formatLocal,
  isTimeOfDay,
  parseCron,
  parseFrequency,
  parsePhrase,
  ScheduleError,
} from '../../packages/schedule/src/index.ts'
import { EXAMPLES, ONE_OFF_EXAMPLES } from '../../packages/schedule/src/nearest.ts'

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
    ['every weekday at 8:30 and 17:00', '30 8 * * 1-5 | 0 17 * * 1-5'],
    ['daily at 9am, 1pm and 6pm', '0 9,13,18 * * *'],
    ['daily at 9am, 1pm and 6:30pm', '0 9,13 * * * | 30 18 * * *'],
    ['at 17:00 and 8:30 every weekday', '30 8 * * 1-5 | 0 17 * * 1-5'],
    ['every aug 20 and 30', '0 9 20,30 8 *'],
    ['every 20 and 30 august at 7am', '0 7 20,30 8 *'],
    ['every year on december 21st and 31st', '0 9 21,31 12 *'],
    ['every aug 20 and dec 3 at 9', '0 9 20 8 * | 0 9 3 12 *'],
    ['every aug 20 and 3 december at 9', '0 9 20 8 * | 0 9 3 12 *'],
    [
      'every dec 21 and jan 5 at 8:30 and 17:00',
      '30 8 21 12 * | 30 8 5 1 * | 0 17 21 12 * | 0 17 5 1 *',
    ],
    ['monthly on the 1st and 15th at noon', '0 12 1,15 * *'],
    ['every morning', '0 9 * * *'],
    ['every afternoon', '0 15 * * *'],
    ['every evening', '0 18 * * *'],
    ['every night', '0 21 * * *'],
    ['every morning at 8', '0 8 * * *'],
    ['at 8 every morning', '0 8 * * *'],
    ['every evening at 8', '0 20 * * *'],
    ['every evening at 8:30', '30 20 * * *'],
    ['every night at 10', '0 22 * * *'],
    ['every night at 2', '0 2 * * *'],
    ['every night at midnight', '0 0 * * *'],
    ['every morning and evening', '0 9,18 * * *'],
    ['every monday morning', '0 9 * * 1'],
    ['weekday mornings at 7', '0 7 * * 1-5'],
    ['mondays and thursdays in the evening', '0 18 * * 1,4'],
    ['every morning except sundays at 7', '0 7 * * 1-6'],
    ['daily at half past 8', '30 8 * * *'],
    ['daily at a quarter to nine', '45 8 * * *'],
    ['daily at quarter past 5pm', '15 17 * * *'],
    ['daily at quarter to midnight', '45 23 * * *'],
    ['daily at nine', '0 9 * * *'],
    ['daily at 8.30', '30 8 * * *'],
    ['0 17 * * * | 30 8 * * *|0 17 * * *', '30 8 * * * | 0 17 * * *'],
    ['@daily | 0 12 * * *', '0 0 * * * | 0 12 * * *'],
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
    expect(parseFrequency('every morning').notes).toEqual([
      'no hour given: 09:00 stands for the morning',
    ])
    expect(parseFrequency('every morning at 8').notes).toEqual([])
    expect(parsePhrase('tonight', BERLIN).notes[0]).toBe(
      'no hour given: 21:00 stands for the night',
    )
    expect(parsePhrase('tonight at 8', BERLIN).notes[0]).toBe('read as 20:00')
    expect(parsePhrase('tomorrow at midnight', BERLIN).notes[0]).toContain('when that day begins')
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
    'every evening at 9am',
    'every morning and evening at 8',
    'every morning at 8 and every evening at 9',
    'every aug 20 and the 3rd of every month',
    'monthly on aug 20 and dec 3',
    'every monday in the night shift',
    'daily at quarter to 1',
    'daily at half 8',
    'morning',
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

  it('joins cron expressions only, and no more than fit', () => {
    const refused = (text: string) => errorsOf(() => parseCron(text)).join()
    expect(refused('0 9 * * * | every monday')).toContain('2 fields')
    expect(refused('0 9 * * * |')).toContain('0 fields')
    expect(refused('0 9 * * * | @every 5m')).toContain('cannot be joined')
    expect(refused('0 9 * * * | 0 9 30 2 *')).toContain('never fires')
    expect(refused(Array.from({ length: 25 }, (_, i) => `${i} * * * *`).join('|'))).toContain('256')
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
    ['tonight', '2026-11-16 21:00'],
    ['tonight at 8', '2026-11-16 20:00'],
    ['at 7:30 tonight', '2026-11-16 19:30'],
    ['this evening', '2026-11-16 18:00'],
    ['this afternoon at 3', '2026-11-16 15:00'],
    ['tomorrow morning', '2026-11-17 09:00'],
    ['tomorrow morning at 8', '2026-11-17 08:00'],
    ['tomorrow at 8 in the evening', '2026-11-17 20:00'],
    ['tomorrow in the afternoon', '2026-11-17 15:00'],
    ['friday night', '2026-11-20 21:00'],
    ['in the morning', '2026-11-17 09:00'],
    ['in the afternoon', '2026-11-16 15:00'],
    ['tmrw at half past 8', '2026-11-17 08:30'],
    ['at quarter to nine tomorrow', '2026-11-17 08:45'],
    ['in an hour and a half', '2026-11-16 11:50'],
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
    ['tonight at 2am', '17:00'],
    ['tonight at 11am', 'night'],
    ['tomorrow at 9 and 17:00', 'tomorrow'],
    ['morning', 'how often'],
    ['this afternoon at 9am', 'afternoon'],
    ['friday night at 1', 'next day'],
    ['at quarter to 1', 'am or pm'],
    ['12.05', 'not understood'],
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
    ['30 8 * * 1-5 | 0 17 * * 1-5', 'every weekday at 08:30 and 17:00 (UTC)'],
    ['0 9 * * * | 30 10 * * 1', 'every day at 09:00, and also every Monday at 10:30 (UTC)'],
    [
      '0 9 20 8 * | 0 9 3 12 *',
      'at 09:00 on day 20 of August, and also at 09:00 on day 3 of December (UTC)',
    ],
    ['@every 1h30m', 'every 1 hour 30 minutes, counted from its start'],
    ['@every 24h', 'every 24 hours, counted from its start'],
  ])('%s: %s', (expr, words) => {
    expect(parseCron(expr).description).toBe(words)
  })
})

describe('another time', () => {
  it('keeps the days of a rhythm that has one time of day', () => {
    const moved = (expr: string, text: string) =>
      atOtherTime(parseCron(expr, 'Europe/Berlin').schedule, text).canonical
    expect(moved('30 8 * * 1-5', '10am')).toBe('0 10 * * 1-5')
    expect(moved('0 9 L * *', 'at half past 7')).toBe('30 7 L * *')
    for (const [expr, text] of [
      ['0 8,9,17 * * *', '10am'],
      ['0 17,18 * * *', '10am'],
      ['*/15 * * * *', '10am'],
      ['@every 5m', '10am'],
      ['0 9 * * *', 'tomorrow'],
    ] as const)
      expect(() => moved(expr, text), expr).toThrow(ScheduleError)
  })

  it('replaces the only time in the same half of the day, and keeps the others', () => {
    const moved = (expr: string, text: string) =>
      atOtherTime(parseCron(expr, 'Europe/Berlin').schedule, text).description
    expect(moved('30 8 * * 1-5 | 0 17 * * 1-5', '9am')).toBe(
      'every weekday at 09:00 and 17:00 (Europe/Berlin)',
    )
    expect(moved('0 9,17 * * *', '6pm')).toBe('every day at 09:00 and 18:00 (Europe/Berlin)')
  })

  it('takes the day or the time of day of an instant nearby where only the other is said', () => {
    const near = Date.parse('2026-11-19T14:30Z')
    const at = (text: string) => parsePhrase(text, { ...BERLIN, near }).canonical
    expect(at('10am')).toBe('2026-11-19T09:00:00Z')
    expect(at('tomorrow')).toBe('2026-11-17T14:30:00Z')
    expect(at('tomorrow at 8')).toBe('2026-11-17T07:00:00Z')
    expect(at('tomorrow evening')).toBe('2026-11-17T17:00:00Z')
    const past = { ...BERLIN, near: Date.parse('2026-11-16T14:30Z') }
    expect(() => parsePhrase('9am', past)).toThrow('past')
  })

  it('knows a time of day from a day', () => {
    for (const text of ['10am', 'at 9', 'noon', 'at half past 8', '17:30'])
      expect(isTimeOfDay(text), text).toBe(true)
    for (const text of ['tomorrow', 'every day at 9', 'in 5 minutes', '9', 'x'.repeat(300), '%'])
      expect(isTimeOfDay(text), text).toBe(text === '9')
  })
})

describe('a phrase that is read again', () => {
  it.each([
    ['in 20 minutes', false],
    ['tomorrow at 9am', false],
    ['every weekday at 8:30', true],
    ['every 45 minutes', true],
  ])('%s', (text, isSame) => {
    const first = parsePhrase(text, BERLIN)
    const later = parsePhrase(text, { ...BERLIN, now: NOW + 86_400_000 })
    const elsewhere = parsePhrase(text, { now: NOW, timezone: 'America/New_York' })
    expect(later.schedule).toEqual(
      isSame ? first.schedule : { ...first.schedule, at: atOf(first) + 86_400_000 },
    )
    expect(elsewhere.schedule.timezone).toBe('America/New_York')
  })
})

const atOf = ({ schedule }: ReturnType<typeof parsePhrase>) =>
  schedule.kind === 'once' ? (schedule.at ?? 0) : 0
