/** The WebSocket channel alone, with wires that do as they are told: order, slow readers, bounds (rule 13). */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Receipt, Undelivered } from '../../src/features/sessions/effect-rows.ts'
import type { Wire } from '../../src/kernel/frames.ts'
import { type SocketOptions, WebSocketChannel } from '../../src/kernel/websocket.ts'
import { ref } from '../setup/worlds.ts'

const KEY = 'ann:bot:t'
const SESSION = ref(KEY)
const ACKS: SocketOptions = { acks: true, eventsAfter: null, doneSeq: 0 }
const HIGH = 256 * 1024

class FakeWire implements Wire {
  bufferedAmount = 0
  readyState = 1
  readonly sent: number[] = []
  readonly shown: number[] = []
  closed: number | null = null
  flush: ((error?: Error | null) => void)[] = []
  /** Each frame stays in the buffer. */
  stuck = false

  send(text: string, done?: (error?: Error | null) => void): void {
    const frame = JSON.parse(text)
    if (frame.type === 'event') this.shown.push(frame.event.seq)
    else this.sent.push(Number(frame.content))
    if (this.stuck) this.bufferedAmount += 100 * 1024
    if (done !== undefined) this.flush.push(done)
  }

  close(code: number): void {
    this.closed ??= code
    this.readyState = 2
  }
}

const row = (position: number): Undelivered => ({
  bucket: SESSION.bucket,
  session_key: KEY,
  position,
  id: idOf(position),
  payload: JSON.stringify({ content: String(position) }),
  event_seq: 1,
  reason: 'answer',
  origin: null,
  created_at: new Date(0),
  completed: false,
})
const idOf = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`
const rows = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => row(from + n))
const event = (seq: number) => ({
  bucket: SESSION.bucket,
  id: idOf(seq),
  session_key: KEY,
  seq,
  type: 'user_message' as const,
  payload: '{}',
  created_at: new Date(0),
})

let recorded: Receipt[]
let lookups: string[]
let released: number
let failing: boolean
let channel: WebSocketChannel

beforeEach(() => {
  vi.useFakeTimers()
  recorded = []
  lookups = []
  released = 0
  failing = false
  channel = new WebSocketChannel({
    record: async (receipt) => {
      if (failing) throw new Error('the database is unreachable')
      recorded.push(receipt)
      return true
    },
    positionOf: async (_session, id) => {
      lookups.push(id)
      return id.startsWith('00000000') ? Number(id.slice(-12)) : null
    },
    backToPending: () => {
      released++
    },
    wake: () => undefined,
  })
})
afterEach(() => {
  vi.useRealTimers()
})

/** One look of the outbox: what the channel wants is fetched, in pages, and offered. */
function serve(all: readonly Undelivered[], limit = 100): number {
  const [wanted] = channel.wanted(null)
  if (wanted === undefined) return 0
  return channel.offer(all.filter((r) => r.position > wanted.after).slice(0, limit)).length
}

it('rule 13: all sockets of a session get each message once, in order', () => {
  const [a, b] = [new FakeWire(), new FakeWire()]
  channel.join(SESSION, a, ACKS)
  serve(rows(1, 3))
  channel.join(SESSION, b, ACKS)
  serve(rows(1, 5))
  expect([a.sent, b.sent]).toEqual([
    [1, 2, 3, 4, 5],
    [1, 2, 3, 4, 5],
  ])
})

it('invariant 6: a socket that joins while a look is under way misses nothing that came before', () => {
  const [a, b] = [new FakeWire(), new FakeWire()]
  channel.join(SESSION, a, ACKS)
  serve(rows(1, 50))
  const [wanted] = channel.wanted(null)
  channel.join(SESSION, b, ACKS)
  channel.offer(rows((wanted?.after ?? 0) + 1, 60))
  serve(rows(1, 60))
  expect(a.sent).toEqual(rows(1, 60).map((r) => r.position))
  expect(b.sent).toEqual(rows(1, 60).map((r) => r.position))
})

it('invariant 6: nor does one that takes the place of the only other while a look is under way', () => {
  const [a, b] = [new FakeWire(), new FakeWire()]
  const leave = channel.join(SESSION, a, { acks: true, eventsAfter: 9, doneSeq: 0 })
  serve(rows(1, 50))
  channel.wanted(null)
  channel.watched(null)
  leave()
  channel.join(SESSION, b, { acks: true, eventsAfter: 4, doneSeq: 0 })
  channel.offer(rows(51, 60))
  channel.show([event(10)])
  serve(rows(1, 60))
  expect(b.sent).toEqual(rows(1, 60).map((r) => r.position))
  expect(channel.watched(null)).toMatchObject([{ after: 4 }])
})

it('invariant 6: a watcher that joins while a look is under way misses no event', () => {
  const [a, b] = [new FakeWire(), new FakeWire()]
  channel.join(SESSION, a, { acks: true, eventsAfter: 5, doneSeq: 0 })
  expect(channel.watched(null)).toMatchObject([{ after: 5 }])
  channel.join(SESSION, b, { acks: true, eventsAfter: 3, doneSeq: 0 })
  channel.show([event(6)])
  expect(channel.watched(null)).toMatchObject([{ after: 3 }])
  channel.show([4, 5, 6].map(event))
  expect([a.shown, b.shown]).toEqual([[6], [4, 5, 6]])
})

it('slow readers: a socket that was full when asked and has drained since is not served past its gap', () => {
  const [a, b] = [new FakeWire(), new FakeWire()]
  channel.join(SESSION, a, ACKS)
  channel.join(SESSION, b, ACKS)
  serve(rows(1, 10))
  a.bufferedAmount = HIGH + 1
  serve(rows(1, 20))
  const [wanted] = channel.wanted(null)
  expect(wanted?.after).toBe(20)
  a.bufferedAmount = 0
  channel.offer(rows(21, 30))
  serve(rows(1, 30))
  expect(a.sent).toEqual(rows(1, 30).map((r) => r.position))
  expect(b.sent).toEqual(rows(1, 30).map((r) => r.position))
})

it('contract: a message that another socket acknowledged first still comes, unless it was there before', () => {
  const [old, fresh] = [new FakeWire(), new FakeWire()]
  const done = (from: number, to: number) =>
    rows(from, to).map((each) => ({ ...each, completed: true }))
  channel.join(SESSION, old, ACKS)
  channel.join(SESSION, fresh, { ...ACKS, doneSeq: 2 })
  expect(channel.wanted(null)).toMatchObject([{ after: 0, doneAfter: 999 }])
  // Turn 2 was over when `fresh` came, turn 3 was not.
  channel.offer([row(2000), ...done(2001, 2002), ...done(3000, 3001), row(3002)])
  expect(old.sent).toEqual([2000, 2001, 2002, 3000, 3001, 3002])
  expect(fresh.sent).toEqual([2000, 3000, 3001, 3002])
  expect(channel.wanted(null)).toMatchObject([{ after: 3002, doneAfter: 3002 }])
})

it('slow readers: what others acknowledged while a socket was full comes when it reads again', () => {
  const [a, b] = [new FakeWire(), new FakeWire()]
  channel.join(SESSION, a, ACKS)
  channel.join(SESSION, b, ACKS)
  serve(rows(1000, 1010))
  a.bufferedAmount = HIGH + 1
  serve(rows(1000, 1020))
  a.bufferedAmount = 0
  expect(channel.wanted(null)).toMatchObject([{ after: 1010, doneAfter: 1010 }])
  channel.offer(rows(1011, 1020).map((each) => ({ ...each, completed: true })))
  expect(a.sent).toEqual(b.sent)
})

it('invariant 14: a socket that is closing does not hold up its neighbour', () => {
  const [gone, here] = [new FakeWire(), new FakeWire()]
  channel.join(SESSION, gone, { acks: true, eventsAfter: 0, doneSeq: 0 })
  channel.join(SESSION, here, { acks: true, eventsAfter: 7, doneSeq: 0 })
  serve(rows(1, 1))
  gone.readyState = 2
  serve(rows(1, 10), 5)
  serve(rows(1, 10), 5)
  expect(here.sent).toEqual(rows(1, 10).map((r) => r.position))
  expect(channel.watched(null)).toMatchObject([{ after: 7 }])
  here.readyState = 2
  expect([channel.wanted(null), channel.watched(null)]).toEqual([[], []])
})

it('slow readers: a reader that stops is given 256 KiB, then nothing, and is closed with 1013 after 10 s', () => {
  const wire = new FakeWire()
  wire.stuck = true
  channel.join(SESSION, wire, ACKS)
  expect(serve(rows(1, 100))).toBe(3)
  // Nothing to hand over is no progress: the outbox must not spin.
  expect(serve(rows(1, 100))).toBe(0)
  expect(wire.closed).toBeNull()
  vi.advanceTimersByTime(9_999)
  expect(wire.closed).toBeNull()
  vi.advanceTimersByTime(1)
  expect(wire.closed).toBe(1013)
})

it('slow readers: one that reads again in time is not closed', () => {
  const wire = new FakeWire()
  channel.join(SESSION, wire, ACKS)
  wire.bufferedAmount = HIGH + 1
  serve(rows(1, 5))
  vi.advanceTimersByTime(9_000)
  wire.bufferedAmount = 0
  serve(rows(1, 5))
  wire.bufferedAmount = HIGH + 1
  serve(rows(1, 9))
  vi.advanceTimersByTime(9_000)
  expect(wire.closed).toBeNull()
  expect(wire.sent).toEqual([1, 2, 3, 4, 5])
})

it('slow readers: beyond 1 MiB a socket is closed at once', () => {
  const wire = new FakeWire()
  channel.join(SESSION, wire, ACKS)
  wire.bufferedAmount = 1024 * 1024 + 1
  channel.wanted(null)
  expect(wire.closed).toBe(1013)
})

it('rule 13: an acknowledgement completes; one for an earlier connection is looked up; an unknown id is not known', async () => {
  channel.join(SESSION, new FakeWire(), ACKS)
  serve(rows(1, 2))
  expect(await channel.acknowledge(SESSION, idOf(1))).toBe(true)
  expect(lookups).toEqual([])
  expect(await channel.acknowledge(SESSION, idOf(77))).toBe(true)
  expect(recorded.map((r) => [r.position, r.outcome])).toEqual([
    [1, 'completed'],
    [77, 'completed'],
  ])
  expect(await channel.acknowledge(SESSION, 'ffffffff-0000-7000-8000-000000000001')).toBe(false)
  expect(await channel.acknowledge(SESSION, 'rubbish')).toBe(false)
  expect(lookups).not.toContain('rubbish')
})

it('a client that never acknowledges costs no memory: old ids are looked up instead', async () => {
  channel.join(SESSION, new FakeWire(), ACKS)
  for (let n = 0; n < 30; n++) serve(rows(n * 100 + 1, n * 100 + 100))
  await channel.acknowledge(SESSION, idOf(3000))
  expect(lookups).toEqual([])
  await channel.acknowledge(SESSION, idOf(1))
  expect(lookups).toEqual([idOf(1)])
  expect(recorded.map((r) => r.position)).toEqual([3000, 1])
})

it('rule 13: with ack=none a flushed message is completed, one that failed is not', async () => {
  const wire = new FakeWire()
  channel.join(SESSION, wire, { acks: false, eventsAfter: null, doneSeq: 0 })
  serve(rows(1, 2))
  expect(recorded).toEqual([])
  wire.flush[0]?.()
  wire.flush[1]?.(new Error('gone'))
  await vi.advanceTimersByTimeAsync(0)
  expect(recorded.map((r) => [r.position, r.outcome])).toEqual([[1, 'completed']])
})

it('a database that is away while ack=none flushes harms nobody', async () => {
  const wire = new FakeWire()
  const leave = channel.join(SESSION, wire, { acks: false, eventsAfter: null, doneSeq: 0 })
  serve(rows(1, 1))
  failing = true
  wire.flush[0]?.()
  await vi.advanceTimersByTimeAsync(0)
  failing = false
  leave()
  await vi.advanceTimersByTimeAsync(0)
  expect(released).toBe(1)
})

it('rule 13: when the last socket leaves, what was not acknowledged waits again, once its receipts are written', async () => {
  const leaveA = channel.join(SESSION, new FakeWire(), ACKS)
  const leaveB = channel.join(SESSION, new FakeWire(), ACKS)
  serve(rows(1, 1))
  leaveA()
  leaveA()
  await vi.advanceTimersByTimeAsync(0)
  expect(released).toBe(0)
  leaveB()
  await vi.advanceTimersByTimeAsync(0)
  expect(released).toBe(1)
  expect(channel.sockets).toBe(0)
  const leaveC = channel.join(SESSION, new FakeWire(), ACKS)
  serve(rows(1, 1))
  await channel.acknowledge(SESSION, idOf(1))
  leaveC()
  await vi.advanceTimersByTimeAsync(0)
  expect(released).toBe(1)
})

it('rule 13: a client that comes straight back keeps what it was sent', async () => {
  const leave = channel.join(SESSION, new FakeWire(), ACKS)
  serve(rows(1, 1))
  leave()
  channel.join(SESSION, new FakeWire(), ACKS)
  await vi.advanceTimersByTimeAsync(0)
  expect(released).toBe(0)
})
