/** The timeline as data, the chain behind a slot, and the rate of turns. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LedgerEntry, Outcome } from '../../packages/console/src/api/ledger.ts'
import { countTurns, perMinute, withSample } from '../../packages/console/src/api/turn-rate.ts'
import {
  clustered,
  lookOf,
  type Mark,
  pastMarks,
  ticks,
} from '../../packages/console/src/now/marks.ts'
import { chainOf } from '../../packages/console/src/why/chain.ts'

const entry = (more: Partial<LedgerEntry> = {}): LedgerEntry => ({
  id: 'e',
  trigger: { kind: 'alarm', id: 'a', name: 'Tea' },
  user_id: 'ann',
  scheduled_for: '2026-01-01T09:00:00.000Z',
  at: '2026-01-01T09:00:02.000Z',
  outcome: 'delivered',
  reason: null,
  words: '',
  missed_count: 0,
  attempts: 1,
  ...more,
})

const mark = (at: number, past: LedgerEntry | null): Mark => ({
  ...{ key: String(at), kind: 'alarm', at, name: 'Tea', who: 'ann', href: '/', past },
  ...{ repeats: false, checks: false },
})

describe('clusters', () => {
  test('hold every mark of the window once, in order, apart from each other', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ at: fc.integer({ min: -50, max: 150 }), been: fc.boolean() })),
        (given) => {
          const marks = given.map(({ at, been }) => mark(at, been ? entry() : null))
          const clusters = clustered(marks, 'alarm', { from: 0, now: 50, to: 100 }, 0.05)
          const held = clusters.flatMap((cluster) => cluster.marks)
          const inside = marks.filter(({ at }) => at >= 0 && at <= 100)
          expect(held.length).toBe(inside.length)
          expect(new Set(held)).toEqual(new Set(inside))
          for (const { marks } of clusters)
            expect(new Set(marks.map(({ past }) => past === null)).size).toBe(1)
          for (const kind of ['timer', 'intent', 'work'] as const)
            expect(clustered(marks, kind, { from: 0, now: 50, to: 100 }, 0.05)).toEqual([])
        },
      ),
      { numRuns: 200 },
    )
  })

  test('of what has been and of what comes stand on their own side of now', () => {
    const marks = [mark(500, entry()), mark(501, null), mark(499, null)]
    const [been, coming] = clustered(marks, 'alarm', { from: 0, now: 500, to: 1_000 }, 0.02)
    expect(been).toMatchObject({ place: 0.49, look: 'good' })
    expect(coming).toMatchObject({ place: 0.51, look: 'coming' })
    expect(coming?.marks).toHaveLength(2)
  })

  test('look like the worst in them', () => {
    const outcomes: Outcome[] = ['delivered', 'failed', 'silent']
    const marks = outcomes.map((outcome, at) => mark(at, entry({ outcome })))
    expect(clustered(marks, 'alarm', { from: 0, now: 500, to: 1_000 }, 0.1)).toMatchObject([
      { look: 'failed' },
    ])
    expect(lookOf(mark(0, entry({ outcome: 'suppressed' })))).toBe('held')
    expect(lookOf(mark(0, entry({ outcome: 'condition_false' })))).toBe('quiet')
    expect(lookOf(mark(0, null))).toBe('coming')
  })
})

test('a slot leads to where one reads more', () => {
  const timer = entry({ trigger: { kind: 'timer', id: 't', name: 'x' }, session_key: 'a:b:c' })
  const deleted = entry({ trigger: { kind: 'intent', id: null, name: 'x' } })
  const work = entry({ trigger: { kind: 'work', id: 'w', name: 'x' } })
  const hrefs = pastMarks([timer, deleted, work, entry()]).map(({ href }) => href)
  expect(hrefs).toEqual(['/sessions/a:b:c', '/intents', '/work/w', '/alarms/a'])
})

test('ticks are round times of the own clock within the window', () => {
  const from = new Date(2026, 0, 5, 8, 7).getTime()
  const found = ticks(from, from + 3_600_000, 900_000)
  expect(found.map((at) => new Date(at).getMinutes())).toEqual([15, 30, 45, 0])
  expect(found[0]).toBeGreaterThan(from)
})

describe('the chain behind a slot', () => {
  test('tells each link that is there, and the error once', () => {
    const told = chainOf(
      entry({
        outcome: 'failed',
        seen: { ticker: 'NVDA', price: 141.2 },
        turn: {
          ...{ event_seq: 1, status: 'failed', error: 'boom' },
          ...{ started_at: '2026-01-01T09:00:02.000Z', finished_at: '2026-01-01T09:00:03.500Z' },
        },
        verdicts: [{ allowed: false, rule: 'hard_cap_reached', count: 3, max: 3 }],
        reason: { rule: 'attempts_failed', error: 'boom' },
      }),
    )
    expect(told.map(({ what }) => what)).toEqual([
      'Was due',
      'Its check saw',
      'The agent failed after 1.5 s',
      'The gate held back: 3 unanswered follow-ups in a row, cap 3',
    ])
    expect(told[1]?.detail).toBe('ticker NVDA, price 141.2')
  })

  test('ends with the error where no turn has told it', () => {
    const reason = { rule: 'attempts_failed', error: 'HTTP 500' }
    const last = chainOf(entry({ outcome: 'failed', reason })).at(-1)
    expect(last).toMatchObject({ what: 'Gave up', detail: 'HTTP 500', tone: 'bad' })
  })
})

describe('turns per minute', () => {
  test('are the sum over agents and outcomes', () => {
    const text =
      '# TYPE wakeful_turns_total counter\nwakeful_turns_total{agent="a",status="committed"} 12\nwakeful_turns_total{agent="b",status="failed"} 3\nwakeful_turns_totally 9\n'
    expect(countTurns(text)).toBe(15)
    expect(countTurns('')).toBe(0)
  })

  test('need two looks, cover a minute, and begin anew with the process', () => {
    let samples = withSample([], { atMs: 0, turns: 10 })
    expect(perMinute(samples)).toBeNull()
    samples = withSample(samples, { atMs: 30_000, turns: 25 })
    expect(perMinute(samples)).toBe(30)
    samples = withSample(samples, { atMs: 80_000, turns: 50 })
    expect(samples.map(({ atMs }) => atMs)).toEqual([30_000, 80_000])
    samples = withSample(samples, { atMs: 90_000, turns: 0 })
    expect(samples).toHaveLength(1)
  })
})
