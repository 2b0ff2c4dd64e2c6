/** The embedded store's directory: one process at a time, never half made, never somebody else's. */
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { DirectoryInUseError } from '../../src/store/lock.ts'
import { folder, post, Server } from '../process/server.ts'
import { until } from '../setup/until.ts'
import { bareStore, rawStore } from './stores.ts'

const KEY = 'ann:companion:t'
let parent = ''
let dir = ''
beforeEach(() => {
  parent = folder()
  dir = join(parent, 'data')
})

const serve = () => Server.start({ DATABASE_URL: `pglite:${dir}` })
const events = async () => {
  const { db } = await bareStore(`pglite:${dir}`)
  return db.query<{ client_id: string }>('select client_id from wakeful.events order by seq')
}

it('invariant 9: a second opener in another process is refused with one clear line, and nothing is lost', async () => {
  const first = await serve()
  expect((await post(first.url, KEY, { text: 'hi', id: 'one' }))?.status).toBe(202)
  const second = new Server({ DATABASE_URL: `pglite:${dir}` })
  expect((await second.exited).code).toBe(1)
  expect(second.stdout).toBe('')
  expect(second.stderr.trim().split('\n')).toEqual([
    `wakeful: the data directory ${dir} is in use by another process (pid ${first.pid}): stop it first, or give this one a directory of its own with DATABASE_URL=pglite:<dir>`,
  ])
  // Nor may one in this process, by whatever path.
  await expect(rawStore(`pglite:${dir}`)).rejects.toBeInstanceOf(DirectoryInUseError)
  symlinkSync(dir, join(parent, 'link'))
  await expect(rawStore(`pglite:${parent}/link`)).rejects.toBeInstanceOf(DirectoryInUseError)
  expect((await post(first.url, KEY, { text: 'hi', id: 'two' }))?.status).toBe(202)
  expect(await first.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expect((await events()).map((e) => e.client_id)).toEqual(['one', 'two'])
})

it('invariant 9: the lock of a process killed with -9 is taken over, with all it had acknowledged', async () => {
  const first = await serve()
  for (const id of ['one', 'two', 'three'])
    expect((await post(first.url, KEY, { text: 'hi', id }))?.status).toBe(202)
  expect((await first.end('SIGKILL')).signal).toBe('SIGKILL')
  expect(readFileSync(`${dir}.lock`, 'utf8')).toBe(`${first.pid}\n`)
  expect((await events()).map((e) => e.client_id)).toEqual(['one', 'two', 'three'])
})

it('SIGTERM closes it in order: exit code 0, and the next start finds everything', async () => {
  const first = await serve()
  expect((await post(first.url, KEY, { text: 'hi', id: 'one' }))?.status).toBe(202)
  const closed = await first.end('SIGTERM')
  expect(closed).toEqual({ code: 0, signal: null })
  expect(first.stderr).not.toContain('stopping failed')
  const again = await serve()
  expect((await post(again.url, KEY, { text: 'hi', id: 'one' }))?.status).toBe(200)
  expect((await again.end('SIGTERM')).code).toBe(0)
})

it('a directory written by another major version is refused by name and left as it is', async () => {
  mkdirSync(dir)
  writeFileSync(join(dir, 'PG_VERSION'), '16\n')
  await expect(rawStore(`pglite:${dir}`)).rejects.toThrow(
    `${dir} was written by PostgreSQL 16, this version of Wakeful embeds 18`,
  )
  expect(readdirSync(dir)).toEqual(['PG_VERSION'])
  // Refusing lets go of the lock.
  writeFileSync(join(dir, 'PG_VERSION'), '17\n')
  await expect(rawStore(`pglite:${dir}`)).rejects.toThrow('PostgreSQL 17')
})

it('a directory whose files are damaged is refused in words, with what to do, and left as it is', async () => {
  await (await bareStore(`pglite:${dir}`)).close()
  const log = join(dir, 'pg_wal')
  const [newest = ''] = readdirSync(log)
    .filter((name) => /^[0-9A-F]{24}$/.test(name))
    .sort()
  const control = join(dir, 'global', 'pg_control')
  for (const file of [join(log, newest), control]) truncateSync(file, 100)
  await expect(rawStore(`pglite:${dir}`)).rejects.toThrow(
    `${dir} could not be opened, its files may be damaged: keep a copy of it, and restore a backup`,
  )
  expect(statSync(control).size).toBe(100)
})

it('a directory that holds something else is refused and left as it is', async () => {
  mkdirSync(dir)
  writeFileSync(join(dir, 'letters.txt'), 'dear Ann')
  await expect(rawStore(`pglite:${dir}`)).rejects.toThrow('is not empty and holds no database')
  expect(readdirSync(dir)).toEqual(['letters.txt'])
})

it('an empty directory and one whose parents are missing are both made', async () => {
  mkdirSync(dir)
  await bareStore(`pglite:${dir}`)
  dir = join(parent, 'deep', 'er', 'data')
  await bareStore(`pglite:${dir}`)
  expect(readFileSync(join(dir, 'PG_VERSION'), 'utf8').trim()).toBe('18')
})

it('a first start that was killed half-way leaves nothing that looks finished, and the next one heals it', async () => {
  const killed = new Server({ DATABASE_URL: `pglite:${dir}` })
  const unfinished = () => readdirSync(parent).filter((name) => name.endsWith('.unfinished'))
  await until('it has begun', () => unfinished().length > 0)
  await killed.end('SIGKILL')
  expect(unfinished()).toHaveLength(1)
  // Whatever the killed one had unpacked by then, even if it looks whole, is not trusted.
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'PG_VERSION'), '18\n')
  writeFileSync(join(parent, 'other.unfinished'), '')
  expect(await events()).toEqual([])
  // Its own mark is gone; a neighbour's is not its business.
  expect(unfinished()).toEqual(['other.unfinished'])
})

it('a store opened, closed and opened again in one process keeps what was written', async () => {
  const store = await bareStore(`pglite:${dir}`)
  await store.db.query(
    `insert into wakeful.idempotency_keys (owner, key, fingerprint, created_at) values ('o', 'k', 'f', now())`,
  )
  await Promise.all([store.close(), store.close()])
  const { db } = await bareStore(`pglite:${dir}`)
  expect(await db.query('select key from wakeful.idempotency_keys')).toEqual([{ key: 'k' }])
})
