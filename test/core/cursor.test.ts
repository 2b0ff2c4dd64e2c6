/** Invariant: whoever follows a cursor is told of everything once, also of what becomes visible later than what came after it. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  advance,
  type Cursor,
  cursorAt,
  readCursor,
  within,
  writeCursor,
} from '../../packages/subscriptions/src/cursor.ts'
import { newId } from '../../src/core/ids.ts'

const START = Date.parse('2026-01-01T00:00:00Z')

/** Rows: when each is stamped, and how much later its transaction commits. */
const rows = fc.array(fc.record({ afterMs: fc.nat(600_000), lateMs: fc.nat(50_000) }), {
  maxLength: 60,
})

it('tells everything once, in whatever order it becomes visible', () => {
  fc.assert(
    fc.property(
      rows,
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 500, max: 90_000 }),
      (all, limit, every) => {
        const made = all.map(({ afterMs, lateMs }) => ({
          id: newId(),
          at: new Date(START + afterMs),
          seenMs: START + afterMs + lateMs,
        }))
        const told: string[] = []
        let cursor: Cursor = cursorAt(new Date(START))
        for (let nowMs = START; nowMs <= START + 800_000; nowMs += every) {
          for (let more = true; more; ) {
            const known = new Set(cursor.told.map(([id]) => id))
            const visible = made
              .filter(
                ({ id, at, seenMs }) =>
                  seenMs <= nowMs && at.getTime() >= cursor.fromMs && !known.has(id),
              )
              .sort((a, b) => a.at.getTime() - b.at.getTime())
            more = visible.length > limit
            const found = visible.slice(0, limit)
            told.push(...found.map(({ id }) => id))
            const next = advance(cursor, { found, more, now: new Date(nowMs) })
            // As it travels.
            cursor = readCursor(writeCursor(next)) ?? expect.fail('a cursor of ours is read')
            expect(cursor).toEqual(next)
          }
        }
        expect(told.toSorted()).toEqual(made.map(({ id }) => id).toSorted())
      },
    ),
    { numRuns: 25 },
  )
})

it('stays short however much is told at once', () => {
  const found = Array.from({ length: 5_000 }, (_, n) => ({ id: newId(), at: new Date(START + n) }))
  const now = new Date(START + 5_000)
  const cursor = advance(cursorAt(new Date(START)), { found, more: false, now })
  expect(writeCursor(cursor).length).toBeLessThan(32_768)
  expect(cursor.told).toHaveLength(200)
  expect(readCursor(writeCursor(cursor))).toEqual(cursor)
})

it('takes no cursor that is none', () => {
  for (const text of [
    '',
    'x',
    '!',
    Buffer.from('[1e99]').toString('base64url'),
    'W10',
    'e30',
    'A'.repeat(40_000),
  ])
    expect(readCursor(text)).toBeNull()
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = Buffer.from(JSON.stringify(value)).toString('base64url')
      expect(() => readCursor(text)).not.toThrow()
    }),
  )
})

it('leaves out what is older than asked, and says so', () => {
  const now = new Date(START + 60_000)
  expect(within(cursorAt(new Date(START)), 30_000, now)).toMatchObject({
    cursor: { fromMs: START + 30_000 },
    truncated: true,
  })
  expect(within(cursorAt(new Date(START)), null, now).truncated).toBe(false)
})
