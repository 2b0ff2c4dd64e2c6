/** `spread`: stable for a person and a schedule, within its window, and even over many of them. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  missed,
  next,
  parseCron,
  parseFrequency,
  type Spread,
  spreadOver,
} from '../../packages/schedule/src/index.ts'
import { spreadOf } from '../../src/core/spread.ts'

const MINUTE = 60_000
const START = Date.parse('2026-01-05T00:30:00Z')

const person = fc.string({ minLength: 1, maxLength: 20 })
const minutes = fc.integer({ min: 1, max: 1440 })
const spread = fc
  .tuple(fc.integer({ min: 1, max: 86_400 }), fc.nat())
  .map(([within, at]): Spread => ({ withinMs: within * 1000, offsetMs: (at % within) * 1000 }))
const rule = fc.constantFrom(
  '0 9 * * *',
  '*/7 * * * *',
  '30 8 * * 1-5 | 0 17 * * *',
  '@every 90m',
  '0 9 * * * until 2026-01-20T00:00:00Z',
)

describe('spread', () => {
  it('is the same every time, and within its window', () => {
    fc.assert(
      fc.property(person, person, minutes, (userId, name, within) => {
        const one = spreadOf(`${within} minutes`, userId, name)
        expect(spreadOf(`${within} minutes`, userId, name)).toEqual(one)
        expect(one.withinMs).toBe(within * MINUTE)
        expect(one.offsetMs).toBeGreaterThanOrEqual(0)
        expect(one.offsetMs).toBeLessThan(one.withinMs)
        expect(one.offsetMs % 1000).toBe(0)
      }),
    )
  })

  it('is even: of 20,000 people each tenth of the window has its share', () => {
    const tenths = Array.from({ length: 10 }, () => 0)
    for (let n = 0; n < 20_000; n++) {
      const { offsetMs } = spreadOf('10 minutes', `person-${n}`, 'nine')
      const tenth = Math.floor(offsetMs / MINUTE)
      tenths[tenth] = (tenths[tenth] ?? 0) + 1
    }
    // 2,000 each; five standard deviations are 212.
    for (const count of tenths) expect(Math.abs(count - 2_000)).toBeLessThan(212)
  })

  it('is another for another person or name', () => {
    const all = ['ann', 'bob', 'eve'].flatMap((userId) =>
      ['a', 'b', 'c'].map((name) => spreadOf('12 hours', userId, name).offsetMs),
    )
    expect(new Set(all).size).toBe(9)
  })

  it('moves each time by its offset, and counts what was missed alike', () => {
    fc.assert(
      fc.property(rule, spread, fc.integer({ min: 0, max: 20 }), (expr, by, days) => {
        const plain = parseCron(expr, 'Europe/Berlin')
        const spreaded = spreadOver(plain, by)
        const [a, b] = [plain.schedule, spreaded.schedule]
        const { offsetMs } = by
        const times = next(a, START, { anchor: START, count: 20 })
        const moved = next(b, START + offsetMs, { anchor: START, count: 20 })
        expect(moved).toEqual(times.map((at) => at + offsetMs))
        const [slot] = times
        if (slot === undefined) return
        const until = slot + days * 24 * 60 * MINUTE
        const was = missed(a, slot, until, START)
        expect(missed(b, slot + offsetMs, until + offsetMs, START)).toEqual({
          ...was,
          nextAt: was.nextAt === null ? null : was.nextAt + offsetMs,
        })
        expect(parseCron(spreaded.canonical, 'Europe/Berlin')).toEqual(spreaded)
        expect(spreadOver(spreaded, by).canonical).toBe(spreaded.canonical)
      }),
    )
  })

  it('is said in words', () => {
    const { canonical, description } = spreadOver(parseFrequency('daily at 9am', 'UTC'), {
      ...{ withinMs: 10 * MINUTE, offsetMs: 137_000 },
    })
    expect(canonical).toBe('0 9 * * * spread 600s by 137s')
    expect(description).toBe('every day at 09:00 (UTC), spread over 10m: 2m17s later')
  })

  it('takes from a second to a day', () => {
    for (const text of ['0 seconds', '25 hours', 'often', 'tomorrow'])
      expect(() => spreadOf(text, 'ann', 'nine'), text).toThrow()
    for (const text of ['1 second', '24 hours', '90 minutes'])
      expect(spreadOf(text, 'ann', 'nine').withinMs).toBeGreaterThan(0)
    expect(() => parseCron('0 9 * * * spread 600s by 600s')).toThrow('spread')
  })
})
