/** Receivers and readers that misbehave, and ways to them that break. */
import { until } from '../../setup/until.ts'
import { must, Stopwatch } from '../measure.ts'
import { listenTo, type Reader } from '../reader.ts'
import { Relay } from '../relay.ts'
import type { Ground } from '../row.ts'
import { keysOf, World } from '../world.ts'

/** Every kind of bad receiver at once, and good ones beside them. */
export async function badReceivers(ground: Ground): Promise<void> {
  const world = await World.on(ground, { url: await ground.database() })
  await world.join()
  const bad = ['hang', 'drip', 'flood', 'redirect', 'reset', 'gone', 'later']
  for (const way of bad)
    for (let n = 0; n < 5; n++) await world.alarm(`${way} ${n}`, { max_failures: 2 })
  const good: string[] = []
  const watch = new Stopwatch()
  for (let n = 0; n < 20; n++) good.push(await world.alarm(`good ${n}`))
  await until('the good ones have come', () => {
    const came = new Set(world.received.all().map(({ alarm }) => alarm))
    return good.every((id) => came.has(id))
  })
  ground.say(`20 good wakes beside 35 bad ones, all called within ${watch.text}`)
  const taken = world.received.all().filter(({ alarm }) => good.includes(alarm))
  must('each came once', taken.length === 20)
  await until('they are recorded', async () => {
    const rows = await world.ask(`select 1 from wakeful.alarm_wakes where status = 'taken'`)
    return rows.length === 20
  })
  const [row] = await world.ask<{ n: number }>(
    `select count(*)::int as n from wakeful.alarms where status = 'fired' and wake_message not like 'good%'`,
  )
  must('none of the bad ones counts as taken', row?.n === 0)
  must('the server lives', (await fetch(`${world.servers[0]?.url}/readyz`)).ok)
  await world.ask(
    `update wakeful.alarms set status = 'cancelled', due_at = null, claim_token = null where status = 'active'`,
  )
  await world.check()
}

/** The way to a client dies after the message came and before its word that it came. */
export async function ackLost(ground: Ground): Promise<void> {
  const world = await World.on(ground, { url: await ground.database() })
  const server = await world.join()
  const way = await Relay.before(server.url)
  const url = way.url.replace(/\/$/, '')
  const first = await listenTo(world, url, 'ann:bot:t', { name: 'ann' })
  way.set({ drop: 'to server' })
  for (let n = 0; n < 5; n++) await world.callers.say('ann:bot:t')
  await first.hears(5)
  way.reset()
  way.set({})
  const again = await listenTo(world, url, 'ann:bot:t', { name: 'ann' })
  await again.hears(5)
  must('the same messages, in the same order', String(again.ids) === String(first.ids))
  await until('they are completed', async () => {
    const rows = await world.ask(`select 1 from wakeful.effects where status = 'completed'`)
    return rows.length === 5
  })
  const third = await listenTo(world, server.url, 'ann:bot:t', { name: 'ann' })
  await world.callers.say('ann:bot:t', 'last')
  await third.hears(1)
  must('what was acknowledged does not come again', third.ids.length === 1)
  await world.settled()
  await world.check()
}

/** All clients drop at once, messages are said meanwhile, and all come back at once. */
export async function reconnectStorm(ground: Ground, clients: number): Promise<void> {
  const world = await World.on(ground, { url: await ground.database() })
  const server = await world.join()
  const keys = keysOf(clients)
  const everybody = async () => {
    const readers: Reader[] = []
    // A hundred at a time: connections are taken by one process, on a machine that does all else too.
    for (let n = 0; n < keys.length; n += 100)
      readers.push(
        ...(await Promise.all(
          keys.slice(n, n + 100).map((key) => listenTo(world, server.url, key, { name: key })),
        )),
      )
    return readers
  }
  const before = await everybody()
  await Promise.all(keys.map((key) => world.callers.say(key, 'before')))
  await Promise.all(before.map((reader) => reader.hears(1)))
  for (const { socket } of before) socket.terminate()
  await Promise.all(keys.map((key) => world.callers.say(key, 'meanwhile')))
  const memory = await world.metric('process_resident_memory_bytes')
  const watch = new Stopwatch()
  const after = await everybody()
  await Promise.all(after.map((reader) => reader.hears(1)))
  const grown = (await world.metric('process_resident_memory_bytes')) - memory
  ground.say(
    `${clients} clients were back with what they had missed after ${watch.text}; memory grew by ${Math.round(grown / 2 ** 20)} MiB`,
  )
  await world.settled()
  await world.check()
  const missed = after.filter(({ ids }) => new Set(ids).size > 2)
  must('nobody gets what is not theirs', missed.length === 0)
  must('memory is bounded', grown < 512 * 2 ** 20)
}
