/**
 * What one request costs: CPU of the server's process and requests a second, beside the same work written by hand with Fastify and `pg`.
 * Loads are interleaved; a ratio compares the lowest of both sides. `node --import tsx bench/requests.ts [--rounds 5] [--requests 3000] [--only=preview,list]`
 */
import { Arena, buildContestants, type Contest } from './arena.ts'
import { digits, spreadOf } from './figures.ts'
import { load, type Route } from './load.ts'
import { flag, postgresServer } from './stage.ts'

const PERSON = 'owner'
const ADMIN_KEY = 'an-admin-key-for-benchmarks-of-requests'
const FREELY = { WAKEFUL_SERVICES: 'http', WAKEFUL_RATE_PER_SECOND: '1000000' }
const KEYS = { WAKEFUL_AUTH: 'keys', WAKEFUL_ADMIN_KEY: ADMIN_KEY, WAKEFUL_PENDING_MAX: '1000000' }
const ROUNDS = 5
const REQUESTS = 3_000
const WARM_UP = 2_000

const alarm = { agent_id: 'silent', kind: 'once', delay_seconds: 864_000, wake_message: 'bench' }
const withPayload = { ...alarm, payload: { n: 1 } }
const preview = { schedule: 'every weekday at 8:30', timezone: 'Europe/Berlin' }

interface Peer {
  readonly who: 'written' | 'sending'
  readonly name: string
  readonly route: Route
}
const post = (who: Peer['who'], name: string, path: string, body: unknown): Peer => ({
  ...{ who, name, route: { method: 'POST', path, body } },
})
const BARE = post('written', 'bare route', '/', preview)
const EACH = post('written', 'insert each', '/each', withPayload)
const GROUP = post('written', 'group commit', '/group', withPayload)
const SEND = post('sending', 'pg-boss send', '/', alarm)
const SELECT: Peer = {
  ...{
    who: 'written',
    name: 'select by key',
    route: { method: 'GET', path: '/sessions/u#:silent:t' },
  },
}
const LIST: Peer = {
  ...{ who: 'written', name: 'list of 20', route: { method: 'GET', path: '/alarms?limit=20' } },
}

interface Measured {
  readonly name: string
  /** `session`: the key of one of a thousand sessions. */
  route(session: string): Route
  /** With the least ratio of CPU that is wanted; of pg-boss it is of the rate. */
  readonly beside: readonly (readonly [Peer, number])[]
}
const MEASURED: readonly Measured[] = [
  {
    name: 'preview',
    route: () => ({ method: 'POST', path: '/v1/schedules/preview', body: preview }),
    beside: [[BARE, 0.45]],
  },
  {
    name: 'alarm',
    route: () => ({ method: 'POST', path: '/v1/alarms', body: withPayload }),
    beside: [
      [EACH, 1],
      [GROUP, 0.5],
      [SEND, 3],
    ],
  },
  {
    name: 'message',
    route: (session) => ({
      ...{ method: 'POST', path: `/v1/sessions/${session}/messages`, body: { text: 'hello' } },
    }),
    beside: [
      [EACH, 1],
      [GROUP, 0.5],
    ],
  },
  {
    name: 'session',
    route: (session) => ({ method: 'GET', path: `/v1/sessions/${session}` }),
    beside: [[SELECT, 1.3]],
  },
  {
    name: 'list',
    route: () => ({ method: 'GET', path: '/v1/alarms?limit=20' }),
    beside: [[LIST, 0.8]],
  },
]

interface Server {
  readonly address: string
  cpuMs(): number
}
interface Load {
  readonly name: string
  readonly server: Server
  readonly route: Route
  readonly micros: number[]
  readonly rates: number[]
}

async function run({ server, route, micros, rates }: Load, requests: number): Promise<void> {
  const before = server.cpuMs()
  const rate = await load(server.address, route, requests)
  micros.push(((server.cpuMs() - before) * 1000) / requests)
  rates.push(rate)
}

/** A key of an agent that belongs to one person. */
async function keyOf({ address }: Server): Promise<string> {
  const answer = await fetch(`${address}/v1/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${ADMIN_KEY}` },
    body: JSON.stringify({ role: 'agent', user_id: PERSON }),
  })
  if (!answer.ok) throw new Error(await answer.text())
  return ((await answer.json()) as { key: string }).key
}

type Compared = readonly [ours: Load, peer: Load, least: number, byRate: boolean]

async function measure(open: Server, keys: Server, peers: Record<Peer['who'], Server>) {
  const only = process.argv
    .find((each) => each.startsWith('--only='))
    ?.slice(7)
    .split(',')
  const headers = { authorization: `Bearer ${await keyOf(keys)}` }
  const loads = new Map<string, Load>()
  const loadOf = (name: string, server: Server, route: Route) => {
    const made = loads.get(name) ?? { name, server, route, micros: [], rates: [] }
    loads.set(name, made)
    return made
  }
  const compared: Compared[] = []
  for (const { name, route, beside } of MEASURED) {
    if (only !== undefined && !only.includes(name)) continue
    const ours = [
      loadOf(name, open, route('u#:silent:t')),
      loadOf(`${name}, with a key`, keys, { ...route(`${PERSON}:silent:t#`), headers }),
    ]
    for (const [peer, least] of beside) {
      const theirs = loadOf(peer.name, peers[peer.who], peer.route)
      for (const each of ours) compared.push([each, theirs, least, peer.who === 'sending'])
    }
  }
  // Sessions and alarms that are read later are there then.
  for (const { route } of MEASURED.filter(({ name }) => name === 'message' || name === 'alarm')) {
    await load(open.address, route('u#:silent:t'), WARM_UP)
    await load(keys.address, { ...route(`${PERSON}:silent:t#`), headers }, WARM_UP)
  }
  await load(peers.written.address, EACH.route, WARM_UP)
  for (const { server, route } of loads.values()) await load(server.address, route, WARM_UP)
  const requests = flag('requests', REQUESTS)
  for (let round = flag('rounds', ROUNDS); round > 0; round--)
    for (const each of loads.values()) await run(each, requests)
  print([...loads.values()], compared)
}

function print(loads: readonly Load[], compared: readonly Compared[]): void {
  console.log('CPU µs: lowest, median | requests/s: highest, median')
  for (const { name, micros, rates } of loads) {
    const [cpu, rate] = [spreadOf(micros), spreadOf(rates)]
    const cells = [cpu.least, cpu.median, rate.most, rate.median].map((each) =>
      digits(each).padStart(7),
    )
    console.log(`${name.padEnd(20)} ${cells.join(' ')}`)
  }
  for (const [ours, theirs, least, byRate] of compared) {
    const cpu = spreadOf(theirs.micros).least / spreadOf(ours.micros).least
    const rate = spreadOf(ours.rates).most / spreadOf(theirs.rates).most
    const reached = (byRate ? rate : cpu) >= least ? 'yes' : 'no'
    const ratios = `CPU ${cpu.toFixed(2)}  rate ${rate.toFixed(2)}`
    console.log(
      `${`${ours.name} / ${theirs.name}`.padEnd(36)} ${ratios}  ≥ ${least}${byRate ? ' of the rate' : ''} ${reached}`,
    )
  }
}

await buildContestants()
const postgres = await postgresServer()
try {
  const arena = new Arena(postgres.base)
  const held = (
    contest: Omit<Contest, 'loads' | 'beside'>,
    beside: (server: Server) => Promise<void>,
  ) => arena.hold({ ...contest, loads: [], beside: (address, cpuMs) => beside({ address, cpuMs }) })
  await held({ who: 'written' }, async (written) => {
    await held({ who: 'sending' }, async (sending) => {
      await held({ who: 'wakeful', env: FREELY }, async (open) => {
        await held({ who: 'wakeful', env: { ...FREELY, ...KEYS } }, (keys) =>
          measure(open, keys, { written, sending }),
        )
      })
    })
  })
} finally {
  await postgres.stop()
}
