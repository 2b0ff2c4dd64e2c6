/** Many at once: processes, due rows, callers, sockets. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { until } from '../../setup/until.ts'
import { must, Stopwatch } from '../measure.ts'
import type { Ground } from '../row.ts'
import { keysOf, World } from '../world.ts'

const HERD_BOUND_MS = 5_000

export async function manyEngines(ground: Ground): Promise<void> {
  const world = await World.on(ground, {
    url: await ground.database(),
    env: { WAKEFUL_LEASE_MS: '30000' },
  })
  await Promise.all(Array.from({ length: 8 }, () => world.join()))
  const watch = new Stopwatch()
  await world.timers(keysOf(2000), 500, 10)
  await until('half of them', async () => (await count(world, 'events')) > 10_000)
  await world.settled()
  ground.say(`20,000 timers by 8 processes in ${watch.text}`)
  must('each became one event', (await count(world, 'events')) === 20_000)
  must('and one turn', (await count(world, 'turns')) === 20_000)
  await world.check()
}

async function count(world: World, table: string): Promise<number> {
  const [row] = await world.ask<{ n: number }>(`select count(*)::int as n from wakeful.${table}`)
  return row?.n ?? 0
}

/** Ten thousand timers at one instant, nine thousand of one person. */
export async function herd(ground: Ground): Promise<void> {
  const world = await World.on(ground, {
    url: await ground.database(),
    env: { WAKEFUL_LEASE_MS: '30000' },
  })
  await world.join()
  const greedy = Array.from({ length: 900 }, (_, n) => `greedy:bot:t${n}`)
  await world.timers(greedy, 600_000, 10)
  await world.timers(keysOf(1000, 'other'), 600_000)
  // All of them at one instant.
  await world.ask(`update wakeful.autonomy_timers set fire_at = now() + interval '1 second'`)
  await until('most are done', async () => (await count(world, 'turns')) > 9_000)
  await world.settled()
  const [late] = await world.ask<{ p99: number; worst: number }>(
    `select percentile_cont(0.99) within group (order by ms)::int as p99, max(ms)::int as worst from (
       select extract(epoch from t.finished_at - e.scheduled_for) * 1000 as ms from wakeful.turns t
       join wakeful.events e on e.session_key = t.session_key and e.seq = t.event_seq where t.session_key like 'other%') late`,
  )
  ground.say(`others were done ${late?.p99} ms late (p99), ${late?.worst} ms at most`)
  must('within five seconds', (late?.p99 ?? Number.POSITIVE_INFINITY) <= HERD_BOUND_MS)
  await world.check()
}

/** The same request twenty times at once, by two processes. */
export async function sameRequest(ground: Ground): Promise<void> {
  const world = await World.on(ground, { url: await ground.database() })
  await Promise.all([world.join(), world.join()])
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => world.callers.once('ann:bot:t', 'hello', 'same')),
  )
  must(
    'all have the same answer',
    answers.every((answer) => answer?.seq === 1),
  )
  must('one of them made it', answers.filter((answer) => answer?.status === 202).length === 1)
  const alarms = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      world.call(
        'POST',
        '/v1/alarms',
        { kind: 'once', delay_seconds: 600, wake_message: 'x', idempotency_key: 'same' },
        world.servers[n % 2],
      ),
    ),
  )
  must('one alarm', new Set(alarms.map(({ body }) => body.id)).size === 1)
  must('made once', alarms.filter(({ status }) => status === 201).length === 1)
  await world.ask(`update wakeful.alarms set status = 'cancelled', due_at = null`)
  await world.settled()
  await world.check()
}

/** A user speaks at the very moment at which a timer is due. */
export async function messageAgainstTimer(ground: Ground, times: number): Promise<void> {
  const world = await World.on(ground, { url: await ground.database() })
  await Promise.all([world.join(), world.join()])
  const keys = keysOf(times)
  const batch = 200
  let spreadMs = 1000
  for (let n = 0; n < keys.length; n += batch) {
    const some = keys.slice(n, n + batch)
    const watch = new Stopwatch()
    await world.timers(some, 0, 1, spreadMs)
    await Promise.all(some.map((key) => world.callers.say(key)))
    // As long as the messages of the batch before took: the two are to meet.
    spreadMs = watch.ms
  }
  await world.settled()
  await world.check()
  const rows = await world.ask<{ status: string; fired: number; first: string }>(
    `select coalesce(t.status, 'promoted') as status,
       (select count(*) from wakeful.events e where e.session_key = s.session_key and e.type = 'timer')::int as fired,
       (select type from wakeful.events e where e.session_key = s.session_key and e.seq = 1) as first
     from wakeful.sessions s left join wakeful.autonomy_timers t on t.session_key = s.session_key`,
  )
  must('every timer has one end', rows.length === keys.length)
  for (const { status, fired, first } of rows)
    must(
      'cancelled means that it never fired, promoted that it fired once, before the message',
      status === 'cancelled' ? fired === 0 : fired === 1 && first === 'timer',
    )
  const won = rows.filter(({ status }) => status === 'promoted').length
  ground.say(
    `of ${rows.length} the timer was first ${won} times, the user ${rows.length - won} times`,
  )
}

/** `wakeful migrate up`, killed in the middle, again and again until it is through. */
export async function migrationKilled(ground: Ground): Promise<void> {
  const url = await ground.database()
  const world = await World.on(ground, { url })
  const [before] = await world.ask<{ n: number }>(
    'select count(*)::int as n from wakeful.migrations',
  )
  await world.ask('drop schema wakeful cascade')
  const bin = fileURLToPath(new URL('../../../dist/cli/bin.js', import.meta.url))
  const migrate = () =>
    spawn(process.execPath, [bin, 'migrate', 'up'], {
      env: { PATH: process.env.PATH ?? '', DATABASE_URL: url },
      stdio: 'ignore',
    })
  const done = async () =>
    world.ask<{ n: number }>('select count(*)::int as n from wakeful.migrations').then(
      ([row]) => row?.n ?? 0,
      (error: pg.DatabaseError) => {
        if (error.code === '42P01') return 0
        throw error
      },
    )
  let kills = 0
  for (const least of [1, 4, 9]) {
    const child = migrate()
    const ended = once(child, 'close')
    await until('it has begun', async () => (await done()) >= least || child.exitCode !== null)
    if (child.kill('SIGKILL')) kills++
    await ended
  }
  const last = migrate()
  const [code] = (await once(last, 'close')) as [number | null]
  must('the last one ends well', code === 0)
  must('all of them are applied', (await done()) === before?.n)
  ground.say(`${kills} kills`)
  await world.join()
  await world.callers.say('ann:bot:t')
  await world.settled()
  await world.check()
}
