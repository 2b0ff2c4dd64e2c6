/** An agent's limit per minute: never more turns begin, everybody is served in order, and nobody else waits. */
import { expect, it } from 'vitest'
import { withinMinute } from '../../src/features/limits/minute-rows.ts'
import { agent } from '../../src/index.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'

const START = '2026-11-18T08:59:00Z'
const NINE = Date.UTC(2026, 10, 18, 9)
const MINUTE_MS = 60_000

eachStore('a limit per minute', (store) => {
  it('of many people at nine, each minute serves so many, in order, and another agent is not delayed', async () => {
    const people = 240
    const began: { at: number; nth: number }[] = []
    const other: number[] = []
    const w = await world(
      store,
      {
        slow: agent(
          (turn) => {
            const { payload } = turn.event.payload as { payload: { nth: number } }
            began.push({ at: turn.startedAt.getTime(), nth: payload.nth })
            turn.say('good morning')
          },
          { perMinute: 50 },
        ),
        quick: agent((turn) => void other.push(turn.startedAt.getTime())),
      },
      { startAt: START },
    )
    const set = (key: string, nth: number) =>
      w.call('put_timer', {
        session_key: key,
        timer_id: 'nine',
        fire_at: new Date(NINE + Math.floor(nth / 40)).toISOString(),
        payload: { nth },
      } as never)
    for (let nth = 0; nth < people; nth++) await set(`p${nth}:slow:t`, nth)
    await set('zoe:quick:t', 0)
    await w.advanceTo(new Date(NINE + 10 * MINUTE_MS).toISOString())
    expect(began).toHaveLength(people)
    const byMinute = new Map<number, number>()
    for (const { at } of began) {
      const minute = Math.floor((at - NINE) / MINUTE_MS)
      byMinute.set(minute, (byMinute.get(minute) ?? 0) + 1)
    }
    expect([...byMinute]).toEqual([
      [0, 50],
      [1, 50],
      [2, 50],
      [3, 50],
      [4, 40],
    ])
    const order = began.map(({ nth }) => Math.floor(nth / 40))
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(other).toEqual([NINE])
  })

  it('several processes that look at once take no more together', async () => {
    const { app, say } = await world(store, { bot: agent(() => undefined, { perMinute: 100 }) })
    await say('ann:bot:t', 'hi')
    const db = app.store.engine
    const looks = Array.from({ length: 8 }, () =>
      withinMinute(db, { agentId: 'bot', max: 100, limit: 30 }, async (_, limit) => ({
        turns: Array.from({ length: limit }),
      })),
    )
    const taken = (await Promise.all(looks)).map((look) => look.taken?.turns.length ?? 0)
    expect(taken.toSorted((a, b) => b - a)).toEqual([30, 30, 30, 10, 0, 0, 0, 0])
    // The others are told when to look again.
    const look = await withinMinute(db, { agentId: 'bot', max: 100, limit: 30 }, async () => ({
      turns: [],
    }))
    expect(look.taken).toBeNull()
    expect(look.nextMs).toBeGreaterThan(0)
    expect(look.nextMs).toBeLessThanOrEqual(MINUTE_MS)
  })
})
