/** Clocks of the machine that are wrong, or jump. What is due is a question of the database's clock alone. */
import { until } from '../../setup/until.ts'
import { must } from '../measure.ts'
import type { Ground } from '../row.ts'
import { keysOf, SKEW, World } from '../world.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

/** Nothing was promoted before its instant, and nothing twice. */
async function onTime(world: World, slots: number): Promise<void> {
  const rows = await world.ask<{ early: boolean }>(
    `select created_at < scheduled_for as early from wakeful.events where scheduled_for is not null`,
  )
  must(`${slots} slots became events`, rows.length === slots)
  must(
    'none of them early',
    rows.every(({ early }) => !early),
  )
}

/** The machine's clock jumps while the server runs. */
export async function jump(ground: Ground, ms: number): Promise<void> {
  const world = await World.on(ground, { url: await ground.database() })
  const server = await world.join({ NODE_OPTIONS: SKEW, SKEW_MS: String(ms), SKEW_ON_SIGNAL: '1' })
  const later = await world.alarm('not before half an hour has passed', { delay_seconds: 1800 })
  await world.timers(['early:bot:t'], 300)
  await until('one fires before the jump', () => world.marks.all().length > 0)
  server.signal('SIGUSR2')
  await world.alarm('due after the jump')
  await world.timers(['late:bot:t'], 300, 3)
  await until(
    'what is due fires',
    () => world.received.all().length > 0 && world.marks.all().length >= 8,
  )
  const { body } = await world.call('GET', `/v1/alarms/${later}`)
  must('what is not due waits', body.status === 'active')
  must('each came once', world.received.all().length === 1)
  await world.call('DELETE', `/v1/alarms/${later}`)
  await world.settled()
  await onTime(world, 4)
  await world.check()
}

export const jumpAhead = (ground: Ground) => jump(ground, HOUR_MS)
export const jumpBack = (ground: Ground) => jump(ground, -HOUR_MS)

/** Two processes that disagree by ten minutes. */
export async function skewed(ground: Ground): Promise<void> {
  const world = await World.on(ground, { url: await ground.database() })
  const ahead = { NODE_OPTIONS: SKEW, SKEW_MS: String(5 * MINUTE_MS) }
  const behind = { NODE_OPTIONS: SKEW, SKEW_MS: String(-5 * MINUTE_MS) }
  await Promise.all([world.join(ahead), world.join(behind)])
  await world.timers(keysOf(50), 1500, 4)
  for (let n = 0; n < 20; n++) await world.alarm(`wake ${n}`, { delay_seconds: 2 })
  await world.settled()
  await onTime(world, 200)
  must('each wake came once', world.received.all().length === 20)
  await world.check()
}
