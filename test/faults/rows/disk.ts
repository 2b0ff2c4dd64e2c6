/** Disks that are full: a small tmpfs, filled by a file of ours. Takes root; without it these rows say so and fail. */
import { spawnSync } from 'node:child_process'
import { chmodSync, closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { Server } from '../../process/server.ts'
import { afterEachTest } from '../../setup/ends.ts'
import { copyOfTemplate } from '../../setup/postgres.ts'
import { until } from '../../setup/until.ts'
import { check } from '../check.ts'
import { must } from '../measure.ts'
import type { Ground } from '../row.ts'
import { keysOf, World } from '../world.ts'

const mounted: string[] = []
afterEachTest(() => {
  for (const path of mounted.splice(0)) spawnSync('umount', ['-l', path])
})

/** A file system of so many MiB in this folder. */
function smallDisk(folder: string, mebibytes: number): string {
  const { status, stderr } = spawnSync('mount', [
    '-t',
    'tmpfs',
    '-o',
    `size=${mebibytes}m`,
    'tmpfs',
    folder,
  ])
  if (status !== 0) throw new Error(`a small disk takes root and mount: ${stderr}`)
  mounted.push(folder)
  chmodSync(folder, 0o777)
  return folder
}

/** Takes all that is left. Answers with how to free it again. */
function fill(folder: string): () => void {
  const path = join(folder, 'ballast')
  const file = openSync(path, 'w')
  for (const size of [1024 * 1024, 4096])
    try {
      for (;;) writeSync(file, Buffer.alloc(size))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  closeSync(file)
  return () => rmSync(path)
}

const SMALL = [
  'shared_buffers=16MB',
  'max_wal_size=64MB',
  'min_wal_size=32MB',
  'fsync=off',
  'max_connections=100',
]

export async function diskFull(ground: Ground): Promise<void> {
  const disk = smallDisk(ground.folder(), 400)
  const server = await ground.server(SMALL, join(disk, 'data'))
  const world = await World.on(ground, { url: await copyOfTemplate(server.base) })
  await world.join()
  const keys = keysOf(4)
  await Promise.all(keys.map((key) => world.callers.say(key)))
  const free = fill(disk)
  // Messages of 30 KB until one is refused: the log has 16 MiB before it needs the disk.
  const big = 'x'.repeat(30_000)
  let n = 0
  const refused = await until('a write is refused', async () => {
    const answers = await Promise.all(
      keys.map(async (key) => {
        const id = `big${++n}`
        const got = await world.callers.once(key, big, id)
        if (got?.status === 202) world.acknowledged.saw({ id, key, seq: got.seq })
        return got
      }),
    )
    return answers.find((got) => got !== null && got.status >= 400)
  })
  ground.say(`after ${n} large messages a write was answered with ${refused.status}`)
  must('it says 503', refused.status === 503)
  free()
  await until('the database is back', async () => {
    // A log that cannot be written ends PostgreSQL; whoever runs it starts it again.
    const alive = await world.ask('select 1').catch(() => null)
    if (alive === null) await server.start().catch(() => undefined)
    return alive
  })
  await world.callers.say('ann:bot:t')
  await world.settled()
  await world.check()
}

export async function diskFullEmbedded(ground: Ground): Promise<void> {
  const disk = smallDisk(ground.folder(), 300)
  const dir = join(disk, 'data')
  const world = await World.on(ground, {
    url: 'postgres://nobody@127.0.0.1:1/none',
    by: `pglite:${dir}`,
  })
  const server = await world.join()
  await world.callers.say('ann:bot:t')
  const free = fill(disk)
  const big = 'x'.repeat(30_000)
  let n = 0
  const refused = await until('a write is refused, or the process ends', async () => {
    const id = `big${++n}`
    const got = await world.callers.once('ann:bot:t', big, id)
    if (got?.status === 202) world.acknowledged.saw({ id, key: 'ann:bot:t', seq: got.seq })
    return got === null || got.status >= 500 ? { status: got?.status ?? 0 } : null
  })
  const text = `after ${n} large messages the answer was ${refused.status === 0 ? 'none' : refused.status}`
  ground.say(`${text}; ${server.stderr.split('\n').length - 1} lines of log`)
  must(
    'the answer is 503, or the process has said why it ends',
    refused.status === 503 || server.stderr !== '',
  )
  await world.end(server)
  free()
  const again = await world.join()
  await world.callers.say('ann:bot:t', 'and now?')
  must('it ends in order', (await again.end('SIGTERM')).code === 0)
  await checkDirectory(dir, world)
}

/** The checker on a directory that nobody has open. */
export async function checkDirectory(dir: string, world: World): Promise<void> {
  const lite = await PGlite.create({ dataDir: dir })
  const ask = async <R extends object>(sql: string, values: readonly unknown[] = []) =>
    (await lite.query<R>(sql, [...values])).rows
  const complaints = await check(ask, {
    acknowledged: world.acknowledged.all(),
    marks: world.marks.all(),
  })
  await lite.close()
  if (complaints.length > 0) throw new Error(complaints.slice(0, 20).join('\n'))
}

/** The newest part of the embedded store's log is torn off. */
export async function tornLog(ground: Ground): Promise<void> {
  const { readdirSync, statSync, truncateSync } = await import('node:fs')
  const dir = join(ground.folder(), 'data')
  const world = await World.on(ground, {
    url: 'postgres://nobody@127.0.0.1:1/none',
    by: `pglite:${dir}`,
  })
  const first = await world.join()
  await world.callers.say('old:bot:t')
  // Ended in order, so that this much is in the tables and not in the log alone.
  must('it ends in order', (await first.end('SIGTERM')).code === 0)
  world.servers.splice(0)
  const second = await world.join()
  for (let n = 0; n < 20; n++) await world.callers.say('new:bot:t')
  await world.end(second)
  const log = join(dir, 'pg_wal')
  const newest = readdirSync(log)
    .filter((name) => /^[0-9A-F]{24}$/.test(name))
    .sort()
    .map((name) => join(log, name))
  for (const file of newest.slice(-1)) truncateSync(file, Math.floor(statSync(file).size / 2))
  const third = new Server(world.env)
  const address = await third.address.catch(() => null)
  if (address === null) {
    ground.say(`it refuses: ${third.stderr.trim().split('\n').at(-1)}`)
    must('with a reason', third.stderr !== '')
    return
  }
  await third.ready(address)
  const answer = await fetch(`${address}/v1/sessions/old:bot:t`)
  must('it recovers what was in the tables', answer.status === 200)
  ground.say('it recovers up to the tear')
}
