/** `app.schedule`, alone and in a transaction of the caller's own: both commit or neither (contract). */
import pg from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Refusal } from '../../src/core/errors.ts'
import { bucketOf } from '../../src/core/session.ts'
import type { AppScheduleSpec } from '../../src/index.ts'
import { eachStore, postgresDatabase } from '../setup/stores.ts'
import { type World, world } from '../setup/worlds.ts'

const SPEC = { userId: 'ann', in: '10 minutes', note: 'stretch', data: { n: 1 } }
/** Of a connection, as its owner sees it. */
const OWN = "set datestyle = 'German'; set timezone = 'Asia/Tokyo'; set bytea_output = 'escape'"
const SEEN = `select current_setting('datestyle') as d, current_setting('timezone') as z, current_setting('bytea_output') as b,
  current_setting('role') as r, (select count(*)::int from pg_prepared_statements) as prepared,
  (select count(*)::int from pg_locks where pid = pg_backend_pid() and locktype = 'advisory') as locks,
  (select count(*)::int from pg_listening_channels()) as listens`

eachStore('app.schedule', (store) => {
  let database: string
  let w: World
  const woken: unknown[] = []
  const clients: pg.Client[] = []
  beforeEach(async () => {
    woken.length = 0
    database = await store.database()
    const work = { report: async ({ task }: { task: string }) => ({ title: task, content: task }) }
    w = await world(
      store,
      {
        bot: (turn) => {
          const { type, payload } = turn.event
          if (type === 'alarm')
            woken.push([turn.session.key, payload.wake_message, payload.payload])
          else woken.push([turn.session.key, type])
        },
      },
      { database, work },
    )
  })
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.end()))
  })
  const connected = async (url = urlOf('ann')) => {
    const client = new pg.Client({ connectionString: url })
    clients.push(client)
    await client.connect()
    return client
  }
  /** Of the shard that has this person's rows. */
  const urlOf = (user: string) => {
    const { config, stores } = w.app
    return config.shards[stores.map.ofBucket(bucketOf(user))] ?? ''
  }
  const listed = async (user = 'ann') => {
    const { data } = (await w.call('list_schedules', { user_id: user })) as {
      data: { kind: string; name: string; note: string; status: string }[]
    }
    return data
  }
  const refusal = async (work: Promise<unknown>) => {
    const error = await work.then(
      () => null,
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(Refusal)
    return (error as Refusal).errors
  }

  it('takes what a turn takes, for a person, and the same name again replaces it', async () => {
    const set = await w.schedule('walk', SPEC)
    expect(set).toEqual({
      ...{ id: 'walk', kind: 'alarm', notes: [] },
      description: expect.stringContaining('once at'),
      next: [new Date('2026-01-01T00:10:00Z')],
    })
    const specs: AppScheduleSpec[] = [
      { userId: 'ann', in: 300, cancelOnReply: true },
      { userId: 'ann', every: 'day at 18:00', run: 'report' },
      { userId: 'ann', when: { silentFor: '2 days' }, timeZone: 'Europe/Berlin' },
      { ...SPEC, threadId: 'other', agentId: 'bot' },
    ]
    for (const spec of specs) await w.schedule('walk', spec)
    expect(await listed()).toMatchObject([{ kind: 'alarm', name: 'walk', note: 'stretch' }])
    await w.advanceBy(11 * 60_000)
    expect(woken).toEqual([['ann:bot:other', 'stretch', { n: 1 }]])
  })

  it('says all that is wrong in the names of the library', async () => {
    const tries: [object, string][] = [
      [{ in: 5 }, 'userId: is required'],
      [{ userId: 'ann' }, 'takes exactly one of in, at, every, when'],
      [{ userId: 'ann', in: 5, time_zone: 'UTC' }, 'time_zone: is not a known field'],
      [{ userId: 'ann', in: 5, timeZone: 'Mars' }, 'timeZone: "Mars" is not an IANA time zone'],
      [{ userId: 'ann', in: 5, agentId: 'nobody' }, 'there is no agent nobody here'],
      [{ userId: 'a b', in: 5 }, 'user'],
    ]
    for (const [spec, text] of tries)
      expect((await refusal(w.schedule('x', spec as never))).join('\n')).toContain(text)
    expect(await listed()).toEqual([])
  })

  if (store.name === 'pglite') {
    it('refuses a client: the embedded database has no others', async () => {
      const client = { query: async () => ({ rows: [] }) }
      expect(await refusal(w.schedule('x', SPEC, { client }))).toEqual([
        'client: the embedded database has no clients of others; set DATABASE_URL to a PostgreSQL, or leave client out',
      ])
    })
    return
  }

  it('with a client commits with it, or is rolled back with it, whatever its kind', async () => {
    const client = await connected()
    await client.query('create table if not exists orders (id int)')
    const kinds: AppScheduleSpec[] = [
      SPEC,
      { userId: 'ann', in: 300, cancelOnReply: true },
      { userId: 'ann', every: 'day at 18:00', run: 'report' },
      { userId: 'ann', when: { price: 'NVDA', below: 130 } },
    ]
    for (const end of ['rollback', 'commit']) {
      await client.query('begin')
      await client.query('insert into orders values (1)')
      for (const [n, spec] of kinds.entries()) await w.schedule(`order ${n}`, spec, { client })
      expect(await listed()).toEqual([])
      await client.query(end)
      const { rows } = await client.query('select * from orders')
      const stands = (await listed()).map(({ kind }) => kind).toSorted()
      expect([end, rows.length, stands]).toEqual(
        end === 'commit' ? [end, 1, ['alarm', 'intent', 'timer', 'work']] : [end, 0, []],
      )
    }
    await w.advanceBy(10 * 60_000)
    expect(woken).toEqual([
      ['ann:bot:main', 'timer'],
      ['ann:bot:main', 'stretch', { n: 1 }],
    ])
  })

  it('leaves the connection as it was, and sees the values as they are', async () => {
    const client = await connected()
    await client.query(OWN)
    const before = (await client.query(SEEN)).rows
    await client.query('begin')
    await w.schedule('walk', { ...SPEC, at: '2026-12-31T23:00:00Z', in: undefined } as never, {
      client,
    })
    const { rows: within } = await client.query(SEEN)
    expect(within).toEqual(before)
    await client.query('commit')
    expect((await client.query(SEEN)).rows).toEqual(before)
    expect(await listed()).toMatchObject([{ next_at: '2026-12-31T23:00:00.000Z' }])
  })

  it('refused, it changes nothing of the transaction, which goes on', async () => {
    const client = await connected()
    await client.query('create table if not exists orders (id int); begin')
    await client.query('insert into orders values (1)')
    for (let n = 0; n < 25; n++)
      await w.schedule(`w${n}`, { userId: 'ann', when: { news: `word${n}` } }, { client })
    const more = { userId: 'ann', when: { news: 'rain' } } as const
    expect(await refusal(w.schedule('one more', more, { client }))).toEqual([
      expect.stringContaining('25'),
    ])
    await refusal(w.schedule('w0', { userId: 'ann', at: 'often' }, { client }))
    await client.query('commit')
    expect(await listed()).toHaveLength(25)
    expect((await client.query('select * from orders')).rows).toHaveLength(1)
  })

  it('refuses a client without a transaction, and one of another database', async () => {
    expect(await refusal(w.schedule('x', SPEC, { client: await connected() }))).toEqual([
      'client: no transaction is open on it; begin one first',
    ])
    const made: string[] = []
    const stranger = await connected(await postgresDatabase(made))
    await stranger.query('begin')
    expect(await refusal(w.schedule('x', SPEC, { client: stranger }))).toEqual([
      expect.stringMatching(
        /^client: is connected to the database "t_\w+", and this person's rows are in another one, "t_\w+"/,
      ),
    ])
    expect((await stranger.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await stranger.query('commit')
    expect(await listed()).toEqual([])
  })

  if (store.name === 'shards')
    it('on several shards takes a client of the database that has the person', async () => {
      const { map } = w.app.stores
      const people = [0, 1, 2].map((shard) => {
        for (let n = 0; ; n++) if (map.ofBucket(bucketOf(`p${n}`)) === shard) return `p${n}`
      })
      const [first = '', second = '', third = ''] = people
      const client = await connected(urlOf(first))
      await client.query('begin')
      // The second shard is another schema of the same database, the third is on another server.
      for (const userId of [first, second]) await w.schedule('x', { ...SPEC, userId }, { client })
      expect(await refusal(w.schedule('x', { ...SPEC, userId: third }, { client }))).toEqual([
        expect.stringContaining("this person's rows are in another one"),
      ])
      await client.query('commit')
      const counts = await Promise.all(people.map(async (user) => (await listed(user)).length))
      expect(counts).toEqual([1, 1, 0])
    })
})
