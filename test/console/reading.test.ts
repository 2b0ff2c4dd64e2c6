/** How the console reads: long sessions part by part, and bursts of news. */
import { afterEach, expect, test, vi } from 'vitest'
import { coalesce } from '../../packages/console/src/api/coalesce.ts'
import type { Effect, SessionEvent, Turn } from '../../packages/console/src/api/shapes.ts'
import { firstPart, withNewest, withOlder } from '../../packages/console/src/session/joining.ts'

afterEach(() => {
  vi.useRealTimers()
})

const event = (seq: number): SessionEvent => ({
  ...{ id: `e${seq}`, seq, type: 'user_message', payload: {}, created_at: '' },
})
const turn = (event_seq: number, status: Turn['status'] = 'committed'): Turn => ({
  ...{ event_seq, attempt: 1, status, started_at: '', finished_at: null },
  ...{ effect_ids: [`f${event_seq}`], verdicts: [] },
})
const effect = (seq: number, status: Effect['status'] = 'completed'): Effect => ({
  ...{ id: `f${seq}`, type: 'send_message', reason: 'answer', payload: {}, status },
  ...{ attempt_count: 1, created_at: '' },
})
const part = (from: number, to: number) => {
  const seqs = Array.from({ length: to - from + 1 }, (_, index) => from + index)
  return {
    events: seqs.map((seq) => event(seq)),
    turns: seqs.map((seq) => turn(seq)),
    effects: seqs.map((seq) => effect(seq)),
    whole: from === 1,
  }
}

test('the newest part of a session replaces what it covers and keeps what lies before', () => {
  const known = { ...part(1, 5), turns: [...part(1, 4).turns, turn(5, 'running')] }
  const fresh = part(4, 7)
  expect(withNewest(known, fresh)).toEqual(part(1, 7))
  expect(withNewest(known, part(6, 7))).toMatchObject({ events: part(1, 7).events, whole: true })
})

test('pages asked for at once make the first part, or none if they do not reach back far enough', () => {
  const newest = <T>(rows: readonly T[], next: string | null = 'older') => ({
    ...{ data: rows.toReversed(), next_cursor: next },
  })
  const { events, turns, effects } = part(1, 9)
  const first = firstPart(newest(events.slice(4)), newest(turns.slice(2)), newest(effects.slice(3)))
  expect(first).toEqual({ ...part(5, 9), effects: effects.slice(3) })
  // A turn of event 5 may be on the next page; so may what the turn of event 5 asked for.
  expect(firstPart(newest(events.slice(4)), newest(turns.slice(4)), newest(effects))).toBeNull()
  expect(firstPart(newest(events.slice(4)), newest(turns), newest(effects.slice(5)))).toBeNull()
  const all = firstPart(newest(events, null), newest(turns, null), newest(effects, null))
  expect(all).toEqual(part(1, 9))
  expect(firstPart(newest([], null), newest([], null), newest([], null))).toMatchObject({
    ...{ events: [], whole: true },
  })
})

test('rows missing between the newest part and what was known drop what was known', () => {
  expect(withNewest(part(1, 5), part(7, 9))).toEqual(part(7, 9))
  expect(withNewest(part(1, 5), { ...part(1, 0), whole: true })).toMatchObject({ events: [] })
})

test('older parts are put before, unless what is known begins elsewhere by now', () => {
  expect(withOlder(part(4, 7), part(1, 3))).toEqual(part(1, 7))
  expect(withOlder(part(9, 12), part(1, 3))).toEqual(part(9, 12))
  expect(withOlder(part(4, 7), { ...part(1, 0), whole: true })).toMatchObject({ whole: true })
})

test('a burst is one run, a stream is runs at a distance, and the last call is always served', async () => {
  vi.useFakeTimers()
  let runs = 0
  const call = coalesce(
    async () => {
      runs++
    },
    { gatherMs: 40, gapMs: 300 },
  )
  for (let count = 0; count < 10; count++) call()
  await vi.advanceTimersByTimeAsync(39)
  expect(runs).toBe(0)
  await vi.advanceTimersByTimeAsync(1)
  expect(runs).toBe(1)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(runs).toBe(1)
  call.stop()
  call()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(runs).toBe(1)
})

test('a call during a run gets a run of its own', async () => {
  vi.useFakeTimers()
  let runs = 0
  const call = coalesce(
    async () => {
      runs++
      if (runs === 1) call()
    },
    { gatherMs: 40, gapMs: 300 },
  )
  call()
  await vi.advanceTimersByTimeAsync(41)
  expect(runs).toBe(1)
  await vi.advanceTimersByTimeAsync(300)
  expect(runs).toBe(2)
})
