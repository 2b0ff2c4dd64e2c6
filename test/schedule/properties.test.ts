import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  formatLocal,
  maxFiresPerLocalDay,
  missed,
  next,
  parseCron,
  type Schedule,
} from '../../packages/schedule/src/index.ts'
import { changes, fires, type OracleCron, wallClock } from './oracle.ts'

const DAY = 86_400_000
const MINUTE = 60_000

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'Europe/London',
  'America/New_York',
  'America/Havana',
  'America/Santiago',
  'America/Nuuk',
  'America/St_Johns',
  'Atlantic/Azores',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Asia/Beirut',
  'Asia/Gaza',
  'Asia/Jerusalem',
  'Asia/Kathmandu',
  'Asia/Almaty',
  'Australia/Lord_Howe',
  'Australia/Sydney',
  'Antarctica/Troll',
  'Pacific/Chatham',
]

interface Sample {
  expr: string
  cron: OracleCron
}

interface PartSample {
  text: string
  values: number[] | null
  star: boolean
}

/** A random field with its meaning, written independently of the parser; numbers are drawn from [low, high]. */
function field(min: number, max: number, low = min, high = max): fc.Arbitrary<PartSample> {
  const range = (from: number, to: number, step: number) => {
    const values: number[] = []
    for (let v = from; v <= to; v += step) values.push(v)
    return values
  }
  const value = fc.integer({ min: low, max: high })
  const steps = fc.integer({ min: 2, max: Math.min(12, max) })
  const list = fc.uniqueArray(value, { minLength: 1, maxLength: 4 })
  return fc.oneof(
    fc.constant({ text: '*', values: null, star: true }),
    steps.map((step) => ({
      text: `*/${step}`,
      values: range(min, max, step),
      star: true,
    })),
    list.map((values) => ({ text: values.join(','), values, star: false })),
    fc.tuple(value, value, fc.integer({ min: 1, max: 5 })).map(([a, b, step]) => {
      const [from, to] = a <= b ? [a, b] : [b, a]
      return { text: `${from}-${to}/${step}`, values: range(from, to, step), star: false }
    }),
    fc.tuple(value, steps).map(([from, step]) => ({
      text: `${from}/${step}`,
      values: range(from, max, step),
      star: false,
    })),
  )
}

const all = (min: number, max: number) => Array.from({ length: max - min + 1 }, (_, i) => min + i)

/** Hours lean towards the night, where clocks change. */
const hours = fc.oneof(field(0, 23), field(0, 23, 0, 3), field(0, 23, 22, 23))

const samples: fc.Arbitrary<Sample> = fc
  .tuple(field(0, 59), hours, field(1, 31), field(0, 6), fc.boolean(), fc.boolean())
  .map(([minute, hour, dom, dow, plainDom, plainDow]) => {
    const days = plainDom ? { text: '*', values: null } : dom
    const weekdays = plainDow ? { text: '*', values: null } : dow
    return {
      expr: `${minute.text} ${hour.text} ${days.text} * ${weekdays.text}`,
      cron: {
        minutes: minute.values ?? all(0, 59),
        hours: hour.values ?? all(0, 23),
        months: all(1, 12),
        days: days.values,
        weekdays: weekdays.values,
        wild: minute.star || hour.star,
      },
    }
  })

const zoneChanges = new Map(ZONES.map((zone) => [zone, changes(zone, 2024, 2027)]))

/** A zone and a window of four days with a clock change in its middle, where the zone has one. */
const windows = fc
  .tuple(fc.constantFrom(...ZONES), fc.nat(), fc.integer({ min: 0, max: 3 * 1_440 }))
  .map(([zone, pick, minute]) => {
    const list = zoneChanges.get(zone) ?? []
    const middle = list[pick % Math.max(1, list.length)] ?? Date.UTC(2024, 0, 3 + (pick % 1_400))
    const from = middle - DAY
    return { zone, from, to: from + 4 * DAY, after: from + minute * MINUTE }
  })

function between(schedule: Schedule, after: number, to: number): number[] {
  const found: number[] = []
  for (let [at] = next(schedule, after); at !== undefined && at <= to; [at] = next(schedule, at)) {
    found.push(at)
  }
  return found
}

describe('next()', () => {
  it('equals the slow oracle across the clock changes of 2024 to 2027', () => {
    fc.assert(
      fc.property(samples, windows, ({ expr, cron }, { zone, from, to, after }) => {
        const { schedule } = parseCron(expr, zone)
        const want = fires(cron, zone, from, to).filter((at) => at > after)
        expect(between(schedule, after, to), `${expr} in ${zone}`).toEqual(want)
      }),
      { numRuns: 300, seed: 20_241_027 },
    )
  })

  it('of joined expressions is the union of their fires, none twice, each by its own rule', () => {
    const some = fc.array(samples, { minLength: 2, maxLength: 4 })
    fc.assert(
      fc.property(some, windows, (list, { zone, from, to, after }) => {
        const expr = list.map((each) => each.expr).join(' | ')
        fc.pre(expr.length < 200)
        const { schedule, canonical } = parseCron(expr, zone)
        const want = new Set(list.flatMap(({ cron }) => fires(cron, zone, from, to)))
        const sorted = [...want].filter((at) => at > after).sort((a, b) => a - b)
        expect(between(schedule, after, to), `${expr} in ${zone}`).toEqual(sorted)
        expect(parseCron(canonical, zone).canonical).toBe(canonical)
      }),
      { numRuns: 150, seed: 31 },
    )
  })

  it('is strictly increasing and never at or before after', () => {
    const instants = fc.integer({ min: Date.UTC(1950, 0), max: Date.UTC(2150, 0) })
    fc.assert(
      fc.property(samples, fc.constantFrom(...ZONES), instants, ({ expr }, zone, after) => {
        const found = next(parseCron(expr, zone).schedule, after, { count: 12 })
        expect(found).toHaveLength(12)
        found.forEach((at, i) => {
          expect(at).toBeGreaterThan(i === 0 ? after : (found[i - 1] ?? 0))
        })
      }),
      { numRuns: 300, seed: 7 },
    )
  })

  it('gives the same fires for the canonical text, which is its own canonical text', () => {
    fc.assert(
      fc.property(samples, windows, ({ expr }, { zone, after }) => {
        const first = parseCron(expr, zone)
        const again = parseCron(first.canonical, zone)
        expect(again.canonical).toBe(first.canonical)
        expect(next(again.schedule, after, { count: 5 })).toEqual(
          next(first.schedule, after, { count: 5 }),
        )
      }),
      { numRuns: 200, seed: 11 },
    )
  })
})

describe('offsets', () => {
  it('agree with Intl on every day of 2015 to 2030', () => {
    for (const zone of ZONES) {
      for (let at = Date.UTC(2015, 0, 1); at < Date.UTC(2031, 0, 1); at += DAY) {
        const shown = new Date(wallClock(zone, at)).toISOString().slice(0, 16).replace('T', ' ')
        if (formatLocal(at, zone) !== `${shown} ${zone}`) expect.fail(`${zone} at ${at}`)
      }
    }
  })
})

describe('counting', () => {
  it('missed() equals walking through the fires', () => {
    fc.assert(
      fc.property(samples, samples, windows, (one, other, { zone, from, to }) => {
        const { schedule } = parseCron(`${one.expr} | ${other.expr}`, zone)
        const [slot] = next(schedule, from)
        if (slot === undefined || slot > to + 20 * DAY) return
        const now = slot + 20 * DAY + 12_345
        const { missedCount, nextAt } = missed(schedule, slot, now, slot)
        expect(missedCount).toBe(between(schedule, slot, now).length)
        expect(nextAt).toBe(next(schedule, now)[0])
      }),
      { numRuns: 100, seed: 13 },
    )
  })

  it('maxFiresPerLocalDay() equals counting a year of fires per local date', () => {
    fc.assert(
      fc.property(hourly, fc.constantFrom(...ZONES), (expr, zone) => {
        const { schedule } = parseCron(expr, zone)
        const start = Date.UTC(2026, 0, 15)
        const perDay = new Map<number, number>()
        for (const at of between(schedule, start - 2 * DAY, start + 366 * DAY)) {
          const day = Math.floor(wallClock(zone, at) / DAY)
          perDay.set(day, (perDay.get(day) ?? 0) + 1)
        }
        expect(maxFiresPerLocalDay(schedule, start)).toBe(Math.max(...perDay.values()))
      }),
      { numRuns: 15, seed: 17 },
    )
  })
})

const hourly = fc.constantFrom(
  '0 * * * *',
  '30 */2 * * 1-5',
  '0,30 1,2 * * *',
  '15 0-6 * * *',
  '5 9 * * *',
  '30 8 * * 1-5 | 0 17 * * *',
  '0 * * * * | 0,30 1,2 * * 0',
)
