/** The house of forecasts: whatever becomes of one, the next one finds it in order. */
import { expect, it } from 'vitest'
import { ForecastPool, type ForecastRun } from '../../packages/forecast/src/forecast-pool.ts'
import { newId } from '../../src/core/ids.ts'
import { putTimer } from '../../src/features/timers/rows.ts'
import { afterEachTest } from '../setup/ends.ts'
import { ref } from '../setup/worlds.ts'

const [FROM, TO] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-01-02T00:00:00Z')]
const play = (room: ForecastRun) =>
  room.play(
    {
      ...{ from: FROM, to: TO, run: false, promotedMax: 10, timeMaxMs: 600_000, sharedMaxMs: -1 },
      roles: { names: [], removed: [], executors: [], perMinute: {} },
      setting: {
        policy: { autonomy: true, maxConsecutive: 3, cooldownMs: 0 },
        wakesByUrl: false,
      },
    },
    room.signal,
  )

it('a store process that has ended is told to whoever waits for it, and the next forecast has another', async () => {
  const troubles: unknown[] = []
  const house = new ForecastPool((_, error) => troubles.push(error))
  afterEachTest(() => house.close())
  const broken = house.forecast('ann', async (room) => {
    await room.store.close()
    return play(room)
  })
  await expect(broken).rejects.toThrow('has ended')
  expect(await house.forecast('ann', play)).toEqual({ to: TO, promoted: 0, cut: null })
  expect(troubles).toHaveLength(1)
})

it('rule 49: a forecast ends early while somebody else waits, says so, and leaves its turn to them', async () => {
  const house = new ForecastPool((_, error) => expect(error).toBeUndefined())
  afterEachTest(() => house.close())
  const order: string[] = []
  const long = (name: string, meanwhile?: () => void) =>
    house.forecast(name, async (room) => {
      order.push(name)
      room.clock.now = FROM
      for (const hours of [1, 2]) {
        const fireAt = new Date(FROM.getTime() + hours * 3_600_000)
        const timer = { id: newId(), timerId: `t${hours}`, fireAt, delayMs: null, payload: null }
        await putTimer(room.store.db, ref(`${name}:bot:t`), timer)
      }
      meanwhile?.()
      return play(room)
    })
  const others: Promise<unknown>[] = []
  const first = await long('ann', () => {
    others.push(long('bea'))
  })
  expect(first).toEqual({ to: FROM, promoted: 0, cut: 'time' })
  // Alone, it is played to its end.
  expect(await others[0]).toMatchObject({ to: TO, promoted: 2, cut: null })
  expect(order).toEqual(['ann', 'bea'])
})

it('rule 49: a person has one forecast at a time, and four others wait', async () => {
  const house = new ForecastPool((_, error) => expect(error).toBeUndefined())
  afterEachTest(() => house.close())
  const people = ['ann', 'bea', 'cleo', 'dora', 'eve']
  const held = people.map((name) => house.forecast(name, async () => name))
  await expect(house.forecast('ann', play)).rejects.toThrow('a forecast of ann is running')
  await expect(house.forecast('fay', play)).rejects.toThrow('4 forecasts wait already')
  expect(await Promise.all(held)).toEqual(people)
  expect(await house.forecast('ann', async () => 'again')).toBe('again')
})
