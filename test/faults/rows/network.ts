/** The way between a server and its database: cut, half-open, slow. */
import { until } from '../../setup/until.ts'
import { must, Stopwatch } from '../measure.ts'
import { listenTo } from '../reader.ts'
import { Relay } from '../relay.ts'
import type { Ground } from '../row.ts'
import { keysOf, World } from '../world.ts'

const DETECT_MS = 15_000

async function behindRelay(ground: Ground): Promise<{ world: World; way: Relay }> {
  const url = await ground.database()
  const way = await Relay.before(url)
  return { way, world: await World.on(ground, { url, by: way.url }) }
}

/** Ten times a commit's answer does not arrive; whoever asked asks again. */
export async function commitAnswerCut(ground: Ground): Promise<void> {
  const { world, way } = await behindRelay(ground)
  await world.join()
  const keys = keysOf(5)
  await Promise.all(keys.map((key) => world.callers.say(key)))
  for (let n = 0; n < 10; n++) {
    way.cutAnswer('COMMIT\0')
    await Promise.all(keys.map((key) => world.callers.say(key, 'slow')))
  }
  await world.settled()
  await world.check()
  const [row] = await world.ask<{ events: number }>(
    'select count(*)::int as events from wakeful.events',
  )
  must('no message is there twice', row?.events === 55)
  must('answers were cut', way.cuts > 0)
  ground.say(`${way.cuts} commits without an answer, ${world.callers.retried} asked again`)
}

export async function halfOpen(ground: Ground): Promise<void> {
  const { world, way } = await behindRelay(ground)
  await world.join()
  await Promise.all(keysOf(4).map((key) => world.callers.say(key)))
  way.set({ drop: 'both' }, 'there')
  const watch = new Stopwatch()
  await world.callers.say('ann:bot:t')
  ground.say(`a message was taken ${watch.text} after all connections had gone silent`)
  must('noticed in time', watch.ms <= DETECT_MS)
  await world.settled()
  await world.check()
}

/** Only the connection that listens goes silent, of the process that holds the socket. */
export async function halfOpenListen(ground: Ground): Promise<void> {
  const { world, way } = await behindRelay(ground)
  const near = await world.join()
  await until('it listens', () => way.passing('listen wakeful') === 1)
  const reader = await listenTo(world, near.url, 'ann:bot:t')
  must('found', way.setWhere('listen wakeful', { drop: 'both' }) === 1)
  const silent = new Stopwatch()
  // The other writes past the relay: its hints go out, and the near one does not hear them.
  const far = await world.join({ WAKEFUL_SERVICES: 'http,turns', DATABASE_URL: world.direct })
  world.servers.splice(world.servers.indexOf(near), 1)
  const watch = new Stopwatch()
  await world.callers.say('ann:bot:t')
  await reader.hears(1)
  ground.say(`without hints a message came after ${watch.text}`)
  must('by the poll', watch.ms < 5_000)
  await until('it listens again', () => way.passing('listen wakeful') === 1)
  ground.say(`it listened again ${silent.text} after the silence began`)
  must('soon', silent.ms <= DETECT_MS)
  must('the other lives', (await fetch(`${far.url}/readyz`)).ok)
  await world.settled()
  await world.check()
}

export async function slowDatabase(ground: Ground): Promise<void> {
  const { world, way } = await behindRelay(ground)
  await world.join()
  await world.callers.say('ann:bot:t')
  for (const weather of [{ delayMs: 500 }, { bytesPerSecond: 1024 }]) {
    way.set(weather)
    const watch = new Stopwatch()
    const asked = keysOf(60).map((key, n) => world.callers.once(key, 'hello', `s${n}`))
    const answers = await Promise.all(asked)
    const taken = answers.filter((answer) => answer?.status === 202 || answer?.status === 200)
    const later = answers.filter((answer) => answer?.status === 503)
    ground.say(
      `${JSON.stringify(weather)}: of 60 at once ${taken.length} were taken, ${later.length} told to come later, in ${watch.text}`,
    )
    must('each was answered', taken.length + later.length === 60)
    way.set({})
    way.reset()
    await Promise.all(keysOf(60).map((key, n) => world.callers.say(key, 'hello', `s${n}`)))
  }
  await world.settled()
  await world.check()
}
