/** Capacity for turns: whoever claims sessions that wait comes before those who lease what does not wait yet. */
import { afterEach, expect, it, vi } from 'vitest'
import { Capacity } from '../../src/kernel/capacity.ts'

afterEach(() => {
  vi.useRealTimers()
})

function house(all: number) {
  const running = { count: 0 }
  return { running, places: new Capacity(all, () => running.count) }
}

it('none is lent before a look has found that nobody waits', async () => {
  const { places } = house(10)
  expect(await places.lend(5, false)).toBe(0)
  places.looked(false)
  expect(await places.lend(5, false)).toBe(5)
  places.looked(true)
  expect(await places.lend(5, false)).toBe(0)
})

it('what is lent is not free, until it is back', async () => {
  const { running, places } = house(10)
  places.looked(false)
  running.count = 3
  expect(await places.lend(5, false)).toBe(5)
  expect(places.free).toBe(2)
  expect(await places.lend(5, false)).toBe(2)
  expect(await places.lend(5, false)).toBe(0)
  places.back(5)
  expect(places.free).toBe(5)
})

it('the patient wait until there is room, and not for long', async () => {
  vi.useFakeTimers()
  const { running, places } = house(8)
  places.looked(false)
  running.count = 7
  const lent = vi.fn()
  void places.lend(8, true).then(lent)
  await vi.advanceTimersByTimeAsync(10)
  expect(lent).not.toHaveBeenCalled()
  running.count = 4
  places.freed()
  await vi.advanceTimersByTimeAsync(0)
  expect(lent).toHaveBeenCalledWith(4)
  running.count = 4
  const late = places.lend(8, true)
  await vi.advanceTimersByTimeAsync(500)
  expect(await late).toBe(0)
})
