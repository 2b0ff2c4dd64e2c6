/** Two versions of Wakeful on one database. */
import { cpSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureBuilt, Server } from '../../process/server.ts'
import { must } from '../measure.ts'
import type { Ground } from '../row.ts'
import { keysOf, World } from '../world.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** What the next version brings: more of what is read and written while it comes. */
const NEXT = {
  up: `create table wakeful.upgrades (id int primary key);
    create index upgrades_events_idx on wakeful.events (type);
    ${['events', 'sessions', 'effects', 'autonomy_timers', 'alarms']
      .map((table) => `alter table wakeful.${table} add column upgraded text default 'yes';`)
      .join('\n')}`,
  down: '',
}

/** This build, with one migration more. */
function nextVersion(folder: string): string {
  ensureBuilt()
  cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true })
  cpSync(join(ROOT, 'migrations'), join(folder, 'migrations'), { recursive: true })
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  for (const name of ['node_modules', 'docs', 'templates'])
    symlinkSync(join(ROOT, name), join(folder, name))
  const last = readdirSync(join(folder, 'migrations'))
    .filter((file) => file.endsWith('.up.sql'))
    .reduce((most, file) => Math.max(most, Number.parseInt(file, 10)), 0)
  const next = String(last + 1).padStart(4, '0')
  const name = join(folder, 'migrations', `${next}_next`)
  writeFileSync(`${name}.up.sql`, NEXT.up)
  writeFileSync(`${name}.down.sql`, NEXT.down)
  return join(folder, 'dist/cli/bin.js')
}

/** The old one works on while the new one migrates under it, both serve, and an old one that comes later is sent away. */
export async function rollingUpgrade(ground: Ground): Promise<void> {
  const folder = ground.folder()
  const bin = nextVersion(folder)
  const world = await World.on(ground, { url: await ground.database() })
  const old = [await world.join(), await world.join()]
  world.callers.flood(keysOf(6), 'nudge')
  await world.timers(keysOf(20, 'timed'), 0, 20, 8_000)
  await world.callers.more(50)
  const before = world.callers.acknowledged
  await world.join({}, { bin, folder })
  const [row] = await world.ask<{ n: number }>('select count(*)::int as n from wakeful.upgrades')
  must('the new one has migrated', row?.n === 0)
  await world.callers.more(100)
  for (const server of old.splice(0, 1)) await world.end(server, 'SIGTERM')
  await world.callers.more(100)
  const late = new Server(world.env)
  const { code } = await late.exited
  must('an old one that starts now is refused', code !== 0)
  must(
    'with a clear line',
    /was migrated by a newer version of Wakeful/.test(late.stderr + late.stdout),
  )
  for (const server of old) await world.end(server, 'SIGTERM')
  await world.callers.more(50)
  await world.callers.stop()
  await world.settled()
  await world.check()
  ground.say(
    `${before} acknowledged before the new version came, ${world.callers.acknowledged} in all, ${world.callers.retried} asked again`,
  )
}
