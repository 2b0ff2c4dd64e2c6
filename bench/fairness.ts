/**
 * One party hangs or floods: how long the other one waits. A slow agent, a person with many slow conversations, a channel that
 * never answers, and a person whose push address never answers. Prints p50 and p99 of the other party's first answer.
 * `node --import tsx bench/fairness.ts [--seconds 10] [--flood 1000] [--pushes]`, the last for channels alone.
 */

import { makeLink } from '../packages/channels/hub/src/link-rows.ts'
import { agent } from '../src/agents/function.ts'
import type { App } from '../src/app/app.ts'
import { newId } from '../src/core/ids.ts'
import { parseSessionKey, type SessionRef } from '../src/core/session.ts'
import type { Push, PushChannel, PushOutcome } from '../src/kernel/channel.ts'
import { flag, openBenchApp, percentile, postgres, report, until } from './stage.ts'

const SLOW_MS = 60_000
const HANG_MS = 20_000
const PROBE_MS = 100
const PATIENCE_MS = 90_000

const seconds = flag('seconds', 10)
const flood = flag('flood', 1_000)

const ref = (key: string) => parseSessionKey(key) as SessionRef

/** Aborted with the process's end: nothing else waits for it. */
const after = (ms: number, signal: AbortSignal) =>
  new Promise<void>((done) => {
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      done()
    })
  })

const entered = { slow: 0, hanging: 0 }

const slow = agent(
  async (turn) => {
    entered.slow++
    await after(SLOW_MS, turn.signal)
  },
  { timeoutMs: 2 * SLOW_MS },
)
/** Serves both kinds: a conversation whose thread says so takes a minute. */
const mixed = agent(
  async (turn) => {
    if (!turn.session.threadId.startsWith('slow')) return turn.say('here')
    entered.slow++
    await after(SLOW_MS, turn.signal)
  },
  { timeoutMs: 2 * SLOW_MS },
)
const quick = agent((turn) => turn.say('here'))

class Bench implements PushChannel {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
  async send({ address }: Push, signal: AbortSignal): Promise<PushOutcome> {
    if (address.startsWith('ok')) return { type: 'sent' }
    entered.hanging++
    await after(HANG_MS, signal)
    return { type: 'later', waitMs: 60_000, error: 'no answer', partsSent: 0 }
  }
}

const say = (app: App, key: string) =>
  app.append({
    session: ref(key),
    id: newId(),
    type: 'user_message',
    payload: JSON.stringify({ text: 'hi' }),
    clientId: null,
  })

const link = (app: App, key: string, channel: string, address: string) =>
  app.store.commits.tx((tx) =>
    makeLink(tx, { session: ref(key), channel, address, person: false, heard: false }),
  )

/** One message after the other, each of another person; waits for all of their answers, by the database's instants. */
async function probe(app: App, name: string, to: string, answered: string): Promise<void> {
  const count = (seconds * 1_000) / PROBE_MS
  for (let n = 0; n < count; n++) {
    await say(app, `q${n}:${to}`)
    await new Promise((done) => setTimeout(done, PROBE_MS))
  }
  const waits: number[] = []
  await until(async () => {
    const rows = await app.store.db.query<{ ms: number }>(
      `select extract(epoch from f.${answered} - e.created_at)::float8 * 1000 as ms
       from wakeful.effects f join wakeful.events e on e.bucket = f.bucket and e.session_key = f.session_key and e.seq = f.event_seq
       where f.session_key like 'q%' and f.${answered} is not null order by 1`,
    )
    waits.splice(0, waits.length, ...rows.map(({ ms }) => ms))
    return waits.length >= count
  }, PATIENCE_MS)
  const [p50, p99, max] = [0.5, 0.99, 1].map((share) => percentile(waits, share))
  report(name, { n: waits.length, p50: p50 ?? 0, p99: p99 ?? 0, max: max ?? 0 })
}

async function withApp(work: (app: App) => Promise<void>): Promise<void> {
  const { url, stop } = await postgres()
  Object.assign(entered, { slow: 0, hanging: 0 })
  const channels = [new Bench('paper'), new Bench('bell')]
  const app = await openBenchApp(url, { slow, mixed, quick }, {}, channels)
  try {
    await app.start()
    await work(app)
  } finally {
    await app.stop()
    await stop()
  }
}

if (!process.argv.includes('--pushes'))
  await withApp(async (app) => {
    await Promise.all(Array.from({ length: flood }, (_, n) => say(app, `p${n}:slow:t`)))
    await until(async () => entered.slow >= Math.min(flood, 700), 30_000)
    await probe(app, 'another agent', 'quick:t', 'created_at')
  })

if (!process.argv.includes('--pushes'))
  await withApp(async (app) => {
    await Promise.all(Array.from({ length: flood }, (_, n) => say(app, `ann:mixed:slow${n}`)))
    await until(async () => entered.slow >= Math.min(flood, 300), 30_000)
    await probe(app, 'another person', 'mixed:t', 'created_at')
  })

async function pushProbe(app: App, name: string, channel: string): Promise<void> {
  for (let n = 0; n < (seconds * 1_000) / PROBE_MS; n++)
    await link(app, `q${n}:quick:t`, channel, `ok${n}`)
  await probe(app, name, 'quick:t', 'delivered_at')
}

await withApp(async (app) => {
  const keys = Array.from({ length: 200 }, (_, n) => `p${n}:quick:t`)
  for (const [n, key] of keys.entries()) await link(app, key, 'paper', `hangs${n}`)
  await Promise.all(keys.map((key) => say(app, key)))
  await until(async () => entered.hanging >= 30, 30_000)
  await pushProbe(app, 'another channel', 'bell')
})

await withApp(async (app) => {
  // As many links as a person may have, with eight messages for each.
  const keys = Array.from({ length: 20 }, (_, n) => `ann:quick:t${n}`)
  for (const [n, key] of keys.entries()) await link(app, key, 'paper', `hangs${n}`)
  for (let n = 0; n < 8; n++) await Promise.all(keys.map((key) => say(app, key)))
  await until(async () => entered.hanging >= 15, 30_000)
  await pushProbe(app, 'same channel', 'paper')
})
process.exit(0)
