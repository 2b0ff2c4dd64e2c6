/** Several shards as one: whoever may reach everybody finds each person's things, and nobody else notices that there are several. */
import { expect, it } from 'vitest'
import { bucketOf } from '../../src/core/session.ts'
import { evenRanges, ShardMap } from '../../src/store/shards/ranges.ts'
import { sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const map = new ShardMap(evenRanges(3))
/** Two people in each shard, in turns. */
const PEOPLE = Array.from({ length: 6 }, (_, n) => {
  for (let i = 0; ; i++) if (map.ofBucket(bucketOf(`p${n}-${i}`)) === n % 3) return `p${n}-${i}`
})

const as = (user: string) => ({ 'wakeful-act-as': user })

eachStore('reach', (store) => {
  const at = sharedStage(store, {
    agents: { bot: (turn) => turn.say(`${turn.event.type} for ${turn.session.userId}`) },
    work: { echo: async ({ task }) => ({ title: task, content: task }) },
  })

  it('everybody’s lists come in one order, page by page, each row once', async () => {
    const s = at()
    for (const user of [...PEOPLE, ...PEOPLE]) {
      await s.set({ kind: 'once', delay_seconds: 600, label: user }, as(user))
      await s.call('POST', `/v1/sessions/${user}:bot:t${s.now().getTime()}/messages`, {
        text: 'hi',
      })
      await s.call('POST', '/v1/work', { task: 'x', agent_type: 'echo', user_id: user })
      s.sleep(1000)
    }
    await s.settle()
    for (const path of ['/v1/alarms', '/v1/sessions', '/v1/work', '/v1/audit']) {
      const whole = await s.call('GET', `${path}?limit=500`)
      const instants = whole.body.data.map((row: Row) => row.created_at ?? row.at)
      expect(instants.length, path).toBeGreaterThanOrEqual(12)
      expect(instants, path).toEqual(instants.toSorted().reverse())
      const paged: Row[] = []
      let cursor = ''
      do {
        const { body } = await s.call('GET', `${path}?limit=5${cursor}`)
        expect(body.data.length).toBeLessThanOrEqual(5)
        paged.push(...body.data)
        cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`
      } while (cursor !== '')
      expect(paged.map(nameOf), path).toEqual(whole.body.data.map(nameOf))
    }
  })

  it('the ledger and the overview tell of all, of one person alone where asked', async () => {
    const s = at()
    for (const user of PEOPLE)
      await s.set({ kind: 'cron', cron_expr: '* * * * *', label: user, agent_id: 'bot' }, as(user))
    const ahead = (await s.call('GET', '/v1/overview')).body
    expect(ahead.lanes.alarm.triggers).toBe(6)
    const order = ahead.lanes.alarm.slots.map(({ at }: Row) => at)
    expect(order).toEqual(order.toSorted())
    await s.advanceBy(3 * 60_000)
    const paged: Row[] = []
    let cursor = ''
    do {
      const { body } = await s.call('GET', `/v1/ledger?trigger=alarm&limit=4${cursor}`)
      paged.push(...body.data)
      cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`
    } while (cursor !== '')
    expect(paged.length).toBe(18)
    expect(new Set(paged.map(({ id }) => id)).size).toBe(18)
    expect(paged.map(({ at }) => at)).toEqual(
      paged
        .map(({ at }) => at)
        .toSorted()
        .reverse(),
    )
    const own = (await s.call('GET', `/v1/ledger?user_id=${PEOPLE[1]}`)).body.data
    expect(own.map(({ user_id }: Row) => user_id)).toEqual([PEOPLE[1], PEOPLE[1], PEOPLE[1]])
    expect((await s.call('GET', '/v1/overview')).body.figures.undelivered).toBe(18)
  })

  it('everybody’s crons are one list, in any order, and counted once', async () => {
    const s = at()
    const crons: Row[] = []
    for (const [n, user] of PEOPLE.entries()) {
      const body = { assistant_id: 'bot', schedule: `${50 - n} * * * *`, enabled: n !== 2 }
      crons.push((await s.call('POST', '/runs/crons', body, as(user))).body)
      s.sleep(1000)
    }
    const found = async (body: object) =>
      (await s.call('POST', '/runs/crons/search', body)).body.map(({ user_id }: Row) => user_id)
    expect(await found({})).toEqual(PEOPLE.toReversed())
    expect(await found({ limit: 2, offset: 3, sort_order: 'asc' })).toEqual(PEOPLE.slice(3, 5))
    const [a, b, off, c, d, e] = PEOPLE
    const soonest = { sort_by: 'next_run_date', sort_order: 'asc' }
    expect(await found(soonest)).toEqual([e, d, c, b, a, off])
    expect(await found({ ...soonest, sort_order: 'desc' })).toEqual([a, b, c, d, e, off])
    const select = { select: ['schedule', 'now'], limit: 1 }
    expect((await s.call('POST', '/runs/crons/search', select)).body).toEqual([
      { schedule: '45 * * * *', now: s.now().toISOString() },
    ])
    expect((await s.call('POST', '/runs/crons/count', {})).body).toBe(6)
    expect((await s.call('POST', '/runs/crons/count', {}, as(PEOPLE[4] ?? ''))).body).toBe(1)
    const [first] = crons
    const changed = await s.call('PATCH', `/runs/crons/${first?.cron_id}`, { enabled: false })
    expect(changed.body).toMatchObject({ user_id: PEOPLE[0], enabled: false })
    expect((await s.call('DELETE', `/runs/crons/${first?.cron_id}`)).status).toBe(204)
    expect((await s.call('POST', '/runs/crons/count', {})).body).toBe(5)
  })

  it('a thing is found by its id wherever it is, changed once, and unknown everywhere where it is', async () => {
    const s = at()
    for (const user of PEOPLE) {
      const { id } = await s.set({ kind: 'once', delay_seconds: 600, label: user }, as(user))
      expect((await s.call('GET', `/v1/alarms/${id}`)).body.label).toBe(user)
      const key = { 'idempotency-key': `fire-${id}` }
      const fired = await s.call('POST', `/v1/alarms/${id}/fire-now`, undefined, key)
      expect(fired.status).toBe(202)
      const again = await s.call('POST', `/v1/alarms/${id}/fire-now`, undefined, key)
      expect([again.status, again.body]).toEqual([202, fired.body])
      await s.settle()
      expect((await s.get(id)).status).toBe('fired')
      // A rule of the shard that knows it is the answer, whatever the others say.
      expect((await s.call('POST', `/v1/alarms/${id}/fire-now`)).status).toBe(409)
      const other = PEOPLE.find((each) => each !== user) as string
      expect((await s.call('GET', `/v1/alarms/${id}`, undefined, as(other))).status).toBe(404)
    }
    const events = await s.query('select session_key from wakeful.events')
    expect(events.length).toBe(6)
    expect((await s.call('GET', `/v1/alarms/${crypto.randomUUID()}`)).status).toBe(404)
  })

  it('a fact for everybody reaches everybody, one for a person that person', async () => {
    const s = at()
    for (const user of PEOPLE) {
      const trigger_condition = { keywords: ['launch'] }
      const what = { intent_name: 'x', trigger_type: 'event', action_context: 'say so' }
      const body = { user_id: user, ...what, trigger_condition }
      const made = await s.call('POST', '/v1/intents', { ...body, agent_id: 'bot' })
      expect(made.status, made.text).toBe(201)
    }
    await s.settle()
    const all = await s.call('POST', '/v1/signals', { kind: 'event', name: 'launch' })
    expect([all.status, all.body.promoted]).toEqual([202, 6])
    await s.settle()
    const key = { 'idempotency-key': 'second-launch' }
    const two = { kind: 'event', name: 'launch 2' }
    expect((await s.call('POST', '/v1/signals', two, key)).body.promoted).toBe(6)
    expect((await s.call('POST', '/v1/signals', two, key)).body.promoted).toBe(6)
    await s.settle()
    const one = { kind: 'event', name: 'launch 3', user_id: PEOPLE[2] }
    expect((await s.call('POST', '/v1/signals', one)).body.promoted).toBe(1)
    await s.settle()
    expect((await s.query(`select 1 as n from wakeful.events where type = 'intent'`)).length).toBe(
      13,
    )
    expect((await s.call('GET', '/v1/intents?everybody=true')).body.length).toBe(6)
  })
})

type Row = Record<string, string>
const nameOf = (row: Row) => row.id ?? row.session_key
