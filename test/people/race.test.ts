/**
 * Two agents, ten sessions and three channels race for one person's last message of the day, on PostgreSQL and in three processes: by
 * what the vendors got, the limit is never exceeded and nothing promised is lost (invariants 7, 11, 11a), and the ledger says of each
 * slot what became of it. `npm run race` does it a thousand times.
 */
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'
import type { Db } from '../../src/store/db.ts'
import { discordKit } from '../channels/discord.kit.ts'
import type { Kit } from '../channels/laws.ts'
import { slackKit } from '../channels/slack.kit.ts'
import { telegramKit } from '../channels/telegram.kit.ts'
import { Server } from '../process/server.ts'
import { call, type Loose } from '../setup/http.ts'
import { dropDatabases, postgresDatabase } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { bareStore } from '../store/stores.ts'

const APP = fileURLToPath(new URL('../process/preferences-app.mjs', import.meta.url))
const RACES = Number(process.env.PREFERENCES_RACES ?? 8)
/** People whose races run at once. */
const SIZE = Math.min(RACES, 25)
const PROCESSES = 3
const FAR = '2090-01-01T00:00:00Z'
const BOUND_MS = 7_200_000
/** Where it is about noon now, so that no day ends meanwhile. East of Greenwich is minus there. */
const WEST = new Date().getUTCHours() - 12
const ZONE = `Etc/GMT${WEST < 0 ? '' : '+'}${WEST}`

/** Alarms by session: three of one are gathered where two of them wait. */
const ALARMS = [0, 0, 0, 1, 2, 3, 4, 5].map((session, n) => ({
  ...{ label: `alarm ${n}`, wake_message: `alarm ${n}`, conversation_id: `alarms-${session}` },
  agent_id: session % 2 === 0 ? 'one' : 'two',
}))
/** What becomes of the slots of one person that do not win. */
const LOSERS: Record<string, string> = {
  ...Object.fromEntries(ALARMS.map(({ label }) => [label, 'delivered'])),
  ...{ 'news one': 'delivered', 'news two': 'delivered' },
  ...{ price: 'expired', nudge: 'suppressed', muted: 'suppressed' },
}
const SLOTS = Object.keys(LOSERS).length

const made: string[] = []
afterAll(() => dropDatabases(made))

interface Person {
  readonly name: string
  readonly nth: number
}

class Race {
  readonly #servers: readonly { readonly url: string }[]
  readonly #kits: readonly Kit[]
  readonly #db: Db
  readonly tally: Record<string, number> = {}

  constructor(servers: readonly { readonly url: string }[], kits: readonly Kit[], db: Db) {
    this.#servers = servers
    this.#kits = kits
    this.#db = db
  }

  async #ask(nth: number, method: string, path: string, body?: object, as?: string) {
    const url = `${this.#servers[nth % PROCESSES]?.url}${path}`
    const answer = await call(url, method, body, as === undefined ? {} : { 'wakeful-act-as': as })
    expect(answer.status, answer.text).toBeLessThan(300)
    return answer.body
  }

  async #promise({ name, nth }: Person, round: number): Promise<void> {
    const ask = (method: string, path: string, body: object) =>
      this.#ask(nth, method, path, body, name)
    const [first, second, third] = this.#kits
    const preferences = { most_unasked_per_day: 1, muted_agents: ['three'], timezone: ZONE }
    await this.#ask(nth, 'PUT', `/v1/people/${name}`, preferences)
    for (const [kit, session] of [
      [first, 'one:alarms-0'],
      [second, 'two:alarms-1'],
      [third, 'one:alarms-2'],
    ] as const)
      await ask('POST', '/v1/links', {
        ...{ channel: kit?.name, address: kit?.address(nth), session_key: `${name}:${session}` },
      })
    const muted = { agent_id: 'three', conversation_id: 't', label: 'muted', wake_message: 'muted' }
    for (const alarm of [...ALARMS, muted])
      await ask('POST', '/v1/alarms', { kind: 'once', fire_at: FAR, ...alarm })
    const intent = (intent_name: string, agent_id: string, more: object) =>
      ask('POST', '/v1/intents', {
        ...{ user_id: name, intent_name, agent_id, thread_id: intent_name.replace(' ', '-') },
        ...{ action_context: 'tell', max_executions: 1, ...more },
      })
    for (const agent of ['one', 'two'])
      await intent(`news ${agent}`, agent, {
        ...{ trigger_type: 'news', trigger_condition: { keywords: ['eclipse'] } },
      })
    const below = { ticker: `T${round}`, operator: '<', value: 10 }
    await intent('price', 'two', { trigger_type: 'price', trigger_condition: below })
    await ask('PUT', `/v1/sessions/${name}:one:nudges/timers/nudge`, { fire_at: FAR })
  }

  async #count(text: string): Promise<number> {
    const [row] = await this.#db.query<{ n: number }>(`select count(*)::int as n from ${text}`)
    return row?.n ?? 0
  }

  /** Every turn is over, and whatever was said has arrived. */
  async #still(): Promise<boolean> {
    const open = `wakeful.effects where type = 'send_message' and status in ('pending', 'executing')`
    return (
      (await this.#count('wakeful.sessions where done_seq < last_seq')) === 0 &&
      (await this.#count(open)) === 0
    )
  }

  /** What the vendors have for somebody: a message each, of one line for each slot. */
  #arrived({ nth }: Person): string[] {
    return this.#kits.flatMap((kit) => kit.arrived(kit.address(nth)))
  }

  /** One round: `SIZE` people at once, each with their own race. All of the rounds before have ended. */
  async run(round: number): Promise<void> {
    const people = Array.from({ length: SIZE }, (_, n) => ({
      ...{ name: `p${round}-${n}`, nth: round * SIZE + n },
    }))
    await Promise.all(people.map((person) => this.#promise(person, round)))
    const signal = (nth: number, body: object) => this.#ask(nth, 'POST', '/v1/signals', body)

    // All of them are due at once.
    await this.#db.query(
      `with a as (update wakeful.alarms set due_at = now(), next_fire_at = now(), scheduled_for = now() where status = 'active')
       update wakeful.autonomy_timers set fire_at = now() where status = 'pending'`,
    )
    await Promise.all([
      signal(1, { kind: 'news', headline: `Eclipse number ${round}` }),
      signal(2, { kind: 'price', ticker: `T${round}`, price: 9 }),
    ])
    const slots = `wakeful.events where session_key like 'p${round}-%'`
    await until(
      'each slot had its turn',
      async () => (await this.#count(slots)) === SIZE * SLOTS && this.#still(),
    )
    const winners = new Map(people.map((person) => [person.name, this.#arrived(person)]))
    expect([...winners].filter(([, said]) => said.length !== 1)).toEqual([])
    const wrong = await this.#db.query(
      'select user_id from wakeful.people where user_id like $1 and unasked_count <> 1',
      [`p${round}-%`],
    )
    expect(wrong).toEqual([])

    // Room for all: what waited comes, each slot once, but for the price that is another by now.
    await signal(round, { kind: 'price', ticker: `T${round}`, price: 11 })
    await Promise.all(
      people.map(({ name, nth }) =>
        this.#ask(nth + 1, 'PUT', `/v1/people/${name}`, { most_unasked_per_day: null }),
      ),
    )
    await until(
      'all is said',
      async () =>
        (await this.#count(`wakeful.deferred where status = 'waiting'`)) === 0 && this.#still(),
    )
    for (const person of people) await this.#judge(person, winners.get(person.name)?.[0] ?? '')
  }

  /** Each slot has the end that the vendors saw, and the ledger says which. */
  async #judge(person: Person, winner: string): Promise<void> {
    const ends: Record<string, string> = { ...LOSERS, [winner]: 'delivered' }
    const said = this.#arrived(person).flatMap((text) => text.split('\n'))
    const due = Object.keys(ends).filter((name) => ends[name] === 'delivered')
    expect(said.toSorted()).toEqual(due.toSorted())
    const path = `/v1/ledger?user_id=${person.name}&limit=100`
    const { data } = await this.#ask(person.nth, 'GET', path)
    const slots: Loose[] = data.filter(({ outcome }: Loose) => outcome !== 'condition_false')
    expect(Object.fromEntries(slots.map((slot) => [slot.trigger.name, slot.outcome]))).toEqual(ends)
    expect(slots).toHaveLength(SLOTS)
    for (const { trigger, outcome, words, reason } of slots) {
      const deferred = /deferred before \(enough was said that day\)/.test(words)
      expect([trigger.name, deferred]).toEqual([
        trigger.name,
        outcome === 'delivered' && trigger.name !== winner,
      ])
      const how = /together with/.test(words)
        ? 'gathered into a digest'
        : `${outcome}${deferred ? ' after it was deferred' : ''}${reason?.rule ? ` (${reason.rule})` : ''}`
      this.tally[how] = (this.tally[how] ?? 0) + 1
    }
  }
}

it(`${RACES} races: never more than one message of the day, and each of the others comes later, once`, {
  timeout: BOUND_MS,
}, async () => {
  const database = await postgresDatabase(made)
  const { db } = await bareStore(database)
  const kits = await Promise.all([telegramKit(), slackKit(false)(), discordKit()])
  for (const kit of kits) kit.reset()
  const env = {
    ...{ DATABASE_URL: database, WAKEFUL_APP: APP, LOG_LEVEL: 'error' },
    ...{ WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'true', WAKEFUL_RATE_PER_SECOND: '100000' },
    ...Object.assign({}, ...kits.map((kit) => kit.env)),
  }
  const servers = await Promise.all(Array.from({ length: PROCESSES }, () => Server.start(env)))
  const race = new Race(servers, kits, db)
  for (let round = 0; round * SIZE < RACES; round++) await race.run(round)
  const by = kits.map((kit) => `${kit.name} ${kit.attempts()}`)
  if (process.env.PREFERENCES_RACES !== undefined) console.log(race.tally, by.join(', '))
  expect(race.tally['gathered into a digest']).toBeGreaterThanOrEqual(2 * RACES)
  expect(race.tally['suppressed (agent_muted)']).toBe(RACES)
  for (const kit of kits) expect(kit.attempts()).toBeGreaterThan(0)
  for (const server of servers) expect((await server.end('SIGTERM')).code).toBe(0)
  await Promise.all(kits.map((kit) => kit.stop()))
})
