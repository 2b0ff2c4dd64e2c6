/**
 * Nine o'clock for many people at once, for an agent that takes 300 turns a minute. The whole of it:
 * `NINE_PEOPLE=5000 npx vitest run test/limits/nine.test.ts`
 */
import { expect, it } from 'vitest'
import { agent } from '../../src/index.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'

const START = '2026-11-18T08:59:00Z'
const NINE = Date.UTC(2026, 10, 18, 9)
const MINUTE_MS = 60_000
const PEOPLE = Number(process.env.NINE_PEOPLE ?? 700)
const PER_MINUTE = 300
/** People whose time is the same second. */
const TOGETHER = 50
const AT_ONCE = 25

interface Entry {
  readonly words: string
  readonly scheduled_for: string
}

eachStore(`${PEOPLE} people at nine, ${PER_MINUTE} turns a minute`, (store) => {
  it('the model never sees more, everybody is served in order, and who waited is told so', async () => {
    const asked: { at: number; user: string; nth: number }[] = []
    const model = agent(
      (turn) => {
        const { payload } = turn.event.payload as { payload: { nth: number } }
        const at = turn.startedAt.getTime()
        asked.push({ at, user: turn.session.userId, nth: payload.nth })
        turn.say('good morning')
      },
      { perMinute: PER_MINUTE },
    )
    const w = await world(store, { coach: model }, { startAt: START })
    const set = (nth: number) => {
      const at = new Date(NINE + Math.floor(nth / TOGETHER) * 10).toISOString()
      return w.call('put_schedule', { name: 'nine', user_id: `p${nth}`, at, data: { nth } })
    }
    for (let nth = 0; nth < PEOPLE; nth += AT_ONCE)
      await Promise.all(
        Array.from({ length: Math.min(AT_ONCE, PEOPLE - nth) }, (_, n) => set(nth + n)),
      )
    const minutes = Math.ceil(PEOPLE / PER_MINUTE)
    await w.advanceTo(NINE + minutes * MINUTE_MS)

    expect(new Set(asked.map(({ user }) => user)).size).toBe(PEOPLE)
    expect(asked).toHaveLength(PEOPLE)
    const byMinute = Array.from({ length: minutes }, () => 0)
    for (const { at } of asked) {
      const minute = Math.floor((at - NINE) / MINUTE_MS)
      byMinute[minute] = (byMinute[minute] ?? 0) + 1
    }
    const full = Array.from({ length: minutes - 1 }, () => PER_MINUTE)
    expect(byMinute).toEqual([...full, PEOPLE - (minutes - 1) * PER_MINUTE])
    const order = asked.map(({ nth }) => Math.floor(nth / TOGETHER))
    expect(order).toEqual(order.toSorted((a, b) => a - b))

    const wordsOf = async (user: string | undefined) => {
      const ledger = (await w.call('get_ledger', { user_id: user })) as { data: Entry[] }
      return ledger.data.map(({ words }) => words).join(' ')
    }
    expect(await wordsOf(asked[0]?.user)).not.toContain('late')
    const { at, user, nth } = asked.at(-1) ?? { at: 0, user: '', nth: 0 }
    const late = Math.round((at - NINE - Math.floor(nth / TOGETHER) * 10) / 1000)
    const seconds = late % 60 === 0 ? '' : ` ${late % 60} s`
    expect(await wordsOf(user)).toContain(`It began ${Math.floor(late / 60)} min${seconds} late.`)
  })

  it('a forecast tells how long somebody with much at nine will wait', async () => {
    const w = await world(
      store,
      { coach: agent(() => undefined, { perMinute: 2 }) },
      { startAt: START },
    )
    for (const name of ['a', 'b', 'c', 'd', 'e'])
      await w.call('put_schedule', {
        ...{ name, user_id: 'ann', at: new Date(NINE).toISOString(), thread_id: name },
      })
    const told = (await w.call('forecast', { user_id: 'ann', days: 1 })) as {
      occurrences: { words: string; at: string }[]
    }
    const late = told.occurrences.map(
      ({ words }) => /It began (\d+ min) late/.exec(words)?.[1] ?? '',
    )
    expect(late.toSorted()).toEqual(['', '', '1 min', '1 min', '2 min'])
  })
})
