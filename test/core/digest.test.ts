/** A digest says how many slots it leaves out. */
import { expect, it } from 'vitest'
import { DIGEST_ITEMS_MAX, digestPayload, type Slot } from '../../src/features/people/digest.ts'

const slot = (n: number): Slot => ({
  ...{ kind: 'alarm', trigger_id: null, name: `n${n}`, payload: '{}', rule: 'paused' },
  scheduled_for: new Date(Date.UTC(2026, 0, 1, 0, n)),
})
const digest = (count: number) =>
  JSON.parse(
    digestPayload(
      Array.from({ length: count }, (_, n) => slot(n)),
      'UTC',
    ),
  )

it('lists the soonest and says how many more there are, in number and in words', () => {
  const { items, more, text } = digest(DIGEST_ITEMS_MAX + 7)
  expect(items).toHaveLength(DIGEST_ITEMS_MAX)
  expect(more).toBe(7)
  expect(text).toMatch(/\nand 7 more$/)
})

it('says nothing of more where there are none', () => {
  expect(digest(DIGEST_ITEMS_MAX)).toMatchObject({ more: 0 })
  expect(digest(DIGEST_ITEMS_MAX).text).not.toContain('more')
})
