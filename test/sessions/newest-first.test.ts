/** Reading a session from its end, and one part of it: order, after_seq and before_seq of events, turns and effects. */
import { expect, it } from 'vitest'
import { type Loose, problem } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { house } from './house.ts'

const EVENTS = 7

eachStore('a session from its end', (store) => {
  const at = house(store, {
    bot: (turn) => {
      turn.say('a')
      turn.say('b')
    },
  })
  const key = 'ann:bot:long'
  const get = (rest: string) => at().call('GET', `/v1/sessions/${key}/${rest}`)

  async function fill(): Promise<void> {
    for (let n = 1; n <= EVENTS; n++)
      await at().call('POST', `/v1/sessions/${key}/messages`, { text: `${n}`, id: `m${n}` })
    await at().wakeful.settle()
  }

  /** Follows next_cursor to the end. */
  async function all(rest: string): Promise<Loose[]> {
    const rows: Loose[] = []
    for (let cursor = ''; ; ) {
      const { status, body }: Loose = await get(`${rest}&limit=2${cursor}`)
      expect(status).toBe(200)
      rows.push(...body.data)
      if (body.next_cursor === null) return rows
      cursor = `&cursor=${body.next_cursor}`
      expect(rows.length).toBeLessThan(50)
    }
  }

  it('desc is asc reversed, page by page, for each list', async () => {
    await fill()
    for (const list of ['events', 'turns', 'effects']) {
      const up = await all(`${list}?order=asc`)
      const down = await all(`${list}?order=desc`)
      expect(up).toHaveLength(list === 'effects' ? 2 * EVENTS : EVENTS)
      expect(down).toEqual([...up].reverse())
    }
  })

  it('after_seq and before_seq cut the same events out of each list, in both orders', async () => {
    await fill()
    const turns = await all('turns?order=asc')
    const middle = turns.filter(({ event_seq: seq }) => seq > 2 && seq < 6)
    for (const order of ['asc', 'desc']) {
      const within = `after_seq=2&before_seq=6&order=${order}`
      const events = await all(`events?${within}`)
      expect(events.map(({ seq }) => seq).sort()).toEqual([3, 4, 5])
      const cut = await all(`turns?${within}`)
      expect(cut.map(({ event_seq: seq }) => seq).sort()).toEqual([3, 4, 5])
      const effects = await all(`effects?${within}`)
      const asked = middle.flatMap(({ effect_ids }) => effect_ids)
      expect(effects.map(({ id }) => id).sort()).toEqual([...asked].sort())
    }
    expect(await all('events?after_seq=7')).toEqual([])
    expect(await all('effects?before_seq=1')).toEqual([])
  })

  it('refuses an order and a seq that are none', async () => {
    await fill()
    for (const list of ['events', 'turns', 'effects']) {
      problem(await get(`${list}?order=up`), 422)
      problem(await get(`${list}?before_seq=-1`), 422)
      problem(await get(`${list}?after_seq=2147483648`), 422)
    }
  })
})

eachStore('a turn under way', (store) => {
  const held: { free?: () => void } = {}
  const at = house(store, {
    slow: () =>
      new Promise<void>((done) => {
        held.free = done
      }),
  })

  it('is the first of the newest, and only where its event is asked for', async () => {
    const key = 'ann:slow:one'
    await at().call('POST', `/v1/sessions/${key}/messages`, { text: 'go' })
    const settling = at().wakeful.settle()
    const turns = async (rest: string) =>
      (await at().call('GET', `/v1/sessions/${key}/turns?${rest}`)).body.data
    await expect.poll(() => turns('order=desc')).toMatchObject([{ event_seq: 1, attempt: 1 }])
    expect(await turns('order=asc')).toMatchObject([{ status: 'running', event_seq: 1 }])
    expect(await turns('order=desc&before_seq=1')).toEqual([])
    expect(await turns('after_seq=1')).toEqual([])
    held.free?.()
    await settling
  })
})
