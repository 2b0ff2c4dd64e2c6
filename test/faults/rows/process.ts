/** Processes that die, freeze or compute without a pause. */
import { until } from '../../setup/until.ts'
import { must, random, Stopwatch } from '../measure.ts'
import { Relay } from '../relay.ts'
import type { Ground } from '../row.ts'
import { keysOf, World } from '../world.ts'

const SEED = 20260101
const BLOCK_MS = 4000
const PLACES = 3
/** Who speak while a process lives, and how often each; it is killed after so many answers. */
const PEOPLE = 4
const MESSAGES = 8
const ANSWERS_MAX = PEOPLE * MESSAGES
/** The share of processes that die as soon as they listen. */
const STILLBORN = 0.2

/** One that dies at a moment of a wake, then another takes its place. Answers with the calls that came, and how many before. */
async function killedAt(ground: Ground, moment: string) {
  const world = await World.on(ground, { url: await ground.database() })
  const victim = await world.victim(moment)
  const alarm = await world.alarm('take this')
  const { signal } = await victim.exited
  must(`it died at ${moment}`, signal === 'SIGKILL')
  world.servers.splice(0)
  const before = world.received.all().length
  const watch = new Stopwatch()
  await world.join()
  await world.settled()
  ground.say(`settled ${watch.text} after the next process was started`)
  await world.check()
  const [row] = await world.ask<{ status: string; attempts: number }>(
    'select status, attempts from wakeful.alarm_wakes where alarm_id = $1',
    [alarm],
  )
  return { before, calls: world.received.all(), row, world }
}

export async function killedBeforeWake(ground: Ground): Promise<void> {
  const { before, calls, row } = await killedAt(ground, 'claimed')
  must('nobody was called before the death', before === 0)
  must('the wake came once', calls.length === 1)
  must('as the second attempt', row?.status === 'taken' && row.attempts === 2)
}

export async function killedAfterWake(ground: Ground): Promise<void> {
  const { before, calls, row } = await killedAt(ground, 'delivered')
  must('the wake had come before the death', before === 1)
  must('it came once more, and no third time', calls.length === 2)
  must('under the same id', new Set(calls.map(({ delivery }) => delivery)).size === 1)
  must('and is recorded once', row?.status === 'taken')
}

export async function killedAfterCommit(ground: Ground): Promise<void> {
  const { calls, world } = await killedAt(ground, 'committed')
  must('what was committed is not done again', calls.length === 1)
  // The same for a caller: the answer is cut, its server killed, and another one asked again.
  const server = world.servers[0]
  if (server === undefined) throw new Error('nobody is there')
  const way = await Relay.before(server.url)
  way.cutAnswer('HTTP/1.1 202')
  const post = (url: string) =>
    fetch(`${url}/v1/sessions/ann:bot:t/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'hello', id: 'again' }),
    })
  const answered = await post(way.url.replace(/\/$/, '')).then(
    () => true,
    () => false,
  )
  must('its answer was cut', !answered && way.cuts === 1)
  await world.end(server)
  const next = await world.join()
  const answer = await post(next.url)
  const { event } = (await answer.json()) as { event: { seq: number } }
  must('asked again it is the same message', answer.status === 200 && event.seq === 1)
  await world.settled()
  await world.check()
}

/** Places of processes under load on one database; each is killed by itself, at random, again and again, some before they have begun. */
export async function killLoop(ground: Ground, rounds: number): Promise<void> {
  const world = await World.on(ground, { url: await ground.database() })
  const watch = new Stopwatch()
  let left = rounds
  let kills = 0
  const another = () => left-- > 0
  const died = () => {
    if (++kills % 100 === 0)
      ground.say(`${kills} kills, ${world.callers.acknowledged} acknowledged, ${watch.text}`)
  }
  const places = Array.from({ length: PLACES }, (_, place) =>
    diesAgain(world, place, another, died),
  )
  const unsaid = await Promise.all(places)
  await Promise.all([world.join(), world.join()])
  const drained = new Stopwatch()
  await Promise.all(unsaid.map(({ said }) => said))
  await world.settled()
  await world.check()
  ground.say(
    `${kills} kills in ${watch.text}: ${world.callers.acknowledged} acknowledged, ${world.callers.retried} asked again; drained in ${drained.text}`,
  )
}

/**
 * One process after the other at one place. Each dies while people speak to it and to the others; what they have not had an answer
 * to they go on asking for. Answers with what is still being said after the last.
 */
async function diesAgain(
  world: World,
  place: number,
  another: () => boolean,
  died: () => void,
): Promise<{ said: Promise<unknown> }> {
  const next = random(SEED + place)
  const keys = keysOf(PEOPLE, `place${place}-`)
  let said: Promise<unknown> = Promise.resolve()
  for (let round = 0; another(); round++) {
    if (next() < STILLBORN) await world.stillborn()
    else {
      const server = await world.join()
      if (round % 4 === 0) await world.timers([`timed${place}-${round}:bot:t`], 200, 5)
      await said
      said = Promise.all(keys.map((key) => sayAll(world, key)))
      // Who asks for it hears of a failure.
      said.catch(() => undefined)
      await Promise.race([said, world.callers.more(1 + Math.floor(next() * ANSWERS_MAX))])
      await world.end(server)
    }
    died()
  }
  return { said }
}

async function sayAll(world: World, key: string): Promise<void> {
  for (let n = 0; n < MESSAGES; n++) await world.callers.say(key, 'nudge')
}

export async function blockedLoop(ground: Ground): Promise<void> {
  const env = { BLOCK_MS: String(BLOCK_MS) }
  const world = await World.on(ground, { url: await ground.database(), env })
  await Promise.all([world.join(), world.join()])
  await world.callers.say('ann:bot:t', 'block')
  const starts = await until('another takes over', () => {
    const all = world.marks.all().filter(({ what }) => what === 'start')
    return all.length > 1 ? all : null
  })
  must('another process took it', starts[0]?.pid !== starts[1]?.pid)
  const first = world.servers.find(({ pid }) => pid === starts[0]?.pid)
  await world.settled()
  let lag = 0
  await until('the first knows that it lost its lease, and was held up', async () => {
    lag = Math.max(lag, await world.metric('wakeful_event_loop_lag_seconds', first))
    return lag > 1 && (await world.metric('wakeful_leases_lost_total', first)) > 0
  })
  await world.check()
  const turns = await world.ask<{ attempt: number }>('select attempt from wakeful.turns')
  must('one turn is recorded', turns.length === 1)
  ground.say(`a loop blocked for ${BLOCK_MS / 1000} s; its metrics say ${lag.toFixed(1)} s`)
}
