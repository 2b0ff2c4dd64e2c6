/** A database that is killed, away, slow, full of waiting, or read-only. */

import { rmSync, writeFileSync } from 'node:fs'
import { Server } from '../../process/server.ts'
import { copyOfTemplate } from '../../setup/postgres.ts'
import type { RunningServer } from '../../setup/server.ts'
import { until } from '../../setup/until.ts'
import { must, random, Stopwatch } from '../measure.ts'
import type { Ground } from '../row.ts'
import { keysOf, World } from '../world.ts'

const SEED = 20260102
const BACK_MS = 15_000

async function ownWorld(ground: Ground): Promise<{ world: World; server: RunningServer }> {
  const server = await ground.server()
  const world = await World.on(ground, { url: await copyOfTemplate(server.base) })
  return { world, server }
}

/** PostgreSQL ends every connection and recovers when one of its processes is killed. */
export async function backendKilled(ground: Ground): Promise<void> {
  const { world } = await ownWorld(ground)
  await world.join()
  world.callers.flood(keysOf(6))
  await world.callers.more(30)
  const victim = await until('a connection of a server has written', async () => {
    const [found] = await world.ask<{ pid: number }>(
      `select pid from pg_stat_activity where application_name = 'wakeful' and query ilike '%insert%' limit 1`,
    )
    return found
  })
  process.kill(victim.pid, 'SIGKILL')
  const watch = new Stopwatch()
  await world.callers.more(10)
  ground.say(`ten more answers ${watch.text} after the kill`)
  must('work went on soon', watch.ms < BACK_MS)
  await world.callers.stop()
  await world.settled()
  await world.check()
}

/** `pg_ctl stop -m immediate`, and a start, while everybody is at work. */
export async function restarts(ground: Ground, rounds: number): Promise<void> {
  const { world, server } = await ownWorld(ground)
  const next = random(SEED)
  await Promise.all([world.join(), world.join()])
  const watch = new Stopwatch()
  world.callers.flood(keysOf(6), 'nudge')
  for (let round = 0; round < rounds; round++) {
    await world.callers.more(1 + Math.floor(next() * 40))
    await server.crash('SIGQUIT')
    await server.start()
    if (round % 20 === 19)
      ground.say(`${round + 1} restarts, ${world.callers.acknowledged} acknowledged, ${watch.text}`)
  }
  await world.callers.more(5)
  await world.callers.stop()
  await world.settled()
  await world.check()
  for (const each of world.servers)
    must('both processes live', (await fetch(`${each.url}/readyz`)).ok)
  ground.say(
    `${rounds} restarts in ${watch.text}: ${world.callers.acknowledged} acknowledged, ${world.callers.retried} asked again`,
  )
}

export async function awayAtBoot(ground: Ground): Promise<void> {
  const { world, server } = await ownWorld(ground)
  await server.crash('SIGQUIT')
  const early = new Server(world.env)
  const url = await early.address
  const health = await fetch(`${url}/healthz`)
  must('health says 503 meanwhile', health.status === 503)
  must('and so does a request', (await fetch(`${url}/v1/alarms`)).status === 503)
  await server.start()
  await early.ready(url)
  world.servers.push(Object.assign(early, { url }))
  await world.callers.say('ann:bot:t')
  await world.settled()
  await world.check()
}

/** Many turns of a dead process are taken up again; the database goes in the middle of that. */
export async function awayDuringRecovery(ground: Ground): Promise<void> {
  const { world, server } = await ownWorld(ground)
  const keys = keysOf(120)
  writeFileSync(world.hold, '')
  const first = await world.join()
  await Promise.all(keys.map((key) => world.callers.say(key, 'hold')))
  await until('all are under way', () => world.marks.all().length >= keys.length)
  await world.end(first)
  rmSync(world.hold)
  await world.join()
  await until('the first are taken up again', () => world.marks.all().length > keys.length)
  await server.crash('SIGQUIT')
  await server.start()
  const watch = new Stopwatch()
  await world.settled()
  ground.say(
    `${keys.length} turns of a dead process done ${watch.text} after the database was back`,
  )
  await world.check()
}

export async function readOnly(ground: Ground): Promise<void> {
  const url = await ground.database()
  const world = await World.on(ground, { url })
  const name = url.slice(url.lastIndexOf('/') + 1)
  await world.join()
  await world.callers.say('ann:bot:t')
  const turn = async (to: 'on' | 'off') => {
    await world.ask(`alter database ${name} set default_transaction_read_only = ${to}`)
    await world.ask(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name = 'wakeful'`,
      [name],
    )
  }
  await turn('on')
  const refused = await until('a write is refused', async () => {
    const got = await world.callers.once('ann:bot:t', 'now?', 'read-only')
    return got !== null && got.status >= 400 ? got : null
  })
  must('with 503', refused.status === 503)
  must('reads work', (await world.call('GET', '/v1/sessions/ann:bot:t')).status === 200)
  const before = await world.metric('wakeful_trouble_total')
  for (let n = 0; n < 40; n++) await world.callers.once('ann:bot:t', 'now?', 'read-only')
  const trouble = (await world.metric('wakeful_trouble_total')) - before
  ground.say(`${trouble} errors of services while 40 writes were refused`)
  must('no service runs hot', trouble < 400)
  await turn('off')
  await world.callers.say('ann:bot:t', 'now?', 'read-only')
  await world.settled()
  await world.check()
}

/** Every connection for requests waits for a lock; the services have their own. */
export async function poolExhausted(ground: Ground): Promise<void> {
  const world = await World.on(ground, { url: await ground.database() })
  await world.join()
  await world.callers.say('ann:bot:t')
  await world.settled()
  const held = await holdRow(world, 'ann:bot:t')
  const server = world.servers[0]
  const waiting = Array.from({ length: 30 }, (_, n) =>
    fetch(`${server?.url}/v1/sessions/ann:bot:t/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': `k${n}` },
      body: JSON.stringify({ text: 'hello' }),
    }).then(async (answer) => {
      await answer.text()
      return answer.status
    }),
  )
  await until('all connections for requests are busy', async () => {
    const [row] = await world.ask<{ waiting: number }>(
      `select count(*)::int as waiting from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    )
    return (row?.waiting ?? 0) >= 8
  })
  await world.timers(['bob:bot:t'], 0)
  await until('a timer fires all the same', () =>
    world.marks.all().some(({ key }) => key === 'bob:bot:t'),
  )
  const watch = new Stopwatch()
  const { status } = await world.call('GET', '/v1/alarms')
  ground.say(`another request was answered with ${status} after ${watch.text}`)
  must('within its bound', watch.ms < BACK_MS)
  await held()
  const answers = await Promise.all(waiting)
  must(
    'those that waited were taken or told to come later',
    answers.every((each) => each === 202 || each === 503),
  )
  await world.settled()
  await world.check()
}

async function holdRow(world: World, key: string): Promise<() => Promise<void>> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: world.database })
  await client.connect()
  await client.query('begin')
  await client.query('select 1 from wakeful.sessions where session_key = $1 for update', [key])
  return async () => {
    await client.query('rollback')
    await client.end()
  }
}
