/**
 * The WebSocket channel. Each socket remembers how far it was served; all sockets of a session, in
 * whatever process, get each message, and the first acknowledgement completes it. A reader that stops
 * reading is closed and loses nothing: what was not acknowledged is served again from the start.
 */
import { performance } from 'node:perf_hooks'
import { isUuid } from '../core/ids.ts'
import { EFFECTS_PER_TURN_MAX, type SessionRef } from '../core/session.ts'
import { type Span, type Tracer, UNTRACED } from '../core/trace/trace.ts'
import type { Reached, Receipt, Undelivered, Wanted } from '../features/sessions/effect-rows.ts'
import type { EventRow } from '../features/sessions/event-rows.ts'
import type { Channel } from './channel.ts'
import { eventFrame, messageFrame, sendMessage, type Wire } from './frames.ts'
import { type LiveFrame, LiveView, type LiveViewer } from './live.ts'
import { endSocketDelivery, socketDeliverySpan } from './spans.ts'

export interface SocketOptions {
  /** False (`ack=none`): flushed counts as delivered. */
  readonly acks: boolean
  /** Watch the log from this seq on; null for not at all. */
  readonly eventsAfter: number | null
  /** How far the session's turns were when it connected: what later ones say is for this socket, too. */
  readonly doneSeq: number
  /** It was connected before, and has the messages up to this position: all later ones are for it. */
  readonly seenUpTo?: number | null
}

interface Socket extends SocketOptions {
  readonly wire: Wire
  /** Messages up to here were there before: only those nobody has acknowledged are for this socket. */
  readonly oldUpTo: number
  sentUpTo: number
  shownUpTo: number
  readonly live: LiveView
}

interface Room {
  readonly session: SessionRef
  readonly sockets: Set<Socket>
  /** The newest ids sent and not acknowledged yet. */
  readonly open: Map<string, Sent>
  /** Older ones were dropped from `open`; the database still knows them. */
  forgot: boolean
  /**
   * From where the rows now being fetched were asked for. A socket that is not that far, since it joined or
   * drained meanwhile, waits for the next look: served now, it would skip what lies between.
   */
  askedFrom: number
  askedDone: number
  askedSeq: number
  /** The newest message that any of its sockets was sent. */
  last: Pick<Undelivered, 'position' | 'id'> | null
}

/** A message that was sent and not acknowledged yet. */
interface Sent {
  readonly row: Omit<Undelivered, 'payload'>
  readonly sentMs: number
  readonly span: Span
}

/** One message that has arrived. */
export interface Arrived {
  readonly row: Omit<Undelivered, 'payload'>
  /** From when this process first sent it. */
  readonly durationMs: number
  readonly traceparent: string | null
}

export interface WebSocketHooks {
  /** Writes receipts in groups; errors are the caller's to log. */
  record(receipt: Receipt): Promise<boolean>
  positionOf(session: SessionRef, id: string): Promise<number | null>
  /** Nobody is there to acknowledge what was sent. */
  backToPending(session: SessionRef, error: string): void
  /** Somebody wants to be served. */
  wake(key: string): void
  /** What a socket that has just come is shown of the turn that runs. */
  live?(session: SessionRef): readonly LiveFrame[]
  /** A message was acknowledged for the first time, or flushed to who does not acknowledge. */
  arrived?(message: Arrived): void
  readonly tracer?: Tracer
}

type Asked = (bucket: number) => boolean

/** Why what a socket was sent has to wait again: the last one of its session closed before it acknowledged. */
const WEBSOCKET_CLOSED = 'websocket_closed'

const WENT_BACK = 'the database lost messages that were sent here: connect again'
const OPEN = 1
/** Positions begin at 0. */
const NO_POSITION = -1
/** Nobody is this far: rows on their way were asked for by others, who have left since. */
const NOT_ASKED = Number.POSITIVE_INFINITY
/** Beyond this a socket gets no more until it has read. */
const BUFFER_HIGH_BYTES = 256 * 1024
/** Beyond this it is closed. */
const BUFFER_MAX_BYTES = 1024 * 1024
const STALLED_MS = 10_000
/** Unacknowledged ids remembered for each session; an acknowledgement of an older one costs a query. */
const OPEN_MAX = 1000

export class WebSocketChannel implements Channel, LiveViewer {
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
    const room = this.#rooms.get(session.key) ?? newRoom(session)
    this.#rooms.set(session.key, room)
    const { doneSeq, seenUpTo: seen = null } = options
    const oldUpTo = seen ?? (doneSeq + 1) * EFFECTS_PER_TURN_MAX - 1
    const shownUpTo = options.eventsAfter ?? 0
    const live = new LiveView()
    const socket: Socket = { ...options, wire, oldUpTo, sentUpTo: seen ?? 0, shownUpTo, live }
    room.sockets.add(socket)
    for (const frame of this.#hooks.live?.(session) ?? []) showLive(socket, frame)
    this.#hooks.wake(session.key)
    return () => this.#leave(room, socket)
  }

  /** At once for a message that a socket was sent here and nobody has acknowledged; null for any other. */
  acknowledgeOpen(session: SessionRef, id: string): Promise<boolean> | null {
    const position = this.#rooms.get(session.key)?.open.get(id)?.row.position
    return position === undefined ? null : this.#complete(session, id, position)
  }

  /** False when the id is no message of this session. One that was acknowledged before stays so. */
  async acknowledge(session: SessionRef, id: string): Promise<boolean> {
    const open = this.acknowledgeOpen(session, id)
    if (open !== null) return open
    const position = await this.positionOf(session, id)
    return position !== null && this.#complete(session, id, position)
  }

  /** Null when the id is no message of this session. */
  async positionOf(session: SessionRef, id: string): Promise<number | null> {
    return isUuid(id) ? this.#hooks.positionOf(session, id) : null
  }

  async #complete(session: SessionRef, id: string, position: number): Promise<boolean> {
    const room = this.#rooms.get(session.key)
    const { bucket, key } = session
    const first = await this.#hooks.record({ bucket, key, position, outcome: 'completed' })
    if (room !== undefined) this.#arrived(room, id, first)
    return true
  }

  wanted(keys: readonly string[] | null, asked?: Asked): Wanted[] {
    return this.#collect(keys, asked, (room) => {
      room.askedFrom = this.#lowest(room, (socket) => socket.sentUpTo)
      room.askedDone = this.#lowest(room, doneUpTo)
      return { after: room.askedFrom, doneAfter: room.askedDone }
    })
  }

  watched(keys: readonly string[] | null, asked?: Asked): Wanted[] {
    return this.#collect(keys, asked, (room) => {
      room.askedSeq = this.#lowest(room, (socket) =>
        socket.eventsAfter === null ? NOT_ASKED : socket.shownUpTo,
      )
      return { after: room.askedSeq, doneAfter: room.askedSeq }
    })
  }

  offer(rows: readonly Undelivered[]): Receipt[] {
    const receipts: Receipt[] = []
    const corked = new Set<Wire>()
    for (const row of rows) {
      const room = this.#rooms.get(row.session_key)
      if (room === undefined) continue
      let frame: string | null = null
      for (const socket of room.sockets) {
        if (!isFor(socket, row, room) || !this.#ready(socket)) continue
        frame ??= messageFrame(row)
        if (!corked.has(socket.wire)) socket.wire.cork?.()
        corked.add(socket.wire)
        this.#send(room, socket, row, frame)
      }
      if (frame === null || row.completed) continue
      this.#remember(room, row)
      const { bucket, session_key: key, position } = row
      receipts.push({ bucket, key, position, outcome: 'attempted' })
    }
    for (const wire of corked) wire.uncork?.()
    return receipts
  }

  show(rows: readonly (EventRow & { bucket: number })[]): void {
    for (const row of rows) {
      const frame = eventFrame(row)
      const room = this.#rooms.get(row.session_key)
      for (const socket of room?.sockets ?? []) {
        const { eventsAfter, shownUpTo } = socket
        if (eventsAfter === null || shownUpTo < (room?.askedSeq ?? NOT_ASKED)) continue
        if (shownUpTo >= row.seq || !this.#ready(socket)) continue
        socket.shownUpTo = row.seq
        socket.wire.send(frame)
      }
    }
  }

  watches(key: string): boolean {
    return this.#rooms.has(key)
  }

  /** What is not stored: a socket that cannot take it now does without. */
  showLive(frame: LiveFrame): void {
    for (const socket of this.#rooms.get(frame.key)?.sockets ?? [])
      if (this.#ready(socket)) showLive(socket, frame)
  }

  reached(isAsked?: Asked): Reached[] {
    return [...this.#rooms.values()].flatMap(({ session: { bucket, key }, last, sockets }) => {
      if (isAsked?.(bucket) === false) return []
      const { position = 0, id = null } = last ?? {}
      const seq = Math.max(
        Math.floor(position / EFFECTS_PER_TURN_MAX),
        ...[...sockets].map(seenUpTo),
      )
      return [{ bucket, key, position, id, seq }]
    })
  }

  reconnect(keys: readonly string[]): void {
    for (const key of keys)
      for (const { wire } of this.#rooms.get(key)?.sockets ?? []) wire.close(1012, WENT_BACK)
  }

  #send(room: Room, socket: Socket, row: Undelivered, frame: string): void {
    socket.sentUpTo = row.position
    if (row.position > (room.last?.position ?? NO_POSITION)) room.last = row
    const { wire, acks } = socket
    if (acks) {
      sendMessage(wire, row.id, frame)
    } else {
      sendMessage(wire, row.id, frame, (error) => {
        if (error) return
        const { bucket, session_key: key, position } = row
        this.#hooks.record({ bucket, key, position, outcome: 'completed' }).then(
          (first) => this.#arrived(room, row.id, first),
          // Not written: it stays open and is delivered again to the next connection.
          () => undefined,
        )
      })
    }
  }

  #ready(socket: Socket): boolean {
    return socket.wire.readyState === OPEN && !this.#full(socket)
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
    for (const { span } of room.open.values()) endSocketDelivery(span, 'unacknowledged')
    if (room.open.size > 0 || room.forgot) void this.#release(room.session)
  }

  /** Behind the receipts still on their way, which would mark as under way what nobody holds any more. */
  async #release(session: SessionRef): Promise<void> {
    const { bucket, key } = session
    try {
      await this.#hooks.record({ bucket, key, position: NO_POSITION, outcome: 'attempted' })
    } catch {
      // The database is away: the status waits for the next connection, the message does not depend on it.
      return
    }
    if (!this.#rooms.has(key)) this.#hooks.backToPending(session, WEBSOCKET_CLOSED)
  }

  #remember(room: Room, row: Undelivered): void {
    if (!room.open.has(row.id)) {
      const { payload: _, ...known } = row
      const span = socketDeliverySpan(this.#hooks.tracer ?? UNTRACED, row)
      room.open.set(row.id, { row: known, sentMs: performance.now(), span })
    }
    if (room.open.size <= OPEN_MAX) return
    for (const [oldest, { span }] of room.open) {
      room.open.delete(oldest)
      endSocketDelivery(span, 'unacknowledged')
      break
    }
    room.forgot = true
  }

  /** `first`: nobody else, here or in another process, has acknowledged it before. */
  #arrived(room: Room, id: string, first: boolean): void {
    const sent = room.open.get(id)
    if (sent === undefined) return
    room.open.delete(id)
    const { row, sentMs, span } = sent
    endSocketDelivery(span, 'acknowledged')
    const { traceparent } = span
    if (first) this.#hooks.arrived?.({ row, durationMs: performance.now() - sentMs, traceparent })
  }

  /** How far the socket that is least far has come, of those that can take more. */
  #lowest(room: Room, of: (socket: Socket) => number): number {
    let low = NOT_ASKED
    for (const socket of room.sockets) if (this.#ready(socket)) low = Math.min(low, of(socket))
    return low
  }

  #collect(
    keys: readonly string[] | null,
    isAsked: Asked | undefined,
    from: (room: Room) => Pick<Wanted, 'after' | 'doneAfter'>,
  ): Wanted[] {
    const rooms = keys === null ? this.#rooms.values() : keys.map((key) => this.#rooms.get(key))
    const wanted: Wanted[] = []
    for (const room of rooms) {
      if (room === undefined || isAsked?.(room.session.bucket) === false) continue
      const asked = from(room)
      const { bucket, key } = room.session
      if (asked.after !== NOT_ASKED) wanted.push({ bucket, key, ...asked })
    }
    return wanted
  }
}

function newRoom(session: SessionRef): Room {
  return {
    session,
    sockets: new Set(),
    open: new Map(),
    forgot: false,
    askedFrom: NOT_ASKED,
    askedDone: NOT_ASKED,
    askedSeq: NOT_ASKED,
    last: null,
  }
}

function showLive(socket: Socket, frame: LiveFrame): void {
  const doneSeq = Math.floor(doneUpTo(socket) / EFFECTS_PER_TURN_MAX)
  for (const text of socket.live.take(frame, doneSeq)) socket.wire.send(text)
}

/** Up to where what others acknowledged is no news to it. */
function doneUpTo(socket: Socket): number {
  return Math.max(socket.sentUpTo, socket.oldUpTo)
}

/** The seq that it has seen for sure; where it asked to begin says nothing. */
function seenUpTo({ doneSeq, shownUpTo, eventsAfter }: Socket): number {
  return shownUpTo > (eventsAfter ?? 0) ? Math.max(doneSeq, shownUpTo) : doneSeq
}

/** Is this row news to the socket, and was it asked for from where the socket is? */
function isFor(socket: Socket, row: Undelivered, room: Room): boolean {
  if (socket.sentUpTo < room.askedFrom || doneUpTo(socket) < room.askedDone) return false
  return row.position > (row.completed ? doneUpTo(socket) : socket.sentUpTo)
}
