/** contract: `GET /v1/people` lists everybody who has something here, in three orders, and finds them. */
import { expect, it } from 'vitest'
import { house } from '../sessions/house.ts'
import type { Loose } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'

eachStore('the directory of people', (store) => {
  const at = house(store, { bot: () => undefined })
  const as = (user: string) => ({ 'wakeful-act-as': user })
  const list = async (query = ''): Promise<Loose> =>
    (await at().call('GET', `/v1/people${query}`)).body
  const names = async (query: string) =>
    (await list(query)).data.map(({ user_id }: Loose) => user_id)
  const pages = async (query: string) => {
    const found: string[] = []
    for (let cursor = ''; ; ) {
      const { data, next_cursor } = await list(`${query}&limit=2${cursor}`)
      found.push(...data.map(({ user_id }: Loose) => user_id))
      if (next_cursor === null) return found
      cursor = `&cursor=${next_cursor}`
    }
  }

  it('orders by newest message, next schedule and name, with those without an instant last by name', async () => {
    const say = (key: string) => at().call('POST', `/v1/sessions/${key}/messages`, { text: 'hi' })
    for (const key of ['dora:bot:a', 'bob:bot:a', 'Anna:bot:a', 'dora:bot:b']) {
      await say(key)
      await at().wakeful.advanceBy(60_000)
    }
    const alarm = (user: string, seconds: number) =>
      at().call(
        'POST',
        '/v1/alarms',
        { kind: 'once', delay_seconds: seconds, wake_message: 'up', agent_id: 'bot' },
        as(user),
      )
    for (const seconds of [9_000, 300, 600]) await alarm('zoe', seconds)
    await alarm('bob', 500)
    await at().call('PUT', '/v1/sessions/carl:bot:t/timers/nudge', { delay_seconds: 400 })
    await at().call('POST', '/v1/intents', {
      ...{ user_id: 'will', intent_name: 'look', action_context: 'look', agent_id: 'bot' },
      ...{ trigger_type: 'interval', trigger_schedule: { interval_minutes: 60 } },
    })
    await at().call('PUT', '/v1/people/pia', { timezone: 'Europe/Berlin' })
    await at().wakeful.settle()

    expect(await names('?order=last_seen')).toEqual([
      'dora',
      'Anna',
      'bob',
      'carl',
      'pia',
      'will',
      'zoe',
    ])
    expect(await names('?order=name')).toEqual([
      'Anna',
      'bob',
      'carl',
      'dora',
      'pia',
      'will',
      'zoe',
    ])
    expect(await names('?order=next')).toEqual([
      'zoe',
      'carl',
      'bob',
      'will',
      'Anna',
      'dora',
      'pia',
    ])
    for (const order of ['last_seen', 'next', 'name'])
      expect(await pages(`?order=${order}`), order).toEqual(await names(`?order=${order}`))
    expect(await names('?q=A&order=name')).toEqual(['Anna', 'carl', 'dora', 'pia'])
    expect(await names('?q=a')).toEqual(['dora', 'Anna', 'carl', 'pia'])
    expect(await pages('?q=a&order=next')).toEqual(['carl', 'Anna', 'dora', 'pia'])
  })

  it('says zone, pause, sessions, last and next', async () => {
    await at().call('POST', '/v1/people/pia/pause', { for: '2 hours' })
    const { data } = await list('?q=pia')
    const until = new Date(at().wakeful.now().getTime() + 7_200_000).toISOString()
    expect(data).toEqual([
      {
        ...{ user_id: 'pia', timezone: 'Europe/Berlin', last_seen_at: null, next_at: null },
        ...{ sessions: 0, paused_until: until },
      },
    ])
    const [dora] = (await list('?q=dora')).data
    expect(dora).toMatchObject({ sessions: 2, timezone: null, paused_until: null })
    expect((await list('?q=dora&order=next')).data).toEqual([dora])
    expect((await at().call('GET', '/v1/people?cursor=bm8')).status).toBe(422)
  })

  it('shows callers who stand for a person only that person', async () => {
    const own = await at().call('GET', '/v1/people', undefined, as('bob'))
    expect(own.body.data.map(({ user_id }: Loose) => user_id)).toEqual(['bob'])
    const other = await at().call('GET', '/v1/people?q=dora', undefined, as('bob'))
    expect(other.body).toEqual({ data: [], next_cursor: null })
  })
})
