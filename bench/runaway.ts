/**
 * An agent that runs wild beside one that does not: three processes on one PostgreSQL, timers of the calm one at a steady rate, and in the
 * middle a message to the other, each of whose fires sets two more, within the limits as they are unless set; then the switch. How late the
 * calm one's turns begin before, meanwhile and after, and how long after the switch a turn of the other still began.
 * `node --import tsx bench/runaway.ts [--seconds 30] [--rate 20]`
 */
import { ensureMigrated } from '../src/store/migrate.ts'
import { openStore } from '../src/store/open.ts'
import { lateness, Processes, pauseUntil, setTimers, tell } from './processes.ts'
import { flag, postgres, report, until } from './stage.ts'

const PROCESSES = 3
const PEOPLE = Array.from({ length: 200 }, (_, n) => `person-${n}`)
const LEAD_MS = 3_000
const AGENTS = `
  calm: () => undefined,
  wild: (turn) => {
    for (const half of ['a', 'b'])
      turn.schedule(turn.event.id + half, { in: 1, thread: 'fresh' })
  },`

const partMs = flag('seconds', 30) * 1_000
const rate = flag('rate', 20)
const count = Math.round((3 * partMs * rate) / 1_000)

async function post(url: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`)
}

const database = await postgres()
const processes = new Processes(AGENTS)
try {
  const store = await openStore(database.url, { now: () => null, onError: () => undefined })
  await ensureMigrated(store.migrations, 'auto')
  const addresses: string[] = []
  for (let n = 0; n < PROCESSES; n++)
    addresses.push(await processes.start({ DATABASE_URL: database.url }))
  const [first] = addresses
  const fromMs = Date.now() + LEAD_MS
  await setTimers(store.db, { agent: 'calm', people: PEOPLE, fromMs, rate, count })
  await pauseUntil(fromMs + partMs)
  await post(`${first}/v1/sessions/ann:wild:t/messages`, { text: 'go' })
  await pauseUntil(fromMs + 2 * partMs)
  await post(`${first}/v1/stops`, { level: 'agent', target: 'wild', reason: 'it runs wild' })
  const stoppedMs = Date.now()
  await pauseUntil(fromMs + 3 * partMs)
  const calm = `session_key like '%:calm:%' and status = 'committed'`
  const counted = async (where: string) => {
    const [row] = await store.db.query<{ n: number }>(
      `select count(*)::int as n from wakeful.turns where ${where}`,
    )
    return row?.n ?? 0
  }
  await until(async () => (await counted(calm)) >= count, 120_000)
  const late = await lateness(store.db)
  for (const [part, name] of ['before', 'meanwhile', 'after'].entries())
    tell(`calm, ${name}`, late, fromMs + part * partMs, fromMs + (part + 1) * partMs)
  const [last] = await store.db.query<{ at: Date }>(
    `select max(started_at) as at from wakeful.turns where session_key like '%:wild:%'`,
  )
  report('wild', {
    turns: await counted(`session_key like '%:wild:%'`),
    refused: await counted(`session_key like '%:wild:%' and cause = 'over_budget'`),
    'last began ms after the switch': Math.max(0, (last?.at.getTime() ?? 0) - stoppedMs),
  })
  await store.close()
} finally {
  processes.end()
  await database.stop()
}
