/** The database's time without asking for it: rule of one clock, the database's. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Db } from '../../src/store/db/db.ts'
import { databaseTime } from '../../src/store/db/time.ts'

const START = Date.UTC(2030, 0, 1)
let elapsedMs = 0

/** A database whose clock is `ahead` of this machine's and can be set. */
function database(dictated: Date | null = null) {
  const state = { asked: 0, ahead: 5_000, broken: false }
  const db: Db = {
    kind: 'postgres',
    now: () => dictated,
    query: async <R>() => {
      state.asked++
      if (state.broken) throw new Error('away')
      return [{ now: new Date(START + elapsedMs + state.ahead) }] as R[]
    },
    exec: async () => undefined,
    tx: (work) => work(db),
  }
  return { db, state }
}

beforeEach(() => {
  elapsedMs = 0
  vi.useFakeTimers({ toFake: ['performance'], now: 0 })
})
afterEach(() => {
  vi.useRealTimers()
})

const expected = (ahead: number) => START + elapsedMs + ahead
function pass(ms: number): void {
  elapsedMs += ms
  vi.advanceTimersByTime(ms)
}

it('is asked for once a second, by many at once too, and goes on in between', async () => {
  const { db, state } = database()
  const many = await Promise.all(Array.from({ length: 20 }, () => databaseTime(db)))
  expect(many).toEqual(Array(20).fill(expected(5_000)))
  pass(999)
  expect(await databaseTime(db)).toBe(expected(5_000))
  expect(state.asked).toBe(1)
})

it('follows a clock that was set, within a second', async () => {
  const { db, state } = database()
  await databaseTime(db)
  state.ahead = -60_000
  pass(1_000)
  expect(await databaseTime(db)).toBe(expected(-60_000))
  expect(state.asked).toBe(2)
})

it('says so when the database does not answer, and asks again', async () => {
  const { db, state } = database()
  state.broken = true
  await expect(databaseTime(db)).rejects.toThrow('away')
  state.broken = false
  expect(await databaseTime(db)).toBe(expected(5_000))
})

it('is what a test clock dictates, without asking', async () => {
  const { db, state } = database(new Date(START))
  expect(await databaseTime(db)).toBe(START)
  expect(state.asked).toBe(0)
})
