/**
 * `GET /v1/changes`: one stream of Server-Sent Events says that something has changed, so that a console need not poll. It says what kind
 * of thing may have changed, never more: whoever listens reads it again with their own rights.
 */
import { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { WebSocket } from 'ws'
import type { Actor, Context } from '../api/contract.ts'
import { contextOf } from '../api/shards.ts'
import { Refusal } from '../core/errors.ts'
import { changesOf, writesSoFar } from '../features/ledger/change-rows.ts'
import type { Db } from '../store/db.ts'
import { type Standing, Visitors, type VisitorsOptions } from './address-limits.ts'
import { refuseRest } from './methods.ts'

const PATH = '/v1/changes'
export const CHANGE_TOPICS = [
  ...(['ledger', 'schedules', 'sessions', 'questions', 'stops', 'people'] as const),
]
/** At most two a second. */
const APART_MS = 500
/** What no hint tells of, such as what another process has written, is seen by then. */
const LOOK_MS = 750
const HEARTBEAT_MS = 15_000
const STREAMS_MAX = 1_000

export interface ChangesOptions {
  readonly authenticate: (request: IncomingMessage, query: URLSearchParams) => Promise<Standing>
  readonly check: (request: IncomingMessage, local: boolean) => void
  readonly visitors: Omit<VisitorsOptions, 'onError'>
  readonly context: (actor: Actor) => Context
  readonly stores: readonly Db[]
  /** Calls it when something may have changed, until what it answers is called. */
  readonly onHint: (listener: () => void) => () => void
  readonly onError: (error: unknown) => void
}

/** A client, where the watch over credentials expects a socket. */
class Listener extends EventEmitter {
  readonly body = new PassThrough()
  readonly ctx: Context
  /** Of one person: what was theirs at the last look. */
  seen: string | null = null

  constructor(ctx: Context) {
    super()
    this.ctx = ctx
    this.body.once('close', () => this.emit('close'))
    this.body.on('error', () => undefined)
  }

  tell(topics: readonly string[]): void {
    this.write(`data: ${JSON.stringify({ topics })}\n\n`)
  }

  write(text: string): void {
    // Who does not read gets no more of it: the next one says the same.
    if (this.body.writable && !this.body.writableNeedDrain) this.body.write(text)
  }

  close(): void {
    this.body.end()
  }

  terminate(): void {
    this.body.destroy()
  }
}

export class ChangeStreams {
  readonly #options: ChangesOptions
  readonly #visitors: Visitors
  readonly #open = new Set<Listener>()
  #leave: (() => void) | null = null
  #writes = ''
  #timer: NodeJS.Timeout | null = null
  #dueMs = Number.POSITIVE_INFINITY
  #toldMs = Number.NEGATIVE_INFINITY
  #looking = false
  #heartbeat: NodeJS.Timeout | null = null

  constructor(options: ChangesOptions) {
    this.#options = options
    this.#visitors = new Visitors({ ...options.visitors, onError: options.onError })
  }

  async open(request: IncomingMessage, local: boolean): Promise<PassThrough> {
    const { check, authenticate, context } = this.#options
    check(request, local)
    const query = new URL(request.url ?? '', 'http://local').searchParams
    const standing = await authenticate(request, query)
    if (standing.actor.role === 'worker')
      throw new Refusal('forbidden', 'changes are for admin, service, agent and user keys')
    if (this.#open.size >= STREAMS_MAX)
      throw new Refusal('rate_limited', 'there are too many streams of changes')
    const listener = new Listener(context(standing.actor))
    this.#open.add(listener)
    this.#visitors.add(listener as unknown as WebSocket, standing)
    listener.on('close', () => {
      this.#open.delete(listener)
      if (this.#open.size === 0) this.#rest()
    })
    // Whatever was missed before.
    listener.tell(CHANGE_TOPICS)
    if (this.#open.size === 1) this.#begin()
    return listener.body
  }

  dismiss(keyIds: readonly string[] | null): void {
    this.#visitors.dismiss(keyIds)
  }

  close(): void {
    this.#visitors.close()
    this.#rest()
    for (const listener of this.#open) listener.close()
  }

  #begin(): void {
    this.#leave = this.#options.onHint(() => this.#plan(0))
    this.#heartbeat = setInterval(() => {
      for (const listener of this.#open) listener.write(':\n\n')
    }, HEARTBEAT_MS).unref()
    this.#plan(0)
  }

  #rest(): void {
    this.#leave?.()
    this.#leave = null
    if (this.#heartbeat !== null) clearInterval(this.#heartbeat)
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#dueMs = Number.POSITIVE_INFINITY
  }

  /** The next look, not sooner than the last word allows. */
  #plan(waitMs: number): void {
    if (this.#open.size === 0) return
    const nowMs = performance.now()
    const dueMs = Math.max(nowMs + waitMs, this.#toldMs + APART_MS)
    if (this.#timer !== null && this.#dueMs <= dueMs) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#dueMs = dueMs
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#look()
        .catch(this.#options.onError)
        .finally(() => this.#plan(LOOK_MS))
    }, dueMs - nowMs).unref()
  }

  async #look(): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    try {
      const writes = await writesSoFar(this.#options.stores)
      if (writes === this.#writes) return
      this.#writes = writes
      this.#toldMs = performance.now()
      await Promise.all([...this.#open].map((listener) => this.#tell(listener)))
    } finally {
      this.#looking = false
    }
  }

  /** Who stands for one person hears nothing of what others do. */
  async #tell(listener: Listener): Promise<void> {
    const { userId } = listener.ctx.actor
    if (userId === null) return listener.tell(CHANGE_TOPICS)
    const { db } = contextOf(listener.ctx, userId)
    const seen = await changesOf(db, userId)
    const first = listener.seen === null
    const changed = seen !== listener.seen
    listener.seen = seen
    if (changed && !first) listener.tell(CHANGE_TOPICS)
  }
}

export type ChangesDoor = (request: IncomingMessage) => Promise<PassThrough>

export function addChangesRoute(app: FastifyInstance, open: ChangesDoor): void {
  app.get(PATH, {
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const body = await open(request.raw)
      return reply
        .headers({
          'content-type': 'text/event-stream; charset=utf-8',
          'cache-control': 'no-cache, no-transform',
          // A proxy that gathers answers would keep everything back.
          'x-accel-buffering': 'no',
        })
        .send(body)
    },
  })
  refuseRest(app, PATH, new Set(['GET']))
}
