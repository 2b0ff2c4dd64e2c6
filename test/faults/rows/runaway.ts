/** Agents that run wild, in three processes: ended by depth, by the day's fires, and by the switch. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { post } from '../../process/server.ts'
import { until } from '../../setup/until.ts'
import { must, Stopwatch } from '../measure.ts'
import type { Ground } from '../row.ts'
import { World } from '../world.ts'

const APP = fileURLToPath(new URL('../../process/runaway-app.mjs', import.meta.url))
const PROCESSES = 3
const DEPTH = 8
const FIRES = 400
/** A hundredth of the limit for each process, and what fires while it is told. */
const TOLERANCE = 2
const BITES_MS = 1_000

async function worldOf(ground: Ground, env: Record<string, string>): Promise<World> {
  const world = await World.on(ground, {
    url: await ground.database(),
    env: { WAKEFUL_APP: APP, WAKEFUL_LEASE_MS: '30000', ...env },
  })
  await Promise.all(Array.from({ length: PROCESSES }, () => world.join()))
  return world
}

async function begin(world: World, key: string): Promise<void> {
  const answer = await post(world.servers[0]?.url ?? '', key, { text: 'go' })
  must('the message was taken', answer?.status === 202)
}

interface Seen {
  readonly fires: number
  readonly refused: number
  readonly told: number
}

async function seen(world: World): Promise<Seen> {
  const [row] = await world.ask<Seen>(
    `select count(*) filter (where e.type = 'alarm' and t.status = 'committed')::int as fires,
       count(*) filter (where t.cause = 'over_budget')::int as refused,
       (select count(*)::int from wakeful.effects where type = 'send_message') as told
     from wakeful.turns t join wakeful.events e on e.bucket = t.bucket and e.session_key = t.session_key and e.seq = t.event_seq`,
  )
  return row ?? { fires: 0, refused: 0, told: 0 }
}

/** Each fire sets two more: 2, 4, 8 … fires, until those at the last depth are refused. */
export async function byDepth(ground: Ground): Promise<void> {
  const world = await worldOf(ground, { WAKEFUL_DEPTH_MAX: String(DEPTH) })
  await begin(world, 'ann:wild:t')
  await until('the last depth was refused', async () => (await seen(world)).refused === 2 ** DEPTH)
  // The notice is a turn of its own, after the count was told.
  await until('the person was told', async () => (await seen(world)).told > 0)
  await world.settled()
  const { fires, told } = await seen(world)
  ground.say(`depth ${DEPTH}: ${fires} fires, ${2 ** DEPTH} refused, the person told ${told} times`)
  must('all before the last depth fired', fires === 2 ** DEPTH - 2)
  must('the person was told once', told === 1)
  await world.check()
}

export async function byBudget(ground: Ground): Promise<void> {
  const world = await worldOf(ground, { WAKEFUL_FIRES_A_DAY: String(FIRES) })
  await begin(world, 'ann:wild:t')
  await until('something was refused', async () => (await seen(world)).refused > 0)
  await until('the person was told', async () => (await seen(world)).told > 0)
  await world.settled()
  const { fires, refused, told } = await seen(world)
  ground.say(`${FIRES} fires a day: ${fires} fired, ${refused} refused, told ${told} times`)
  must('the limit was reached', fires >= FIRES)
  must('it ended near the limit', fires <= TOLERANCE * FIRES)
  must('the person was told once', told === 1)
  await world.check()
}

interface Mark {
  readonly what: 'start' | 'aborted'
  readonly at: number
}

/** `turns` of them run for ever and one agent runs wild; then everything is stopped. */
export async function bySwitch(ground: Ground, turns: number, timed: boolean): Promise<void> {
  const world = await worldOf(ground, {})
  const marks = () => marksOf(world.marks.file)
  const running = (what: Mark['what']) => marks().filter((mark) => mark.what === what)
  for (let n = 0; n < turns; n++) await begin(world, `user${n}:slow:t`)
  await until('all run', async () => running('start').length === turns)
  await begin(world, 'ann:wild:t')
  await until('it runs wild', async () => (await seen(world)).fires > 100)
  const watch = new Stopwatch()
  const { status, body } = await world.call('POST', '/v1/stops', { level: 'everything' })
  must('the stop was taken', status === 201)
  const answeredMs = watch.ms
  const stopped = Date.parse(String(body.created_at))
  await until('all were aborted', async () => running('aborted').length === turns)
  const last = Math.max(...running('aborted').map(({ at }) => at)) - stopped
  const [late] = await world.ask<{ ms: number }>(
    `select coalesce(max(extract(epoch from t.finished_at - s.created_at)) * 1000, 0)::float8 as ms
     from wakeful.turns t, wakeful.stops s`,
  )
  ground.say(
    `${turns} turns in ${PROCESSES} processes: answered after ${answeredMs} ms, the last was aborted after ${last} ms, the last commit came ${Math.round(late?.ms ?? 0)} ms after it`,
  )
  if (timed) must('it bit within a second', last <= BITES_MS && (late?.ms ?? 0) <= BITES_MS)
  const [left] = await world.ask<{ slow: number }>(
    `select count(*)::int as slow from wakeful.turns where session_key like '%:slow:%'`,
  )
  must('nothing of them was committed', left?.slow === 0)
  await dropped(world, String(body.id), turns)
}

/** What people said waits on and begins again; what ran wild is over. */
async function dropped(world: World, id: string, turns: number): Promise<void> {
  const { body } = await world.call('GET', `/v1/stops/${id}`)
  must('what it holds is listed', (body.held as unknown[]).length > 0)
  const { status } = await world.call('POST', `/v1/stops/${id}/drop`, {})
  must('it was let go', status === 200)
  await until('what was held is over', async () => {
    const [row] = await world.ask<{ waiting: number }>(
      `select count(*)::int as waiting from wakeful.alarms where status = 'active'`,
    )
    return row?.waiting === 0
  })
  await until(
    'what people said is taken up again',
    async () =>
      marksOf(world.marks.file).filter(({ what }) => what === 'start').length === 2 * turns,
  )
}

function marksOf(file: string): Mark[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter((line) => line.endsWith('}')).map((line) => JSON.parse(line) as Mark)
}
