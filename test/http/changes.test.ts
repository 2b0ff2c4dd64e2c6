/** contract: `GET /v1/changes` says that something has changed, also where another process wrote it; of one person to their keys. */
import { expect, it } from 'vitest'
import { databaseNow } from '../../src/store/due.ts'
import { live, openLive } from '../sessions/live.ts'
import { afterEachTest } from '../setup/ends.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'

const ADMIN_KEY = 'changes-admin-0123456789abcdef0123456789'
const ADMIN = { authorization: `Bearer ${ADMIN_KEY}` }
const TOPICS = ['ledger', 'schedules', 'sessions', 'questions', 'stops', 'people']

eachStore('the stream of changes', (store) => {
  const at = live(
    store,
    { bot: (turn) => turn.say('hello') },
    { WAKEFUL_AUTH: 'keys', WAKEFUL_ADMIN_KEY: ADMIN_KEY },
  )
  const open = new Set<AbortController>()
  afterEachTest(() => {
    for (const each of open) each.abort()
    open.clear()
  })

  /** What was told so far, and whether it has ended. */
  async function listen(headers: Record<string, string>, url = at().url) {
    const controller = new AbortController()
    open.add(controller)
    const reply = await fetch(`${url}/v1/changes`, { headers, signal: controller.signal })
    const heard = { status: reply.status, topics: [] as string[][], ended: false }
    const read = async () => {
      for await (const chunk of reply.body ?? [])
        for (const [, data] of Buffer.from(chunk)
          .toString()
          .matchAll(/^data: (.*)$/gm))
          heard.topics.push(JSON.parse(data ?? '').topics)
    }
    void read()
      .catch(() => undefined)
      .then(() => {
        heard.ended = true
      })
    return heard
  }
  const key = async (role: string, user: string) =>
    (await at().call('POST', '/v1/keys', { role, user_id: user }, ADMIN)).body
  const say = (user: string) =>
    at().call('POST', `/v1/sessions/${user}:bot:t/messages`, { text: 'hi' }, ADMIN)
  /** Nothing has been told for as long as two looks take. */
  const quiet = async (heard: { topics: string[][] }) => {
    for (let before = -1; before !== heard.topics.length; ) {
      before = heard.topics.length
      const from = (await databaseNow(at().app.store.db)).getTime()
      await until(
        'two looks',
        async () => (await databaseNow(at().app.store.db)).getTime() > from + 2_000,
      )
    }
    return heard.topics.length
  }

  it('tells admins of every write, and says all topics at the beginning', async () => {
    const heard = await listen(ADMIN)
    await until('it begins', () => heard.topics.length > 0)
    expect(heard.topics[0]).toEqual(TOPICS)
    const before = await quiet(heard)
    await at().call(
      'POST',
      '/v1/alarms',
      { kind: 'once', delay_seconds: 86_400, wake_message: 'x', agent_id: 'bot' },
      ADMIN,
    )
    await until('it is told', () => heard.topics.length > before)
    expect(heard.topics.at(-1)).toEqual(TOPICS)
  })

  it('tells a person only of what is theirs, and ends when their key is revoked', async () => {
    const { id, key: secret } = await key('user', 'ann')
    const heard = await listen({ authorization: `Bearer ${secret}` })
    await until('it begins', () => heard.topics.length > 0)
    const everything = await listen(ADMIN)
    const [own, all] = [await quiet(heard), await quiet(everything)]
    await say('bea')
    await until('admins hear of it', () => everything.topics.length > all)
    await quiet(everything)
    expect(heard.topics.length).toBe(own)
    await say('ann')
    await until('she hears of hers', () => heard.topics.length > own)
    await at().call('DELETE', `/v1/keys/${id}`, undefined, ADMIN)
    await until('it has ended', () => heard.ended)
  })

  it('refuses strangers and workers', async () => {
    expect((await listen({})).status).toBe(401)
    const { key: worker } = await key('worker', 'ann')
    expect((await listen({ authorization: `Bearer ${worker}` })).status).toBe(403)
    expect((await at().call('POST', '/v1/changes', {}, ADMIN)).status).toBe(405)
  })

  if (store.name !== 'pglite')
    it('tells of what another process has written', async () => {
      const database = await store.database()
      const [one, other] = await Promise.all([openLive(database, {}), openLive(database, {})])
      try {
        const heard = await listen({}, one.url)
        await until('it begins', () => heard.topics.length > 0)
        const before = heard.topics.length
        await other.call('PUT', '/v1/people/zoe', { timezone: 'Asia/Tokyo' })
        await until('it is told', () => heard.topics.length > before)
      } finally {
        await Promise.all([one.app.stop(), other.app.stop()])
      }
    })
})
