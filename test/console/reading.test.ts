/** How the console reads: the end of long lists, and bursts of news. */
import { afterEach, expect, test, vi } from 'vitest'
import { coalesce } from '../../console/src/api/coalesce.ts'
import { readTail, rowsOf } from '../../console/src/api/tail.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test('the end of a list is walked to once, then only its last two pages are read', async () => {
  const rows = Array.from({ length: 1_700 }, (_, index) => index)
  const asked: string[] = []
  vi.stubGlobal('fetch', async (path: string) => {
    asked.push(path)
    const from = Number(/cursor=(\d+)/.exec(path)?.[1] ?? 0)
    const next_cursor = from + 500 < rows.length ? String(from + 500) : null
    return Response.json({ data: rows.slice(from, from + 500), next_cursor })
  })
  const { signal } = new AbortController()
  const first = await readTail<number>('list', undefined, signal)
  expect(asked).toHaveLength(4)
  expect(rowsOf(first)).toEqual(rows.slice(1_000))
  rows.push(...Array.from({ length: 400 }, (_, index) => 1_700 + index))
  const second = await readTail(`list`, first, signal)
  expect(asked.slice(4)).toEqual([1_000, 1_500, 2_000].map((at) => `list?limit=500&cursor=${at}`))
  expect(rowsOf(second)).toEqual(rows.slice(1_500))
})

test('a burst is one run, a stream is runs at a distance, and the last call is always served', async () => {
  vi.useFakeTimers()
  const runs: number[] = []
  const began = Date.now()
  const call = coalesce(
    async () => {
      runs.push(Date.now() - began)
    },
    { gatherMs: 40, gapMs: 300 },
  )
  for (let count = 0; count < 10; count++) call()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(runs).toEqual([40])
  call.stop()
  call()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(runs).toEqual([40])
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
