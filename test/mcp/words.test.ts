/** Instants and spans in words, across days and changes of the clocks. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dayText, quoted, whenText } from '../../src/core/words.ts'

const at = (iso: string) => Date.parse(iso)
const BERLIN = 'Europe/Berlin'

describe('when, in words', () => {
  it.each([
    [
      '2026-11-16T08:00:00Z',
      '2026-11-15T18:40:00Z',
      BERLIN,
      'tomorrow 09:00 Europe/Berlin, in 13 h 20 min',
    ],
    ['2026-11-15T22:59:00Z', '2026-11-15T22:58:30Z', BERLIN, 'today 23:59 Europe/Berlin, in 30 s'],
    // The same instant is another day elsewhere.
    [
      '2026-11-15T23:30:00Z',
      '2026-11-15T22:30:00Z',
      BERLIN,
      'tomorrow 00:30 Europe/Berlin, in 1 h',
    ],
    ['2026-11-15T23:30:00Z', '2026-11-15T22:30:00Z', 'UTC', 'today 23:30 UTC, in 1 h'],
    [
      '2026-11-18T08:00:00Z',
      '2026-11-15T08:00:00Z',
      'UTC',
      'Wednesday 2026-11-18 08:00 UTC, in 3 days',
    ],
    ['2027-01-31T08:00:00Z', '2026-11-15T08:00:00Z', 'UTC', '2027-01-31 08:00 UTC, in 77 days'],
    ['2026-11-14T08:00:00Z', '2026-11-15T08:00:00Z', 'UTC', 'yesterday 08:00 UTC, 24 h ago'],
    // Spring forward: nine o'clock is an hour nearer. Fall back: an hour farther.
    [
      '2026-03-29T07:00:00Z',
      '2026-03-28T20:00:00Z',
      BERLIN,
      'tomorrow 09:00 Europe/Berlin, in 11 h',
    ],
    [
      '2026-10-25T08:00:00Z',
      '2026-10-24T19:00:00Z',
      BERLIN,
      'tomorrow 09:00 Europe/Berlin, in 13 h',
    ],
    // A day of 25 hours is still one day.
    ['2026-10-25T22:30:00Z', '2026-10-24T22:30:00Z', BERLIN, 'today 23:30 Europe/Berlin, in 24 h'],
  ])('%s seen from %s in %s', (then, now, zone, words) => {
    expect(whenText(at(then), zone, at(now))).toBe(words)
  })

  it('counts days by the calendar of the zone, never by 24 hours', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: at('2020-01-01T00:00:00Z'), max: at('2035-01-01T00:00:00Z') }),
        fc.constantFrom('UTC', BERLIN, 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata'),
        fc.integer({ min: 0, max: 3 * 86_400_000 }),
        (now, zone, ahead) => {
          const date = (ms: number) =>
            new Intl.DateTimeFormat('sv', { timeZone: zone, dateStyle: 'short' }).format(ms)
          const words = dayText(now + ahead, zone, now)
          expect(words.startsWith('today ')).toBe(date(now) === date(now + ahead))
        },
      ),
    )
  })
})

it('quotes one line, cut between characters', () => {
  expect(quoted(' a\n b ')).toBe('"a b"')
  expect(quoted('😀'.repeat(100), 10)).toBe(`"${'😀'.repeat(9)}…"`)
})
