/** The database's time without asking for it each time: rule of one clock, the database's. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { NOW } from '../../src/store/due.ts'
import { instantText, StoreTime } from '../../src/store/query.ts'
import { eachStore } from '../setup/stores.ts'
import { emptiedStore } from './stores.ts'

const START = Date.UTC(2030, 0, 1)

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'], now: 0 })
})
afterEach(() => {
  vi.useRealTimers()
})

const seconds = (ms: number) => (ms / 1000).toFixed(6)

it('goes on by the steady clock after an answer, for a second', () => {
  const time = new StoreTime(() => null)
  expect(time.reckoned()).toBe(null)
  expect(time.heard(seconds(START))).toBe(START)
  vi.advanceTimersByTime(999)
  expect(time.reckoned()).toBe(START + 999)
  vi.advanceTimersByTime(1)
  expect(time.reckoned()).toBe(null)
})

it('believes the answer that was under way for the shortest time, so that it lags least and is never ahead', () => {
  const time = new StoreTime(() => null)
  time.heard(seconds(START))
  vi.advanceTimersByTime(100)
  // Given at once, heard 40 ms later.
  time.heard(seconds(START + 60))
  expect(time.reckoned()).toBe(START + 100)
  // Quicker than any before.
  time.heard(seconds(START + 103))
  expect(time.reckoned()).toBe(START + 103)
})

it('follows a clock that was set back, within a second', () => {
  const time = new StoreTime(() => null)
  time.heard(seconds(START))
  for (let ms = 0; ms < 1_000; ms += 250) {
    vi.advanceTimersByTime(250)
    time.heard(seconds(START - 60_000))
  }
  expect(time.reckoned()).toBe(START - 60_000)
})

it('is written to the microsecond', () => {
  expect(instantText(START)).toBe('2030-01-01T00:00:00.000000Z')
  expect(instantText(START + 1.25)).toBe('2030-01-01T00:00:00.001250Z')
})

eachStore('the time in statements', (store) => {
  const ASK = `select ${NOW} as told, now() as own`

  it('is that of the database, the same throughout a transaction', async () => {
    vi.useRealTimers()
    const { db } = await emptiedStore(store)
    await db.tx(async (tx) => {
      const [first] = await tx.query<{ told: Date; own: Date }>(ASK, [tx.now()])
      const [second] = await tx.query<{ told: Date; own: Date }>(ASK, [db.now()])
      expect(first?.told).toEqual(first?.own)
      expect(second).toEqual(first)
      expect(new Date(await tx.time())).toEqual(first?.own)
    })
  })

  it('is never ahead of the database in a single statement', async () => {
    vi.useRealTimers()
    const { db } = await emptiedStore(store)
    for (let round = 0; round < 50; round++) {
      const [row] = await db.query<{ late: number }>(
        `select extract(epoch from clock_timestamp() - ${NOW})::float8 as late`,
        [db.now()],
      )
      // Whoever keeps the machine's clock sets it back now and then, by up to half a millisecond in a second.
      expect(row?.late).toBeGreaterThanOrEqual(-0.001)
    }
  })

  it('is what a test clock dictates', async () => {
    const at = new Date(START)
    const { db } = await emptiedStore(store, () => at)
    const ask = `select ${NOW} as told`
    expect(await db.query(ask, [db.now()])).toEqual([{ told: at }])
    expect(await db.tx((tx) => tx.query(ask, [tx.now()]))).toEqual([{ told: at }])
    expect(await db.time()).toBe(START)
  })
})
