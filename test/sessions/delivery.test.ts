/** Delivery under trouble: slow readers, storms, two processes, a user who speaks as a timer fires. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Turn } from '../../src/agents/function.ts'
import { dropDatabases, eachStore, postgresDatabase, type StoreUnderTest } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { world } from '../setup/worlds.ts'
import { Client, type Live, live, openLive } from './live.ts'

afterEach(() => void vi.useRealTimers())

const CHUNK = 'x'.repeat(30 * 1024)

eachStore('delivery', (store) => {
  const at = live(store, {
    echo: (turn) => turn.say(String((turn.event.payload as { text?: string }).text)),
    // About 3 MiB for each message: more than the kernel's buffers take for a reader that sleeps.
    flood: (turn) => {
      for (let n = 0; n < 100; n++) turn.say(`${turn.event.seq}.${n} ${CHUNK}`)
    },
  })
  const open = (key: string, query = '') => Client.open(at().url, key, query)
  const post = (key: string, text: string) =>
    at().call('POST', `/v1/sessions/${key}/messages`, { text })
  const count = async (key: string, status: string) => {
    const rows = await at().query(
      'select count(*)::int as n from wakeful.effects where session_key = $1 and status = $2',
      [key, status],
    )
    return rows[0].n as number
  }

  it('a reader that stops holds up nobody, and the next connection gets all of it, in order', async () => {
    const key = 'ann:flood:slow'
    const slow = await open(key)
    slow.socket.pause()
    for (let n = 0; n < 4; n++) await post(key, 'more')
    await until(
      'all said',
      async () => (await at().call('GET', `/v1/sessions/${key}`)).body.done_seq === 4,
    )
    const other = await open('bea:echo:quick')
    other.say('hi')
    await other.hears(1)
    // Everything was offered; what the sleeper did not take was not pushed at it.
    expect(await count(key, 'completed')).toBe(0)
    slow.drop()
    const next = await open(key)
    const heard = await next.hears(400)
    expect(heard.map((f) => f.content.split(' ')[0])).toEqual(
      Array.from({ length: 400 }, (_, n) => `${Math.floor(n / 100) + 1}.${n % 100}`),
    )
    for (const { id } of heard) next.ack(id)
    await until('completed', async () => (await count(key, 'completed')) === 400)
  })

  it('300 clients drop and return: each resumes where it acknowledged, in order, without duplicates by id', async () => {
    const keys = Array.from({ length: 300 }, (_, n) => `storm${n}:echo:t`)
    const seen = new Map<string, string[]>(keys.map((key) => [key, []]))
    const take = async (key: string, client: Client, wanted: number) => {
      const heard = await client.hears(wanted)
      const known = seen.get(key) ?? []
      for (const { id, content } of heard)
        if (!known.includes(`${id} ${content}`)) known.push(`${id} ${content}`)
      return heard
    }
    const first = await Promise.all(keys.map((key) => open(key)))
    first.forEach((client) => {
      for (const text of ['1', '2', '3']) client.say(text)
    })
    await Promise.all(
      keys.map(async (key, n) => {
        const client = first[n] as Client
        const [one] = await take(key, client, 3)
        client.ack(one.id)
        await client.roundTrip()
      }),
    )
    for (const client of first) client.drop()
    const second = await Promise.all(keys.map((key) => open(key)))
    await Promise.all(
      keys.map(async (key, n) => {
        const client = second[n] as Client
        const heard = await take(key, client, 2)
        expect(heard.map((f) => f.content)).toEqual(['2', '3'])
        for (const { id } of heard) client.ack(id)
        await client.roundTrip()
      }),
    )
    for (const client of second) client.drop()
    for (const known of seen.values())
      expect(known.map((each) => each.split(' ')[1])).toEqual(['1', '2', '3'])
    const third = await Promise.all(keys.slice(0, 20).map((key) => open(key)))
    await Promise.all(third.map((client) => client.roundTrip()))
    for (const client of third) expect(client.heard).toEqual([])
  })

  it('a socket that comes and goes while messages are made misses none and gets none twice on one connection', async () => {
    const key = 'ann:echo:flap'
    const texts = Array.from({ length: 60 }, (_, n) => `m${n}`)
    const saying = (async () => {
      for (const text of texts) await post(key, text)
    })()
    const seen = new Map<string, string>()
    while (seen.size < texts.length) {
      const client = await open(key)
      const before = seen.size
      await client.hears(1)
      await client.roundTrip()
      const ids = client.heard.map((f) => f.id)
      expect(new Set(ids).size).toBe(ids.length)
      for (const { id, content } of client.heard.slice(0, 7)) {
        seen.set(id, content)
        client.ack(id)
      }
      await client.roundTrip()
      client.drop()
      expect(seen.size).toBeGreaterThan(before)
    }
    await saying
    expect([...seen.values()]).toEqual(texts)
  })

  it('a client that neither reads nor answers does not hold up a stop', async () => {
    const app = await openLive(await store.database(), { mute: () => undefined })
    const client = await Client.open(app.url, 'ann:mute:stop')
    client.socket.pause()
    // Only our own patience ends: that of the library under us, half a minute, never does.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const stopping = app.app.stop()
    await vi.advanceTimersByTimeAsync(3_000)
    vi.useRealTimers()
    await stopping
  })
})

describe('two processes on one PostgreSQL', () => {
  const apps: Live[] = []
  const made: string[] = []
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((each) => each.app.stop()))
    await dropDatabases(made.splice(0))
  })
  /** With polls this long, only NOTIFY can be what made it fast. */
  const SLOW = { TIMER_POLL_INTERVAL_MS: '60000', EFFECT_POLL_INTERVAL_MS: '60000' }
  const bot = (turn: Turn) => {
    turn.say(turn.event.type)
    if (turn.event.type === 'user_message') turn.schedule('n', { in: 0.05, cancelOnReply: true })
  }
  const echo = (turn: Turn) => turn.say(String((turn.event.payload as { text?: string }).text))
  const open = async (services: string, database: string) => {
    const app = await openLive(database, { bot, echo }, { ...SLOW, WAKEFUL_SERVICES: services })
    apps.push(app)
    return app
  }

  it('architecture: a socket on one, the turns on the other: reply and follow-up arrive at once', async () => {
    const database = await postgresDatabase(made)
    const door = await open('http', database)
    await open('clock,turns', database)
    const client = await Client.open(door.url, 'ann:bot:far', '?events=1')
    client.say('hi')
    const heard = await client.hears(2)
    expect(heard.map((f) => [f.type, f.content])).toEqual([
      ['message', 'user_message'],
      ['agent_follow_up', 'timer'],
    ])
    await client.until('two events', () => client.of('event').length === 2)
    client.ack(heard[0].id)
    await client.roundTrip()
  })

  it('rule 13: sockets of one session on two processes both get each message, and either acknowledges', async () => {
    const database = await postgresDatabase(made)
    const [a, b] = [await open('all', database), await open('http', database)]
    const [near, far] = [
      await Client.open(a.url, 'ann:bot:both'),
      await Client.open(b.url, 'ann:bot:both'),
    ]
    near.say('hi')
    const [one] = await far.hears(1)
    expect((await near.hears(1))[0]).toEqual(one)
    far.ack(one.id)
    await far.roundTrip()
    const late = await Client.open(a.url, 'ann:bot:both')
    const [next] = await late.hears(1)
    expect(next.id).not.toBe(one.id)
  })

  it('contract: all sockets get each message, also where another process acknowledged it first', async () => {
    const database = await postgresDatabase(made)
    const [a, b] = [await open('all', database), await open('http', database)]
    const [near, far] = [
      await Client.open(a.url, 'ann:echo:fast', '?ack=none'),
      await Client.open(b.url, 'ann:echo:fast'),
    ]
    const texts = Array.from({ length: 30 }, (_, n) => `m${n}`)
    for (const text of texts) {
      near.say(text)
      await near.hears(texts.indexOf(text) + 1)
    }
    expect((await far.hears(30)).map((f) => f.content)).toEqual(texts)
    const late = await Client.open(b.url, 'ann:echo:fast')
    await late.roundTrip()
    expect(late.heard).toEqual([])
  })
})

const ROUNDS = 4
const SESSIONS = 50

eachStore('a user who speaks as a timer fires', (store: StoreUnderTest) => {
  it('200 times in the same instant: either order, never both outcomes, counters right', async () => {
    const w = await world(store, {
      bot: (turn) => {
        if (turn.event.type === 'timer') turn.say('still there?')
      },
    })
    const url = await w.listen()
    const put = (key: string) =>
      fetch(`${url}/v1/sessions/${key}/timers/n`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: '{"delay_seconds":0}',
      })
    for (let round = 0; round < ROUNDS; round++) {
      const keys = Array.from({ length: SESSIONS }, (_, n) => `u${n}:bot:r${round}`)
      await Promise.all(keys.map(put))
      // Some speak before the clock looks, some while it does.
      const early = keys.slice(0, 10 * round).map((key) => w.say(key, 'I am here'))
      const clock = w.settle()
      await Promise.all([...early, clock, ...keys.slice(10 * round).map((key) => w.say(key, 'hi'))])
      await w.settle()
    }
    const rows = await w.query<{
      session_key: string
      status: string
      types: string[]
      sent: number
      consecutive_autonomous_msgs: number
      last_autonomous_at: Date | null
    }>(
      // A timer that fired is its event, and has no row of its own any more.
      `select s.session_key, coalesce(t.status, 'promoted') as status, s.consecutive_autonomous_msgs, s.last_autonomous_at,
         (select array_agg(type order by seq) from wakeful.events e where e.session_key = s.session_key) as types,
         (select count(*)::int from wakeful.effects f where f.session_key = s.session_key) as sent
       from wakeful.sessions s left join wakeful.autonomy_timers t on t.session_key = s.session_key`,
    )
    expect(rows).toHaveLength(ROUNDS * SESSIONS)
    for (const row of rows) {
      const fired = row.status === 'promoted'
      expect(row.status).toBe(fired ? 'promoted' : 'cancelled')
      expect(row.types).toEqual(fired ? ['timer', 'user_message'] : ['user_message'])
      expect(row.sent).toBe(fired ? 1 : 0)
      expect(row).toMatchObject({ consecutive_autonomous_msgs: 0, last_autonomous_at: null })
    }
  })
})
