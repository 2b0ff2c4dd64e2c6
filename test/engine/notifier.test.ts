/** Hints between processes: they cross, they come back after the connection broke, and they cost nothing when lost. */
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, expect, it } from 'vitest'
import { LocalHints, type Topic } from '../../src/kernel/hints.ts'
import type { LiveFrame } from '../../src/kernel/live.ts'
import { Notifier } from '../../src/kernel/notifier.ts'
import { Relay } from '../faults/relay.ts'
import { dropDatabases, postgresDatabase } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { beside, rawStore } from '../store/stores.ts'

const made: string[] = []
const notifiers: Notifier[] = []
afterEach(async () => {
  await Promise.all(notifiers.splice(0).map((each) => each.stop()))
})
afterAll(() => dropDatabases(made))

interface Process {
  readonly hints: LocalHints
  readonly notifier: Notifier
  /** What reached this process, as `topic key,key` or `topic *`. */
  readonly heard: string[]
  readonly errors: unknown[]
  /** What its sockets are shown of turns that run. */
  readonly live: LiveFrame[]
}

/** What one process of many has: hints of its own, and a notifier on the common database. */
async function processOn(url: string): Promise<Process> {
  const store = await rawStore(url)
  if (store.listen === null) throw new Error('this store does not listen')
  const hints = new LocalHints()
  const heard: string[] = []
  const errors: unknown[] = []
  for (const topic of ['clock', 'turns', 'outbox'] as Topic[])
    hints.on(topic, (keys) => heard.push(`${topic} ${keys === null ? '*' : keys.join(',')}`))
  const notifier = new Notifier({
    connect: store.listen,
    db: store.engine,
    hints,
    onError: (error) => errors.push(error),
  })
  const live: LiveFrame[] = []
  hints.view('here', { watches: () => false, showLive: (frame) => live.push(frame) })
  notifiers.push(notifier)
  notifier.start()
  await until('listening', () => notifier.connected)
  heard.length = 0
  return { hints, notifier, heard, errors, live }
}

const arrives = (to: Process, text: string) =>
  until(`${text} in ${to.heard.join('; ')}`, () => to.heard.includes(text))

it('a hint reaches the other processes, gathered, and comes back to nobody', async () => {
  const url = await postgresDatabase(made)
  const [a, b] = [await processOn(url), await processOn(url)]
  for (const key of ['k1', 'k2', 'k1']) a.hints.hint('outbox', [key])
  a.hints.hint('turns')
  expect([a.notifier.hearsOthers, b.notifier.hearsOthers]).toEqual([false, false])
  await arrives(b, 'outbox k1,k2')
  expect([a.notifier.hearsOthers, b.notifier.hearsOthers]).toEqual([false, true])
  await arrives(b, 'turns *')
  b.hints.hint('clock')
  await arrives(a, 'clock *')
  // Each was told in its own process once, by the hint itself and not by its echo.
  expect(a.heard.filter((text) => text.startsWith('outbox'))).toEqual([
    'outbox k1',
    'outbox k2',
    'outbox k1',
  ])
  expect(b.heard.filter((text) => text.startsWith('outbox'))).toEqual(['outbox k1,k2'])
})

it('text that is being written reaches the others in its order, however long, and comes back to nobody', async () => {
  const url = await postgresDatabase(made)
  const [a, b] = [await processOn(url), await processOn(url)]
  const of = { key: 'ann:bot:t', seq: 1, draft: 0 }
  expect(a.hints.watches('ann:bot:t')).toBe(true)
  a.hints.live({ ...of, type: 'typing' }, 'elsewhere')
  const pieces = Array.from({ length: 40 }, (_, nth) => `${nth} ${'🦊'.repeat(nth * 100)}`)
  const whole = pieces.join('')
  let at = 0
  for (const text of pieces) {
    a.hints.live({ ...of, type: 'delta', at, text }, 'everywhere')
    at += text.length
  }
  const textOf = ({ live }: Process) =>
    live.map((frame) => (frame.type === 'delta' ? frame.text : '')).join('')
  await until('all of it', () => textOf(b).length >= whole.length)
  expect(textOf(b)).toBe(whole)
  expect(b.live[0]).toEqual({ ...of, type: 'typing' })
  expect([a.live.length, textOf(a)]).toEqual([pieces.length, whole])
  expect([a.errors, b.errors]).toEqual([[], []])
})

it('a local hint stays here, and many keys become a hint to look everywhere', async () => {
  const url = await postgresDatabase(made)
  const [a, b] = [await processOn(url), await processOn(url)]
  a.hints.local('turns')
  a.hints.hint(
    'outbox',
    Array.from({ length: 2000 }, () => randomUUID()),
  )
  await arrives(b, 'outbox *')
  expect(b.heard).toEqual(['outbox *'])
})

it('after its backend was terminated it listens again by itself, has everybody look once, and hints cross', async () => {
  const url = await postgresDatabase(made)
  const [a, b] = [await processOn(url), await processOn(url)]
  await beside(url, async (client) => {
    const { rowCount } = await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'listen %'`,
    )
    expect(rowCount).toBe(2)
  })
  for (const each of [a, b]) {
    await arrives(each, 'turns *')
    expect(each.errors.length).toBeGreaterThan(0)
    expect(each.notifier.connected).toBe(true)
  }
  b.heard.length = 0
  a.hints.hint('outbox', ['k9'])
  await arrives(b, 'outbox k9')
})

it('a database that goes away and comes back is listened to again; meanwhile nothing throws', async () => {
  const relay = await Relay.before(await postgresDatabase(made))
  const a = await processOn(relay.url)
  await relay.close()
  await until('it noticed', () => !a.notifier.connected)
  a.hints.hint('turns')
  await relay.listen()
  await until('listening again', () => a.notifier.connected)
})

it('what others say on the same channel is not for us', async () => {
  const url = await postgresDatabase(made)
  const a = await processOn(url)
  const b = await processOn(url)
  await beside(url, async (client) => {
    const strange = [
      '',
      'not json',
      'null',
      '7',
      '[]',
      '{}',
      '{"from":"x"}',
      '{"from":"x","topics":7}',
    ]
    strange.push('{"from":"x","topics":[],"live":[7]}', '{"from":"x","topics":[],"live":{}}')
    strange.push('{"from":"x","topics":[7]}', '{"from":"x","topics":[["turns",7]]}')
    for (const text of strange) await client.query('select pg_notify($1, $2)', ['wakeful', text])
  })
  b.hints.hint('turns')
  await arrives(a, 'turns *')
  expect(a.heard).toEqual(['turns *'])
  expect(a.notifier.connected).toBe(true)
})

it('stops at once, twice, connected or not', async () => {
  const url = await postgresDatabase(made)
  const { notifier, hints } = await processOn(url)
  await Promise.all([notifier.stop(), notifier.stop()])
  await notifier.stop()
  hints.hint('turns')
  expect(notifier.connected).toBe(false)
})
