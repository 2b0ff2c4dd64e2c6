/** Sources in the running house: from a feed to an agent's turn, one process at a time, and over restarts. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { type SourcesOptions, SourcesService } from '../../packages/sources/src/service.ts'
import type { Source } from '../../src/features/intents/source.ts'
import { agent, calendarSource, feedSource, priceSource, wakeful } from '../../src/index.ts'
import { SILENT } from '../../src/kernel/service.ts'
import { call, type Loose } from '../setup/http.ts'
import { type Stage, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { type World, world } from '../setup/worlds.ts'
import { type Answer, fetcher, fixture, serve, web } from './stage.ts'

const START = '2026-01-01T09:00:00.000Z'
const MINUTE = 60_000
const PRIVATE = { WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'true' }

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

interface Door {
  readonly w: World
  ask(method: string, path: string, body?: unknown): Promise<Loose>
  intent(body: Record<string, unknown>): Promise<Loose>
  /** What agents were woken for. */
  readonly url: string
  fired(): Promise<Loose[]>
}

async function open(w: World): Promise<Door> {
  const url = await w.listen()
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await call(`${url}${path}`, method, body)
    expect(answer.status, answer.text).toBeLessThan(300)
    return answer.body
  }
  return {
    w,
    url,
    ask,
    intent: (body) =>
      ask('POST', '/v1/intents', {
        ...{ user_id: 'ann', agent_id: 'bot', intent_name: 'watch', action_context: 'tell her' },
        ...body,
      }),
    fired: async () => {
      const rows = await w.query<{ payload: string }>(
        `select payload from wakeful.events where type = 'intent' order by created_at, id`,
      )
      return rows.map(({ payload }) => JSON.parse(payload))
    },
  }
}

const bot = (turn: { say(text: string): void }) => turn.say('look at this')

eachStore('sources', (store) => {
  const opened = async (
    sources: readonly Source[],
    env: Record<string, string> = {},
    database?: string,
  ) =>
    open(
      await world(
        store,
        { bot },
        {
          ...{ sources, startAt: START, env: { ...PRIVATE, ...env } },
          ...(database === undefined ? {} : { database }),
        },
      ),
    )

  it('a headline of a feed wakes the agent once, however often it is told', async () => {
    const page = await web(serve(fixture('rss2.xml')))
    const door = await opened([], { WAKEFUL_FEEDS: `${page.url}/rss` })
    await door.intent({ trigger_type: 'news', trigger_condition: { keywords: ['rates'] } })
    await door.intent({ trigger_type: 'news', trigger_condition: { keywords: ['volcano'] } })
    await door.w.settle()
    expect(page.asked).toHaveLength(1)
    const [fired, ...others] = await door.fired()
    expect(others).toEqual([])
    expect(JSON.stringify(fired.trigger_data)).toContain('Central bank cuts rates & markets cheer')
    const effects = await door.w.query(`select 1 from wakeful.effects where type = 'send_message'`)
    expect(effects).toHaveLength(1)
    await door.w.advanceBy(60 * MINUTE)
    expect(page.asked.length).toBeGreaterThanOrEqual(3)
    expect(page.asked.length).toBeLessThanOrEqual(5)
    expect(await door.fired()).toHaveLength(1)
  })

  it('asks for the tickers that enabled intents of ours wait for, and a price that falls fires', async () => {
    let price = 140
    const page = await web((_, response) => response.end(JSON.stringify({ p: price })))
    const door = await opened([priceSource({ url: `${page.url}/{ticker}`, path: 'p' })])
    const below = (ticker: string, more = {}) =>
      door.intent({
        ...{ trigger_type: 'price', trigger_condition: { ticker, operator: '<', value: 130 } },
        ...more,
      })
    await door.w.settle()
    expect(page.asked).toEqual([])
    await below('nvda')
    await below('NVDA')
    await below('OUTSIDE', { agent_id: undefined })
    const { id } = await below('OFF')
    await door.ask('PUT', `/v1/intents/${id}`, { enabled: false })
    await door.w.advanceBy(2 * MINUTE)
    expect(new Set(page.asked.map(({ url }) => url))).toEqual(new Set(['/NVDA']))
    expect(page.asked.length).toBeLessThanOrEqual(2)
    expect(await door.fired()).toEqual([])
    price = 129
    await door.w.advanceBy(2 * MINUTE)
    expect(await door.fired()).toHaveLength(2)
  })

  it('a calendar entry fires before it starts; one that is called off does not', async () => {
    const entry = (uid: string, start: string) =>
      `BEGIN:VEVENT\r\nUID:${uid}\r\nSUMMARY:${uid}\r\nDTSTART:${start}\r\nEND:VEVENT\r\n`
    const file = (...entries: string[]) => `BEGIN:VCALENDAR\r\n${entries.join('')}END:VCALENDAR\r\n`
    const page = await web(
      serve(file(entry('tea', '20260101T100000Z'), entry('off', '20260101T110000Z'))),
    )
    const door = await opened([calendarSource({ url: `${page.url}/a.ics`, userId: 'ann' })])
    await door.intent({ trigger_type: 'calendar', trigger_condition: { value: 15 } })
    await door.intent({
      user_id: 'bob',
      trigger_type: 'calendar',
      trigger_condition: { value: 15 },
    })
    await door.w.advanceBy(30 * MINUTE)
    expect(await door.fired()).toEqual([])
    await door.w.advanceBy(20 * MINUTE)
    expect(await door.fired()).toMatchObject([{ trigger_data: {} }])
    expect(JSON.stringify(await door.fired())).toContain('tea')
    page.answer = serve(file(entry('tea', '20260101T100000Z')))
    await door.w.advanceBy(120 * MINUTE)
    expect(await door.fired()).toHaveLength(1)
    expect(await door.w.query(`select 1 from wakeful.signals where fact = 'off'`)).toEqual([])
  })

  it('a failing source is asked less and less, as its server wishes, and says so; then all is well again', async () => {
    const down: Answer = (_, response) => response.writeHead(503, { 'retry-after': '7200' }).end()
    const page = await web(down)
    const door = await opened([feedSource({ url: `${page.url}/f?key=sk-secret` })])
    await door.w.settle()
    const [state] = (await door.ask('GET', '/v1/sources')).data
    expect(state).toMatchObject({
      kind: 'feed',
      last_error: 'HTTP 503',
      failures: 1,
      last_ok_at: null,
    })
    expect(JSON.stringify(state)).not.toContain('sk-secret')
    const wait = Date.parse(state.next_poll_at) - Date.parse(START)
    expect(wait).toBeGreaterThanOrEqual(120 * MINUTE)
    page.answer = serve(fixture('rss2.xml'))
    await door.w.advanceBy(119 * MINUTE)
    expect(page.asked).toHaveLength(1)
    await door.w.advanceBy(10 * MINUTE)
    const [well] = (await door.ask('GET', '/v1/sources')).data
    expect(well).toMatchObject({ last_error: null, failures: 0, last_ok_at: expect.any(String) })
    const metrics = await (await fetch(`${door.url}/metrics`)).text()
    expect(metrics).toMatch(/wakeful_source_polls\w*\{source="feed",result="failed"\} 1/)
    expect(metrics).toMatch(/wakeful_source_polls\w*\{source="feed",result="ok"\} 1/)
  })

  it('a restart keeps the ETag and the time of the next poll, and tells nothing twice', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'wakeful-sources-'))
    folders.push(folder)
    const database =
      store.name === 'pglite' ? `pglite:${join(folder, 'data')}` : await store.database()
    const page = await web((request, response) =>
      request.headers['if-none-match'] === '"v1"'
        ? response.writeHead(304).end()
        : response.writeHead(200, { etag: '"v1"' }).end(fixture('rss2.xml')),
    )
    const sources = [feedSource({ url: page.url })]
    const first = await opened(sources, {}, database)
    await first.w.settle()
    await first.w.stop()
    const second = await opened(sources, {}, database)
    await second.w.settle()
    expect(page.asked).toHaveLength(1)
    await second.w.advanceBy(20 * MINUTE)
    expect(page.asked.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"v1"'])
    const rows = await second.w.query(`select 1 from wakeful.signals where kind = 'news'`)
    expect(rows).toHaveLength(3)
  })

  it('AUTONOMY_ENABLED=false asks nobody', async () => {
    const page = await web(serve(fixture('rss2.xml')))
    const door = await opened([feedSource({ url: page.url })], { AUTONOMY_ENABLED: 'false' })
    await door.w.advanceBy(60 * MINUTE)
    expect(page.asked).toEqual([])
  })

  describe('two processes', () => {
    const shared = sharedStage(store, { startAt: START })
    const emptied = async () => {
      const w = shared()
      await w.app.store.db.exec('truncate wakeful.source_polls, wakeful.signals')
      return w
    }
    const service = (w: Stage, source: Source, more: Partial<SourcesOptions> = {}) => {
      const lost: number[] = []
      const troubles: unknown[] = []
      const meter = {
        ...{ promoted: () => undefined, turn: () => undefined, batch: () => undefined },
        leasesLost: (count: number) => void lost.push(count),
        heldBack: () => undefined,
        ...{ delivered: () => undefined, delivery: () => undefined, polled: () => undefined },
        trouble: (_: string, error: unknown) => void troubles.push(error),
      }
      const reader = fetcher()
      const made = new SourcesService({
        ...{
          sources: [source],
          db: w.app.store.engine,
          leaseMs: 10_000,
          moments: SILENT,
          enabled: true,
        },
        fetch: (request) => reader.get(request),
        take: (signals) => w.app.takeSignals(signals),
        meter,
        ...more,
      })
      return { made, lost, troubles }
    }

    it('ask a source once between them', async () => {
      const page = await web(serve(fixture('rss2.xml')))
      const w = await emptied()
      const source = feedSource({ url: page.url })
      const all = Array.from({ length: 4 }, () => service(w, source).made)
      await Promise.all(all.map((each) => each.tick()))
      await Promise.all(all.map((each) => each.settle()))
      await Promise.all(all.map((each) => each.close()))
      expect(page.asked).toHaveLength(1)
    })

    it('invariant 5: one that lost its lease writes nothing', async () => {
      const page = await web(serve(fixture('rss2.xml')))
      const w = await emptied()
      const source = feedSource({ url: page.url })
      let free: () => void = () => undefined
      const held = new Promise<void>((done) => {
        free = done
      })
      const slow = service(w, source, {
        take: async () => {
          await held
        },
      })
      await slow.made.tick()
      w.sleep(11_000)
      const quick = service(w, source)
      await quick.made.tick()
      await quick.made.settle()
      const state = () =>
        w.query('select due_at, etag, told, failures, updated_at from wakeful.source_polls')
      const before = await state()
      free()
      await slow.made.settle()
      expect(await state()).toEqual(before)
      expect(slow.lost).toEqual([1])
      expect([...slow.troubles, ...quick.troubles]).toEqual([])
      await Promise.all([slow.made.close(), quick.made.close()])
    })

    it('one that stops gives its source back at once', async () => {
      const page = await web(() => undefined)
      const w = await emptied()
      const source = feedSource({ url: page.url })
      const stopping = service(w, source)
      await stopping.made.tick()
      await stopping.made.close()
      page.answer = serve(fixture('rss2.xml'))
      const next = service(w, source)
      expect((await next.made.tick()).did).toBe(1)
      await next.made.close()
      expect(await w.query('select 1 from wakeful.signals')).toHaveLength(3)
    })

    it('a source that only another process has is left to it', async () => {
      const page = await web(serve(fixture('rss2.xml')))
      const w = await emptied()
      await w.query(
        `insert into wakeful.source_polls (bucket, key, kind, due_at, created_at, updated_at) values (1, 'mine', 'own', $1, $1, $1)`,
        [new Date(START)],
      )
      const one = service(w, feedSource({ url: page.url }))
      expect((await one.made.tick()).did).toBe(1)
      await one.made.close()
    })
  })
})

describe('by itself', () => {
  it('a started house asks without being driven', async () => {
    let asked: () => void = () => undefined
    const done = new Promise<void>((resolve) => {
      asked = resolve
    })
    const own: Source = {
      ...{ key: 'own', kind: 'own', everyMs: 60_000 },
      poll: async () => {
        asked()
        return []
      },
    }
    const app = await wakeful({
      ...{ database: 'memory:', agents: { bot: agent(() => undefined) }, sources: [own] },
      env: { LOG_LEVEL: 'silent' },
    })
    await app.start()
    await done
    await app.stop()
  })

  it.each([
    [
      feedSource({ url: 'http://10.0.0.1/feed' }),
      'the private address "10.0.0.1"; takes a public address',
    ],
    [{ key: 'x', kind: 'x', everyMs: 10, poll: async () => [] }, 'everyMs takes at least 60000'],
    [{} as Source, 'sources takes a list of feedSource(…)'],
  ])('a source that cannot be meant stops the start', async (source, says) => {
    const env = { LOG_LEVEL: 'silent' }
    const going = wakeful({ database: 'memory:', agents: {}, sources: [source], env })
    await expect(going).rejects.toThrow(says)
  })
})
