/** Recurrence rules on the wall clock: the examples of RFC 5545, and a walk through the days as a second opinion. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { occurrences, readRule } from '../../packages/sources/src/recurrence.ts'

const wall = (text: string) => Date.parse(`${text}Z`)
const shown = (at: number) => new Date(at).toISOString().slice(0, 16)

function expand(text: string, start: string, from: string, to: string): string[] {
  const rule = readRule(text)
  if (rule === null) throw new Error(`no rule: ${text}`)
  const budget = { left: 1e7 }
  return occurrences(rule, wall(start), wall(from), wall(to), budget).map(shown)
}

const START = '1997-09-02T09:00'
const days = (text: string, from: string, to: string, start = START) =>
  expand(text, start, `${from}T00:00`, `${to}T23:59`).map((each) => each.slice(0, 10))

describe('the examples of RFC 5545', () => {
  it.each([
    ['FREQ=DAILY;COUNT=10', '1997-09-10', '1997-12-31', ['1997-09-10', '1997-09-11']],
    [
      'FREQ=DAILY;INTERVAL=10;COUNT=5',
      '1997-09-03',
      '1998-01-01',
      ['1997-09-12', '1997-09-22', '1997-10-02', '1997-10-12'],
    ],
    [
      'FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=TU,TH',
      '1997-09-14',
      '1997-10-05',
      ['1997-09-16', '1997-09-18', '1997-09-30', '1997-10-02'],
    ],
    [
      'FREQ=MONTHLY;BYDAY=-2MO',
      '1997-09-15',
      '1998-01-01',
      ['1997-09-22', '1997-10-20', '1997-11-17', '1997-12-22'],
    ],
    [
      'FREQ=MONTHLY;BYMONTHDAY=-3',
      '1997-09-03',
      '1997-12-01',
      ['1997-09-28', '1997-10-29', '1997-11-28'],
    ],
    [
      'FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13',
      '1997-09-03',
      '1998-12-31',
      ['1998-02-13', '1998-03-13', '1998-11-13'],
    ],
    [
      'FREQ=MONTHLY;BYDAY=TU,WE,TH;BYSETPOS=3',
      '1997-10-01',
      '1997-11-30',
      ['1997-10-07', '1997-11-06'],
    ],
    [
      'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2',
      '1997-09-03',
      '1997-11-30',
      ['1997-09-29', '1997-10-30', '1997-11-27'],
    ],
    ['FREQ=YEARLY;BYMONTH=6,7', '1998-01-01', '1998-12-31', ['1998-06-02', '1998-07-02']],
    [
      'FREQ=YEARLY;INTERVAL=3;BYYEARDAY=1,100,200',
      '2000-01-01',
      '2000-12-31',
      ['2000-01-01', '2000-04-09', '2000-07-18'],
    ],
    ['FREQ=YEARLY;BYDAY=20MO', '1998-01-01', '1999-12-31', ['1998-05-18', '1999-05-17']],
    ['FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO', '1998-01-01', '1999-12-31', ['1998-05-11', '1999-05-17']],
    [
      'FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8',
      '2000-01-01',
      '2004-12-31',
      ['2001-11-06'],
    ],
    ['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30', '1997-09-03', '2050-01-01', []],
  ])('%s', (text, from, to, expected) => {
    expect(days(text, from, to)).toEqual(expected)
  })

  it('29 February comes every four years', () => {
    expect(days('FREQ=YEARLY', '2021-01-01', '2033-01-01', '2020-02-29T09:00')).toEqual([
      '2024-02-29',
      '2028-02-29',
      '2032-02-29',
    ])
  })

  it('hours, and several times a day', () => {
    expect(expand('FREQ=HOURLY;INTERVAL=3', START, '1997-09-02T09:00', '1997-09-02T16:00')).toEqual(
      ['1997-09-02T09:00', '1997-09-02T12:00', '1997-09-02T15:00'],
    )
    expect(
      expand('FREQ=DAILY;BYHOUR=9,10;BYMINUTE=0,30', START, '2026-01-01T00:00', '2026-01-01T23:00'),
    ).toHaveLength(4)
  })

  it.each([
    '',
    'FREQ=SECONDLY',
    'FREQ=DAILY;INTERVAL=0',
    'FREQ=DAILY;BYHOUR=25',
    'FREQ=DAILY;BYDAY=XX',
    'FREQ=DAILY;COUNT=-1',
    `FREQ=DAILY;${'X'.repeat(5000)}`,
  ])('is none: %s', (text) => expect(readRule(text)).toBeNull())
})

describe('properties', () => {
  const rules = fc.record({
    freq: fc.constantFrom('DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'),
    interval: fc.integer({ min: 1, max: 5 }),
    byDay: fc.subarray(['MO', 'TU', 'WE', 'FR', 'SU']),
    byMonth: fc.subarray([1, 2, 6, 12]),
  })
  const text = (r: { freq: string; interval: number; byDay: string[]; byMonth: number[] }) =>
    `FREQ=${r.freq};INTERVAL=${r.interval}${r.byDay.length > 0 ? `;BYDAY=${r.byDay}` : ''}${r.byMonth.length > 0 ? `;BYMONTH=${r.byMonth}` : ''}`

  it('a window that is jumped to shows what a walk from the start comes to', () => {
    fc.assert(
      fc.property(rules, fc.integer({ min: 0, max: 3000 }), (rule, after) => {
        const at = (day: number) => new Date(Date.UTC(1999, 4, 5 + day)).toISOString().slice(0, 16)
        const start = '1999-05-05T08:15'
        const [from, to] = [at(after), at(after + 40)]
        // COUNT makes it walk from the beginning, period by period.
        const walked = expand(`${text(rule)};COUNT=999999`, start, from, to)
        expect(expand(text(rule), start, from, to)).toEqual(walked)
      }),
      { numRuns: 300 },
    )
  })
})
