/** Rule 47: an agent, a channel or a person that hangs or floods delays nobody else. Counted, not timed. */
import { afterEach, expect, it } from 'vitest'
import { makeLink } from '../../packages/channels/hub/src/link-rows.ts'
import { PushesService } from '../../packages/channels/hub/src/pushes.ts'
import type { Agent } from '../../src/agents/agent.ts'
import { agent } from '../../src/agents/function.ts'
import { DEFAULT_LIMITS } from '../../src/features/limits/rules.ts'
import { Budgets } from '../../src/kernel/budgets.ts'
import { Capacity, Shares } from '../../src/kernel/capacity.ts'
import type { Push, PushChannel, PushOutcome } from '../../src/kernel/channel.ts'
import { LocalHints } from '../../src/kernel/hints.ts'
import type { Meter } from '../../src/kernel/meter.ts'
import { type Service, SILENT } from '../../src/kernel/service.ts'
import { Stops } from '../../src/kernel/stops.ts'
import { TurnsService } from '../../src/kernel/turns.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { ref, type World, world } from '../setup/worlds.ts'

const LEASE_MS = 30_000
const PLACES = 20
const POLICY = {
  ...{ autonomy: true, maxConsecutive: 3, cooldownMs: 15_000, maxFailures: 5 },
  ...{ backlogMax: 1_000, timezone: 'UTC' },
}
const meter = {
  ...{ trouble() {}, leasesLost() {}, batch() {}, turn() {}, delivery() {} },
} as unknown as Meter

/** What hangs until the end of its test. */
const hanging: (() => void)[] = []
afterEach(() => {
  for (const go of hanging.splice(0)) go()
})
const hang = () => new Promise<void>((done) => hanging.push(done))

/** As its loop would: again while there is more. */
async function tickAll(service: Service): Promise<void> {
  while ((await service.tick()).more);
}

function turnsOf({ app }: World, agents: Record<string, Agent>): TurnsService {
  const { engine: claims, commits, db: reads } = app.store
  return new TurnsService({
    ...{ claims, commits, reads, meter, moments: SILENT, leaseMs: LEASE_MS, policy: POLICY },
    ...{ agents: new Map(Object.entries(agents)), triggers: new Map(), hints: new LocalHints() },
    ...{ budgets: new Budgets(commits, DEFAULT_LIMITS, () => undefined), concurrency: PLACES },
    stops: new Stops(claims, [claims]),
  })
}

const sayAll = async (w: World, keys: readonly string[]) => {
  for (const key of keys) await w.say(key, 'hi')
}
const many = (count: number, key: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => key(n))

eachStore('one party that hangs', (store) => {
  const bots = () => world(store, { slow: () => undefined, bot: () => undefined })

  it('rule 49: an agent whose turns never end leaves places to the others', async () => {
    const w = await bots()
    const entered: string[] = []
    const slow = agent(async () => {
      entered.push('slow')
      await hang()
    })
    const bot = agent(() => entered.push('bot'))
    const turns = turnsOf(w, { slow, bot })
    await sayAll(
      w,
      many(2 * PLACES, (n) => `p${n}:slow:t`),
    )
    await tickAll(turns)
    expect(entered.length).toBeGreaterThan(PLACES / 2)
    await w.say('zoe:bot:t', 'hi')
    await turns.tick()
    await until('the other agent was entered', () => entered.at(-1) === 'bot')
    await until('it has ended', () => turns.depth === entered.length - 1)
    // What waited goes on where places become free.
    const before = entered.length
    for (const go of hanging.splice(0, before - 1)) go()
    await until('all have ended', () => turns.depth === 0)
    await tickAll(turns)
    expect(entered.length).toBeGreaterThan(before)
  })

  it('rule 49: a person whose turns never end leaves places to the others', async () => {
    const w = await bots()
    const entered: string[] = []
    const bot = agent(async ({ session }) => {
      entered.push(session.userId)
      if (session.userId === 'ann') await hang()
    })
    const turns = turnsOf(w, { bot })
    await sayAll(
      w,
      many(2 * PLACES, (n) => `ann:bot:t${n}`),
    )
    await tickAll(turns)
    expect(entered.length).toBeLessThan(PLACES)
    await w.say('zoe:bot:t', 'hi')
    await turns.tick()
    await until('the other person was served', () => entered.at(-1) === 'zoe')
  })

  it('no more turns of an agent run at once than it allows, of messages and of timers; all of them run', async () => {
    const running = { now: 0, most: 0, all: 0 }
    const one = agent(
      async () => {
        running.most = Math.max(running.most, ++running.now)
        running.all++
        await new Promise((done) => setImmediate(done))
        running.now--
      },
      { concurrency: 2 },
    )
    const w = await world(store, { one, bot: () => undefined })
    await sayAll(
      w,
      many(5, (n) => `p${n}:one:t`),
    )
    await w.settle()
    expect(running).toEqual({ now: 0, most: 2, all: 5 })
    for (const key of many(5, (n) => `p${n}:one:t`))
      await w.call('put_timer', { session_key: key, timer_id: 'x', delay_seconds: 60 })
    await w.advanceBy(60_000)
    expect(running).toEqual({ now: 0, most: 2, all: 10 })
  })

  class Gate implements PushChannel {
    readonly sent: string[] = []
    begun = 0
    readonly name: string
    constructor(name: string) {
      this.name = name
    }
    async send({ address, sessionKey }: Push): Promise<PushOutcome> {
      this.begun++
      if (address.startsWith('hangs')) await hang()
      this.sent.push(sessionKey)
      return { type: 'sent' }
    }
  }

  /** Also more than a person may have: as many messages can be on their way to one address of a person. */
  async function linked(w: World, channel: string, keys: readonly string[], to: string) {
    for (const [n, key] of keys.entries()) {
      await w.query(`update wakeful.links set user_id = '-' || user_id where user_id not like '-%'`)
      await w.app.store.commits.tx((tx) =>
        makeLink(tx, {
          ...{ session: ref(key), channel, address: `${to}${n} of ${key}` },
          ...{ person: false, heard: false },
        }),
      )
    }
    await w.query(`update wakeful.links set user_id = ltrim(user_id, '-')`)
    await sayAll(w, keys)
    await w.settle()
  }

  function pushesOf({ app }: World, channels: readonly PushChannel[]): PushesService {
    const { engine: claims, commits } = app.store
    return new PushesService({
      ...{ channels, claims, commits, leaseMs: LEASE_MS, meter, moments: SILENT },
    })
  }

  it('rule 49: a channel that never answers delays no message of another', async () => {
    const w = await world(store, { bot: (turn) => turn.say('hello') })
    const [paper, bell] = [new Gate('paper'), new Gate('bell')]
    const pushes = pushesOf(w, [paper, bell])
    await linked(
      w,
      'paper',
      many(80, (n) => `p${n}:bot:t`),
      'hangs',
    )
    await tickAll(pushes)
    expect(paper.begun).toBeGreaterThan(40)
    await linked(w, 'bell', ['zoe:bot:t'], 'ok')
    await pushes.tick()
    await until('it was sent', () => bell.sent.length === 1)
  })

  it('rule 49: a person whose addresses never answer delays nobody on the same channel', async () => {
    const w = await world(store, { bot: (turn) => turn.say('hello') })
    const paper = new Gate('paper')
    const pushes = pushesOf(w, [paper])
    await linked(
      w,
      'paper',
      many(80, (n) => `ann:bot:t${n}`),
      'hangs',
    )
    await tickAll(pushes)
    expect(paper.begun).toBeLessThan(64)
    await linked(w, 'paper', ['zoe:bot:t'], 'ok')
    await pushes.tick()
    await until('it was sent', () => paper.sent.length === 1)
  })
})

it('concurrency: what is no whole number from 1 on is refused', () => {
  for (const concurrency of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
    expect(() => agent(() => undefined, { concurrency })).toThrow(/concurrency: .* got/)
})

it('parties are held back only while they hold more than their share', () => {
  const shares = new Shares(3)
  for (let n = 0; n < 4; n++) shares.add('a')
  for (let n = 0; n < 2; n++) shares.add('b')
  expect(shares.above(1)).toEqual(['a'])
  expect(shares.above(4)).toEqual([])
  shares.remove('a')
  shares.remove('a')
  expect(shares.above(1)).toEqual([])
})

it('places of parties that are held back, or were a moment ago, are not lent', () => {
  const running = { count: 0 }
  const places = new Capacity(PLACES, () => running.count)
  const agents = new Map<string, Pick<Agent, 'concurrency'>>([
    ...([
      ['slow', {}],
      ['bot', {}],
      ['one', { concurrency: 1 }],
    ] as const),
  ])
  const begin = (user_id: string, agent_id: string) => {
    places.begin({ user_id, agent_id }, false)
    running.count++
  }
  expect(places.plan(agents)).toEqual({
    ...{ agentIds: ['slow', 'bot'], notUserIds: [], limited: [{ agentId: 'one', room: 1 }] },
  })
  for (let n = 0; n < 18; n++) begin(n < 9 ? 'ann' : `p${n}`, 'slow')
  expect(places.plan(agents)).toMatchObject({ agentIds: ['bot'], notUserIds: ['ann'] })
  expect(places.holdsBack).toBe(true)
  for (let n = 0; n < 9; n++) {
    places.end({ user_id: 'ann', agent_id: 'slow' }, false)
    running.count--
  }
  expect(places.lendable(agents)).toEqual({ agentIds: ['bot'], notUserIds: ['ann'] })
  expect(places.plan(agents)).toMatchObject({ agentIds: ['slow', 'bot'], notUserIds: [] })
  expect(places.lendable(agents)).toEqual({ agentIds: ['slow', 'bot'], notUserIds: [] })
})
