/** A schedule that follows a person through random moves: once a local day, at its own local time. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  firedMark,
  nextUnfired,
  parseCron,
  type Schedule,
  sameLocalTime,
} from '../../packages/schedule/src/index.ts'
import { wallAt, zoneOf } from '../../packages/schedule/src/zone.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const START = Date.parse('2026-01-05T00:30:00Z')
/** Whole hours from UTC, and no clock changes within these days. */
const ZONES = [
  'Pacific/Kiritimati',
  'Asia/Tokyo',
  'Europe/Berlin',
  'UTC',
  'America/New_York',
  'America/Los_Angeles',
  'Pacific/Honolulu',
  'Pacific/Pago_Pago',
]

interface Move {
  readonly at: number
  readonly zone: string
}

const moves = fc
  .array(fc.record({ hours: fc.integer({ min: 1, max: 60 }), zone: fc.constantFrom(...ZONES) }), {
    maxLength: 12,
  })
  .map((legs) => {
    let at = START
    return legs.map(({ hours, zone }): Move => {
      at += hours * HOUR
      return { at, zone }
    })
  })

/** What the schedule fires at, by the functions that the clock and a move use. */
function fired(expr: string, from: string, legs: readonly Move[], until: number): number[] {
  const scheduleIn = (zone: string): Schedule => parseCron(expr, zone).schedule
  let [zone, mark] = [from, null as string | null]
  let slot = nextUnfired(scheduleIn(zone), START, START, mark)
  const all: number[] = []
  for (const leg of [...legs, { at: until, zone: from }]) {
    while (slot !== null && slot <= leg.at) {
      all.push(slot)
      mark = firedMark(scheduleIn(zone), new Date(slot), mark) ?? mark
      slot = nextUnfired(scheduleIn(zone), slot, START, mark)
    }
    zone = leg.zone
    slot = nextUnfired(scheduleIn(zone), leg.at, START, mark)
  }
  return all
}

/** The same hour by hour: what the clock on the wall shows, and whether that was shown before. */
function expected(hours: readonly number[], from: string, legs: readonly Move[], until: number) {
  const all: number[] = []
  let last = Number.NEGATIVE_INFINITY
  for (let at = START + HOUR / 2; at <= until; at += HOUR) {
    const zone = legs.findLast((leg) => leg.at < at)?.zone ?? from
    const wall = wallAt(zoneOf(zone), at)
    if (!hours.includes((wall % DAY) / HOUR) || wall <= last) continue
    all.push(at)
    last = wall
  }
  return all
}

describe('following a person', () => {
  for (const hours of [[9], [9, 18], [0, 6, 12, 23]])
    it(`fires at ${hours.join(', ')} o'clock there, each of them once a day`, () => {
      const expr = `0 ${hours.join(',')} * * *`
      fc.assert(
        fc.property(fc.constantFrom(...ZONES), moves, (from, legs) => {
          const until = (legs.at(-1)?.at ?? START) + 3 * DAY
          expect(fired(expr, from, legs, until)).toEqual(expected(hours, from, legs, until))
        }),
        { numRuns: 300 },
      )
    })

  it('does not fire a date again where a clock change moved the time that has fired', () => {
    const scheduleIn = (zone: string) => parseCron('30 2 * * *', zone).schedule
    const slot = new Date('2026-03-29T00:30:00Z')
    const mark = firedMark(scheduleIn('Africa/Johannesburg'), slot, null)
    expect(mark).toContain('2026-03-29T02:30:00')
    // 02:30 does not exist on that day in Berlin: there it is 03:00, which comes after 02:30.
    const berlin = scheduleIn('Europe/Berlin')
    const iso = (at: number | null) => new Date(at ?? 0).toISOString()
    expect(iso(nextUnfired(berlin, slot.getTime(), 0, null))).toBe('2026-03-29T01:00:00.000Z')
    expect(iso(nextUnfired(berlin, slot.getTime(), 0, mark))).toBe('2026-03-30T00:30:00.000Z')
  })

  it('marks a slot once, and an interval never', () => {
    const daily = parseCron('0 9 * * *', 'Europe/Berlin').schedule
    const slot = new Date('2026-01-05T08:00:00Z')
    const mark = firedMark(daily, slot, null)
    expect(mark).toBe('2026-01-05T09:00:00 2026-01-05T08:00:00.000Z')
    // It stays what the clock of that time showed.
    expect(firedMark(parseCron('0 9 * * *', 'Asia/Tokyo').schedule, slot, mark)).toBeNull()
    expect(firedMark(parseCron('@every 2h').schedule, slot, null)).toBeNull()
  })

  it('moves what happens once to the same time on the other clock', () => {
    const at = sameLocalTime(new Date('2026-01-05T08:00:00Z'), 'Europe/Berlin', 'Asia/Tokyo')
    expect(at.toISOString()).toBe('2026-01-05T00:00:00.000Z')
  })
})
