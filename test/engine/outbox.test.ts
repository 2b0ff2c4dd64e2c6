/** The outbox service alone: where it looks, what it does not forget, and that it never spins (architecture, Time). */
import { performance } from 'node:perf_hooks'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Reached, Undelivered } from '../../src/features/sessions/effect-rows.ts'
import type { Channel } from '../../src/kernel/channel.ts'
import { OutboxService } from '../../src/kernel/outbox.ts'
import type { Db } from '../../src/store/db.ts'

type Keys = readonly string[] | null

let nowMs: number
let looked: Keys[]
let failing: boolean
let rows: Undelivered[]
let taken: number
let inside: number
let most: number
let outbox: OutboxService
let reached: Reached[]
let reconnected: string[]

const row = (position: number): Undelivered => ({
  bucket: 0,
  session_key: 'k',
  position,
  id: String(position),
  payload: '{}',
  event_seq: 1,
  reason: 'answer',
  origin: null,
  created_at: new Date(0),
  completed: false,
})

const db: Db = {
  kind: 'pglite',
  schema: 'wakeful',
  now: () => null,
  time: async () => 0,
  async query<R extends object>(): Promise<R[]> {
    most = Math.max(most, ++inside)
    await Promise.resolve()
    inside--
    if (failing) throw new Error('the database is unreachable')
    return rows as unknown as R[]
  },
  exec: async () => undefined,
  tx: (work) => work(db),
}

const channel: Channel = {
  name: 'websocket',
  wanted(keys) {
    looked.push(keys)
    return [{ bucket: 0, key: 'k', after: 0, doneAfter: 0 }]
  },
  offer: (offered) =>
    offered.slice(0, taken).map(({ bucket, session_key: key, position }) => ({
      bucket,
      key,
      position,
      outcome: 'attempted' as const,
    })),
  watched: () => [],
  show: () => undefined,
  reached: () => reached,
  reconnect: (keys) => void reconnected.push(...keys),
}

beforeEach(() => {
  nowMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  looked = []
  reached = []
  reconnected = []
  failing = false
  rows = []
  taken = Number.POSITIVE_INFINITY
  inside = 0
  most = 0
  const meter = new Proxy({}, { get: () => () => undefined }) as ConstructorParameters<
    typeof OutboxService
  >[0]['meter']
  outbox = new OutboxService({ reads: db, commits: db, channels: [channel], meter })
})
afterEach(async () => {
  vi.restoreAllMocks()
  await outbox.close()
})

it('a poll looks everywhere, a hint where it says', async () => {
  await outbox.tick()
  outbox.look(['a'])
  outbox.look(['b', 'a'])
  await outbox.tick()
  outbox.look(['a'])
  outbox.look(null)
  await outbox.tick()
  await outbox.tick()
  expect(looked).toEqual([null, ['a', 'b'], null, null])
})

it('the poll is the truth: hints without a pause do not keep it from looking everywhere within a second', async () => {
  await outbox.tick()
  for (let n = 0; n < 30; n++) {
    nowMs += 50
    outbox.look(['busy'])
    await outbox.tick()
  }
  expect(looked.slice(1).filter((keys) => keys === null)).toHaveLength(1)
})

it('what was hinted at while the database was away is not forgotten', async () => {
  await outbox.tick()
  failing = true
  outbox.look(['a'])
  await expect(outbox.tick()).rejects.toThrow('unreachable')
  failing = false
  outbox.look(['b'])
  await outbox.tick()
  expect(looked).toEqual([null, ['a'], null])
})

it('looks one at a time, so that a channel is offered what it asked for last', async () => {
  await Promise.all([outbox.tick(), outbox.tick(), outbox.tick()])
  expect([looked.length, most]).toEqual([3, 1])
})

it('goes on at once after a full page that was taken, and sleeps when the sockets are full', async () => {
  rows = Array.from({ length: 100 }, (_, n) => row(n))
  expect(await outbox.tick()).toMatchObject({ did: 100, more: true })
  taken = 40
  expect(await outbox.tick()).toMatchObject({ did: 40, more: false })
  taken = 0
  expect(await outbox.tick()).toMatchObject({ did: 0, more: false })
  rows = []
})

it('asks once a second, and at once after an error, whether the database has lost what was sent', async () => {
  reached = [{ bucket: 0, key: 'k', position: 1000, id: null, seq: 1 }]
  taken = 0
  // What any statement answers here: for this one, the sessions that went back.
  rows = [{ ...row(1000), key: 'k' } as Undelivered]
  await outbox.tick()
  await outbox.tick()
  expect(reconnected).toEqual(['k'])
  failing = true
  await expect(outbox.tick()).rejects.toThrow('unreachable')
  failing = false
  await outbox.tick()
  expect(reconnected).toEqual(['k', 'k'])
  nowMs += 1000
  await outbox.tick()
  expect(reconnected).toEqual(['k', 'k', 'k'])
})

/** What is written of receipts: position, how it ended, how often it was sent. */
function receipts() {
  const written: (readonly [number, boolean, number])[] = []
  const commits: Db = {
    ...db,
    async query<R extends object>(_text: string, values: readonly unknown[] = []): Promise<R[]> {
      const columns = values.slice(1).map((each) => (Array.isArray(each) ? each : [each]))
      const [, , positions = [], done = [], attempts = []] = columns
      written.push(
        ...positions.map((at, n) => [Number(at), Boolean(done[n]), Number(attempts[n])] as const),
      )
      return []
    },
  }
  const meter = new Proxy({}, { get: () => () => undefined }) as ConstructorParameters<
    typeof OutboxService
  >[0]['meter']
  outbox = new OutboxService({ reads: db, commits, channels: [channel], meter })
  return written
}
const completed = (position: number) =>
  ({ bucket: 0, key: 'k', position, outcome: 'completed' }) as const

it('rule 13: a message is written once where it is acknowledged soon, else its attempt first', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const written = receipts()
  rows = [row(1), row(2), row(3)]
  await outbox.tick()
  rows = [row(3)]
  await outbox.tick()
  rows = []
  await outbox.record(completed(1))
  expect(written).toEqual([[1, true, 1]])
  nowMs += 250
  // Whoever settles the outbox writes all attempts at once; time alone has to.
  await vi.advanceTimersByTimeAsync(250)
  expect(written.slice(1)).toEqual([
    [2, false, 1],
    [3, false, 2],
  ])
  await outbox.record(completed(2))
  expect(written.slice(3)).toEqual([[2, true, 0]])
  vi.useRealTimers()
})

it('who asks to be behind the attempts at a session is, and a stop writes them all', async () => {
  const written = receipts()
  rows = [row(1)]
  await outbox.tick()
  await outbox.record({ bucket: 0, key: 'k', position: -1, outcome: 'attempted' })
  expect(written.map(([position]) => position)).toEqual([1, -1])
  rows = [row(2)]
  await outbox.tick()
  await outbox.close()
  expect(written.at(-1)).toEqual([2, false, 1])
})
