/** A slow reader over real TCP: one that stops is closed with 1013 and loses nothing. The rows come from here, not from a store. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type Context, operation } from '../../src/api/contract.ts'
import type { SessionRef } from '../../src/core/session.ts'
import type { Undelivered } from '../../src/features/sessions/effect-rows.ts'
import { openSockets, type SocketDoor } from '../../src/http/socket.ts'
import type { Wire } from '../../src/kernel/frames.ts'
import { type SocketOptions, WebSocketChannel } from '../../src/kernel/websocket.ts'
import type { Db } from '../../src/store/db.ts'
import { ADMIN, context as contextOf } from '../http/door.ts'
import { Client } from '../sessions/live.ts'
import { until } from '../setup/until.ts'
import { ref } from '../setup/worlds.ts'
import { Events } from '../streaming/events.ts'

const KEY = 'ann:bot:t'
const MESSAGES = 600
const CONTENT = 'x'.repeat(32 * 1024)

const rows: Undelivered[] = Array.from({ length: MESSAGES }, (_, n) => ({
  bucket: ref(KEY).bucket,
  session_key: KEY,
  position: n + 1,
  id: `00000000-0000-7000-8000-${String(n + 1).padStart(12, '0')}`,
  payload: JSON.stringify({ content: CONTENT }),
  event_seq: 1,
  reason: 'answer' as const,
  origin: null,
  created_at: new Date(0),
  completed: false,
}))
const db: Db = {
  kind: 'pglite',
  schema: 'wakeful',
  now: () => null,
  time: async () => 0,
  query: async () => [],
  exec: async () => undefined,
  tx: (work) => work(db),
}
const signal = new AbortController().signal
const context = (): Context => {
  const made = contextOf(db)({ actor: ADMIN, requestId: 'r', signal, headers: {} }) as Context
  return { ...made, kernel: { agents: { knows: () => true } } as unknown as Context['kernel'] }
}
const postMessage = operation({
  owner: 'caller',
  name: 'post_message',
  method: 'POST',
  path: '/v1/sessions/{session_key}/messages',
  tag: 'Sessions',
  summary: 'Say',
  roles: ['admin'],
  output: null,
  run: async () => ({ body: null }),
})

let server: Server
let door: SocketDoor
let url: string
let wires: Wire[]
let completed: Set<number>
let channel: WebSocketChannel

beforeEach(async () => {
  wires = []
  completed = new Set()
  channel = new WebSocketChannel({
    record: async ({ position, outcome }) => {
      if (outcome === 'completed') completed.add(position)
      return true
    },
    positionOf: async (_session, id) => Number(id.slice(-12)),
    backToPending: () => undefined,
    wake: () => undefined,
  })
  server = createServer()
  door = openSockets({
    hub: {
      join: (session: SessionRef, wire: Wire, options: SocketOptions) => {
        wires.push(wire)
        return channel.join(session, wire, options)
      },
      positionOf: async () => null,
      acknowledge: (session, id) => channel.acknowledge(session, id),
    },
    postMessage,
    authenticate: async () => ({ actor: ADMIN, keyIds: [], leftMs: null }),
    visitors: { standing: async () => new Set(), recheckMs: 60_000, elapsedMs: () => 0 },
    check: () => undefined,
    context,
    onError: () => undefined,
  })
  server.on('request', async (request, response) => {
    const { body } = await door.stream(request, true)
    body.pipe(response)
  })
  server.on('upgrade', (request, stream, head) => door.upgrade(request, stream, head, true))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(async () => {
  vi.useRealTimers()
  door.close()
  await new Promise((done) => server.close(done))
})

/** One look of the outbox. */
function serve(): number {
  const [wanted] = channel.wanted(null)
  if (wanted === undefined) return 0
  const left = rows.filter((row) => row.position > wanted.after && !completed.has(row.position))
  return channel.offer(left.slice(0, 100)).length
}

/** Until the socket takes no more: the kernel's buffers are full, and ours is at its mark. */
async function fill(): Promise<void> {
  let idle = 0
  for (let looks = 0; idle < 50; looks++) {
    if (looks > 100_000) throw new Error('the socket never filled')
    idle = serve() === 0 ? idle + 1 : 0
    await new Promise((done) => setImmediate(done))
  }
}

it('closed with 1013, the buffer bounded, and the next connection gets everything again', async () => {
  const slow = await Client.open(url, KEY)
  slow.socket.pause()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  await fill()
  const [wire] = wires
  expect(wire?.bufferedAmount).toBeGreaterThan(256 * 1024)
  expect(wire?.bufferedAmount).toBeLessThan(1024 * 1024)
  vi.advanceTimersByTime(9_999)
  expect(wire?.readyState).toBe(1)
  vi.advanceTimersByTime(1)
  expect(wire?.readyState).toBe(2)
  vi.useRealTimers()
  slow.socket.resume()
  await until('closed', () => slow.closed !== null)
  expect(slow.closed).toBe(1013)
  const got = slow.heard.map((frame) => frame.id)
  expect(got).toEqual(rows.slice(0, got.length).map((row) => row.id))
  expect(got.length).toBeLessThan(MESSAGES)
  const next = await Client.open(url, KEY)
  await until('everything', () => {
    serve()
    return next.heard.length === MESSAGES
  })
  expect(next.heard.map((frame) => frame.id)).toEqual(rows.map((row) => row.id))
})

it('a stream of events is cut off alike, and the next one gets everything again', async () => {
  const slow = await Events.open(url, KEY)
  slow.pause()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  await fill()
  const [wire] = wires
  expect(wire?.bufferedAmount).toBeGreaterThan(256 * 1024)
  expect(wire?.bufferedAmount).toBeLessThan(1024 * 1024)
  vi.advanceTimersByTime(10_000)
  vi.useRealTimers()
  await until('left', () => channel.sockets === 0)
  slow.close()
  const next = await Events.open(url, KEY)
  await until('everything', () => {
    serve()
    return next.heard.length === MESSAGES
  })
  expect(next.ids).toEqual(rows.map((row) => row.id))
})
