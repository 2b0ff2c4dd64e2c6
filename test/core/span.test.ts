import fc from 'fast-check'
import { expect, it } from 'vitest'
import { fromNow, spanText } from '../../src/core/span.ts'

it.each([
  [45_000, '45 s'],
  [59_600, '1 min'],
  [90_000, '1 min 30 s'],
  [1_200_000, '20 min'],
  [3_599_600, '1 h'],
  [48_000_000, '13 h 20 min'],
  [86_400_000, '24 h'],
  [129_600_000, '36 h'],
  [172_799_600, '2 days'],
  [172_800_000, '2 days'],
  [273_600_000, '3 days 4 h'],
  [0, '0 s'],
])('%i ms are %s', (ms, words) => {
  expect(spanText(ms)).toBe(words)
  expect(spanText(-ms)).toBe(words)
})

it('is told from now, and less than half a second is now', () => {
  const told = [5_000, -90_000, 400, -400, 0].map((ms) => fromNow(1e12 + ms, 1e12))
  expect(told).toEqual(['in 5 s', '1 min 30 s ago', 'now', 'now', 'now'])
})

it('is true to the smaller of at most two units', () => {
  const units: Record<string, number> = { days: 86_400, h: 3_600, min: 60, s: 1 }
  fc.assert(
    fc.property(fc.integer({ min: 500, max: 4e10 }), (ms) => {
      const words = spanText(ms).split(' ')
      const parts = words.flatMap((word, n) =>
        n % 2 === 0 ? [[Number(word), units[words[n + 1] ?? ''] ?? 0] as const] : [],
      )
      expect(parts.length).toBeLessThanOrEqual(2)
      const told = parts.reduce((sum, [count, length]) => sum + count * length, 0)
      const largest =
        Object.values(units).filter((length) => length <= Math.round(ms / 1000))[0] ?? 1
      const smaller = [86_400, 3_600, 60, 1][[86_400, 3_600, 60, 1].indexOf(largest) + 1] ?? 1
      expect(Math.abs(told - ms / 1000)).toBeLessThanOrEqual(smaller / 2 + 0.5)
    }),
  )
})
