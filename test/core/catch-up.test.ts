/** Times that passed while nobody looked (rule 6): by every policy each slot is fired, stood for, or given up, once. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  CATCH_UP_MAX,
  CATCH_UPS,
  catchUp,
  ON_TIME_MS,
} from '../../packages/schedule/src/catch-up.ts'
import { next, type Schedule } from '../../packages/schedule/src/index.ts'

const START = Date.UTC(2026, 9, 25)
const HOURLY: Schedule = { kind: 'every', everyMs: 3_600_000, timezone: 'UTC' }
const terms = (catch_up: (typeof CATCH_UPS)[number], within: number | null = null) => ({
  catch_up,
  catch_up_within_seconds: within,
})
const at = (hours: number) => new Date(START + hours * 3_600_000)

describe('after five and a half hours', () => {
  const caught = (...of: Parameters<typeof terms>) =>
    catchUp(terms(...of), HOURLY, at(0), at(5.5), at(0))

  it('once fires one for all', () => {
    expect(caught('once')).toEqual({
      slot: at(0),
      missedCount: 5,
      last: at(5),
      givenUp: null,
      nextAt: at(6),
    })
  })

  it('once within two hours fires one for the last two', () => {
    expect(caught('once', 7200)).toEqual({
      ...{ slot: at(4), missedCount: 1, last: at(5), nextAt: at(6) },
      givenUp: { first: at(0), last: at(3), count: 4 },
    })
  })

  it('skip fires none', () => {
    expect(caught('skip')).toMatchObject({
      slot: null,
      givenUp: { count: 6, last: at(5) },
      nextAt: at(6),
    })
  })

  it('skip fires what is on time', () => {
    const now = new Date(at(5).getTime() + ON_TIME_MS)
    expect(catchUp(terms('skip'), HOURLY, at(0), now, at(0))).toMatchObject({
      slot: at(5),
      givenUp: { count: 5 },
    })
  })

  it('all fires each, one after the other', () => {
    expect(caught('all')).toMatchObject({
      slot: at(0),
      missedCount: 0,
      givenUp: null,
      nextAt: at(1),
    })
  })

  it('all fires the newest hundred of more', () => {
    const caught = catchUp(terms('all'), HOURLY, at(0), at(500), at(0))
    expect(caught).toMatchObject({
      slot: at(401),
      givenUp: { first: at(0), last: at(400), count: 401 },
    })
  })

  it('a single slot is fired late, or given up', () => {
    expect(catchUp(terms('once'), null, at(0), at(5), at(0))).toMatchObject({
      slot: at(0),
      nextAt: null,
    })
    expect(catchUp(terms('skip'), null, at(0), at(5), at(0))).toMatchObject({
      slot: null,
      givenUp: { count: 1 },
    })
    expect(catchUp(terms('once', 3600), null, at(0), at(0.5), at(0))).toMatchObject({ slot: at(0) })
  })
})

const schedules: fc.Arbitrary<Schedule> = fc.oneof(
  fc
    .integer({ min: 1, max: 500 })
    .map((minutes) => ({ kind: 'every' as const, everyMs: minutes * 60_000, timezone: 'UTC' })),
  fc
    .constantFrom('*/7 * * * *', '30 1 * * *', '0 */3 * * *')
    .map((expr) => ({ kind: 'cron' as const, expr, timezone: 'America/New_York' })),
)

describe('by every policy', () => {
  it('each slot up to now is fired, stood for or given up exactly once, and nothing fires before its time', () => {
    fc.assert(
      fc.property(
        schedules,
        fc.constantFrom(...CATCH_UPS),
        fc.option(fc.integer({ min: 1, max: 200_000 })),
        fc.integer({ min: 0, max: 400 * 3_600_000 }),
        (schedule, policy, within, late) => {
          const anchor = new Date(START)
          const [first = 0] = next(schedule, START, { anchor: START })
          const now = new Date(first + late)
          const slots = [first]
          for (
            let ahead = next(schedule, first, { anchor: START, count: 50 });
            ahead.length > 0;
          ) {
            slots.push(...ahead.filter((slot) => slot <= now.getTime()))
            const end = ahead.at(-1) ?? 0
            ahead = end > now.getTime() ? [] : next(schedule, end, { anchor: START, count: 50 })
          }
          let [fired, stoodFor, givenUp] = [0, 0, 0]
          for (let slot: Date | null = new Date(first); slot !== null && slot <= now; ) {
            const caught = catchUp(terms(policy, within), schedule, slot, now, anchor)
            fired += caught.slot === null ? 0 : 1
            stoodFor += caught.missedCount
            givenUp += caught.givenUp?.count ?? 0
            if (caught.slot !== null) expect(slots).toContain(caught.slot.getTime())
            expect(caught.nextAt === null || caught.nextAt > slot).toBe(true)
            slot = caught.nextAt
          }
          expect(fired + stoodFor + givenUp).toBe(slots.length)
          expect(fired).toBeLessThanOrEqual(policy === 'all' ? CATCH_UP_MAX : 1)
        },
      ),
      { numRuns: 60 },
    )
  })
})
