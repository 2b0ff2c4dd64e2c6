/**
 * The WebSocket channel. Each socket remembers how far it was served; all sockets of a session, in
 * whatever process, get each message, and the first acknowledgement completes it. A reader that stops
 * reading is closed and loses nothing: what was not acknowledged is served again from the start.
 */
import { RawJson, writeJson } from '../core/json.ts'
import type { SessionRef } from '../core/session.ts'
import type { Receipt, Undelivered, Wanted } from '../store/effects.ts'
import type { EventRow } from '../store/events.ts'
import type { Channel } from './channel.ts'

/** The part of a socket that matters here; `ws` fits. */
export interface Wire {
  readonly bufferedAmount: number
  readonly readyState: number
  send(text: string, done?: (error?: Error | null) => void): void
  close(code: number, reason: string): void
}

export interface SocketOptions {
  /** False (`ack=none`): flushed counts as delivered. */
  readonly acks: boolean
  /** Watch the log from this seq on; null for not at all. */
  readonly eventsAfter: number | null
}

interface Socket extends SocketOptions {
  readonly wire: Wire
  sentUpTo: number
  shownUpTo: number
}

interface Room {
  readonly session: SessionRef
  readonly sockets: Set<Socket>
  /** Ids sent and not acknowledged yet, with their positions. */
  readonly open: Map<string, number>
}

export interface WebSocketHooks {
  /** Writes receipts in groups; errors are the caller's to log. */
  record(receipt: Receipt): Promise<boolean>
  positionOf(session: SessionRef, id: string): Promise<number | null>
  backToPending(session: SessionRef): void
  /** Somebody wants to be served. */
  wake(key: string): void
}

const OPEN = 1
/** Beyond this a socket gets no more until it has read. */
const BUFFER_HIGH_BYTES = 256 * 1024
/** Beyond this it is closed. */
const BUFFER_MAX_BYTES = 1024 * 1024
const STALLED_MS = 10_000

export class WebSocketChannel implements Channel {
  readonly name = 'websocket'
  readonly #rooms = new Map<string, Room>()
  readonly #hooks: WebSocketHooks
  readonly #stalled = new Map<Socket, NodeJS.Timeout>()

  constructor(hooks: WebSocketHooks) {
    this.#hooks = hooks
  }

  get sockets(): number {
    let count = 0
    for (const room of this.#rooms.values()) count += room.sockets.size
    return count
  }

  /** Serves this socket from now on, beginning with everything undelivered. Returns what ends that. */
  join(session: SessionRef, wire: Wire, options: SocketOptions): () => void {
    const room = this.#rooms.get(session.key) ?? { session, sockets: new Set(), open: new Map() }
    this.#rooms.set(session.key, room)
    const socket: Socket = { ...options, wire, sentUpTo: 0, shownUpTo: options.eventsAfter ?? 0 }
    room.sockets.add(socket)
    this.#hooks.wake(session.key)
    return () => this.#leave(room, socket)
  }

  /** True when the id is an effect of this session that was still open. */
  async acknowledge(session: SessionRef, id: string): Promise<boolean> {
    const room = this.#rooms.get(session.key)
    const position = room?.open.get(id) ?? (await this.#hooks.positionOf(session, id))
    if (position === null || position === undefined) return false
    room?.open.delete(id)
    return this.#hooks.record({
      bucket: session.bucket,
      key: session.key,
      position,
      outcome: 'completed',
    })
  }

  wanted(keys: readonly string[] | null): Wanted[] {
    return this.#collect(keys, (room) =>
      lowest(room, (socket) => (this.#full(socket) ? null : socket.sentUpTo)),
    )
  }

  watched(keys: readonly string[] | null): Wanted[] {
    return this.#collect(keys, (room) =>
      lowest(room, (socket) =>
        socket.eventsAfter === null || this.#full(socket) ? null : socket.shownUpTo,
      ),
    )
  }

  offer(rows: readonly Undelivered[]): Receipt[] {
    const receipts: Receipt[] = []
    for (const row of rows) {
      const room = this.#rooms.get(row.session_key)
      if (room === undefined) continue
      let frame: string | null = null
      for (const socket of room.sockets) {
        if (
          socket.sentUpTo >= row.position ||
          socket.wire.readyState !== OPEN ||
          this.#full(socket)
        )
          continue
        frame ??= frameOf(row)
        this.#send(room, socket, row, frame)
      }
      if (frame === null) continue
      room.open.set(row.id, row.position)
      receipts.push({
        bucket: row.bucket,
        key: row.session_key,
        position: row.position,
        outcome: 'attempted',
      })
    }
    return receipts
  }

  show(rows: readonly (EventRow & { bucket: number })[]): void {
    for (const row of rows) {
      const { bucket: _, ...event } = row
      const frame = writeJson({
        type: 'event',
        event: { ...event, payload: new RawJson(row.payload) },
      })
      for (const socket of this.#rooms.get(row.session_key)?.sockets ?? []) {
        if (socket.eventsAfter === null || socket.shownUpTo >= row.seq || this.#full(socket))
          continue
        socket.shownUpTo = row.seq
        socket.wire.send(frame)
      }
    }
  }

  closeAll(code: number, reason: string): void {
    for (const room of this.#rooms.values())
      for (const socket of room.sockets) socket.wire.close(code, reason)
  }

  #send(room: Room, socket: Socket, row: Undelivered, frame: string): void {
    socket.sentUpTo = row.position
    if (socket.acks) {
      socket.wire.send(frame)
    } else {
      socket.wire.send(frame, (error) => {
        if (error) return
        room.open.delete(row.id)
        void this.#hooks.record({
          bucket: row.bucket,
          key: row.session_key,
          position: row.position,
          outcome: 'completed',
        })
      })
    }
  }

  /** Closed when it holds too much, or stays over the mark without reading for too long. */
  #full(socket: Socket): boolean {
    const buffered = socket.wire.bufferedAmount
    if (buffered <= BUFFER_HIGH_BYTES) {
      const timer = this.#stalled.get(socket)
      if (timer !== undefined) clearTimeout(timer)
      this.#stalled.delete(socket)
      return false
    }
    if (buffered > BUFFER_MAX_BYTES) socket.wire.close(1013, 'reading too slowly')
    else if (!this.#stalled.has(socket)) {
      const close = () => {
        if (socket.wire.bufferedAmount > BUFFER_HIGH_BYTES)
          socket.wire.close(1013, 'reading too slowly')
      }
      this.#stalled.set(socket, setTimeout(close, STALLED_MS).unref())
    }
    return true
  }

  #leave(room: Room, socket: Socket): void {
    if (!room.sockets.delete(socket)) return
    clearTimeout(this.#stalled.get(socket))
    this.#stalled.delete(socket)
    if (room.sockets.size > 0) return
    this.#rooms.delete(room.session.key)
    if (room.open.size > 0) this.#hooks.backToPending(room.session)
  }

  #collect(keys: readonly string[] | null, after: (room: Room) => number | null): Wanted[] {
    const rooms = keys === null ? this.#rooms.values() : keys.map((key) => this.#rooms.get(key))
    const wanted: Wanted[] = []
    for (const room of rooms) {
      if (room === undefined) continue
      const from = after(room)
      if (from !== null)
        wanted.push({ bucket: room.session.bucket, key: room.session.key, after: from })
    }
    return wanted
  }
}

function lowest(room: Room, of: (socket: Socket) => number | null): number | null {
  let low: number | null = null
  for (const socket of room.sockets) {
    const value = of(socket)
    if (value !== null && (low === null || value < low)) low = value
  }
  return low
}

function frameOf(row: Undelivered): string {
  const { content } = JSON.parse(row.payload) as { content: string }
  if (!row.autonomous) {
    return JSON.stringify({
      type: 'message',
      id: row.id,
      content,
      in_reply_to: row.event_seq,
      created_at: row.created_at,
    })
  }
  const origin: unknown = row.origin === null ? null : JSON.parse(row.origin)
  return JSON.stringify({
    type: 'agent_follow_up',
    id: row.id,
    content,
    origin,
    created_at: row.created_at,
  })
}
