/** The plots' columns: every hour and day is there, and nothing is counted twice or left out. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  dayOf,
  heightOf,
  leftMs,
  topOf,
  weekOf,
} from '../../packages/console/src/system/columns.ts'

const HOUR = 3_600_000
const NOW = '2026-03-08T10:40:00.000Z'
const kinds = ['timer', 'alarm', 'intent', 'work'] as const

it('a day has 24 columns that hold every slot of its hours once', () => {
  const slot = fc.record({
    back: fc.integer({ min: 0, max: 23 }),
    kind: fc.constantFrom(...kinds),
    slots: fc.integer({ min: 1, max: 5_000 }),
  })
  fc.assert(
    fc.property(fc.array(slot, { maxLength: 60 }), (drawn) => {
      const slots = drawn.map(({ back, kind, slots: count }) => ({
        ...{ kind, slots: count, late: 0, worst_ms: 0 },
        at: new Date(Math.floor(Date.parse(NOW) / HOUR) * HOUR - back * HOUR).toISOString(),
      }))
      const columns = dayOf({ now: NOW, slots })
      expect(columns).toHaveLength(24)
      const total = columns.reduce((sum, column) => sum + column.total, 0)
      expect(total).toBe(slots.reduce((sum, each) => sum + each.slots, 0))
    }),
  )
})

it('a week has seven days, and a message held back is on its own', () => {
  const held = [
    { at: '2026-03-08T10:00:00.000Z', rule: 'cooldown_active', messages: 2 },
    { at: '2026-03-05T12:00:00.000Z', rule: 'hard_cap_reached', messages: 3 },
  ]
  const columns = weekOf({ now: NOW, held })
  expect(columns.map(({ total }) => total)).toEqual([0, 0, 0, 3, 0, 0, 2])
  expect(columns[3]?.parts).toEqual({ hard_cap_reached: 3 })
})

it('a scale ends at a round number that is large enough', () => {
  expect([0, 1, 3, 47, 50, 51, 999].map((most) => topOf([most]))).toEqual([
    ...[1, 1, 5, 50, 50, 100, 1_000],
  ])
  expect([0, 1, HOUR, 10 * HOUR].map(heightOf)).toEqual([0, 0, 1, 1])
  expect(heightOf(1_000)).toBeLessThan(heightOf(60_000))
})

it('what is left is told by the pace so far, or not at all', () => {
  const started = new Date(Date.parse(NOW) - 60_000).toISOString()
  expect(leftMs(started, 0.25, Date.parse(NOW))).toBe(180_000)
  for (const progress of [null, 0, 1]) expect(leftMs(started, progress, Date.parse(NOW))).toBeNull()
  expect(leftMs(null, 0.5, Date.parse(NOW))).toBeNull()
})
