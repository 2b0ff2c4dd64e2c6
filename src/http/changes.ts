/**
 * `GET /v1/changes`: one stream of Server-Sent Events says that something has changed, so that a console need not poll. It says what kind
 * of thing may have changed, never more: listeners read it again with their own rights.
 */
import type { IncomingMessage } from 'node:http'
import type { Actor, Context } from '../api/contract.ts'
import { contextOf } from '../api/shards.ts'
import { Refusal } from '../core/errors.ts'
import { changesOf, writesSoFar } from '../features/ledger/change-rows.ts'
import type { Db } from '../store/db.ts'
import { type Standing, Visitors, type VisitorsOptions } from './address-limits.ts'
import { EventStream, type OpenedStream } from './stream.ts'

export const CHANGES_PATH = '/v1/changes'
export const CHANGE_TOPICS = [
  ...(['ledger', 'schedules', 'sessions', 'questions', 'stops', 'people'] as const),
]
/** At most two a second. */
const APART_MS = 500
/** Poll interval, for writes without a hint, such as those of other processes. */
const LOOK_MS = 750
const STREAMS_MAX = 1_000
const GOING_AWAY = 1001

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

class Listener extends EventStream {
  readonly ctx: Context
  /** Of one person: what was theirs at the last look. */
  seen: string | null = null

  constructor(ctx: Context) {
    super()
    this.ctx = ctx
  }

  /** Skipped while the client does not read; the next event says the same. */
  tell(topics: readonly string[]): void {
    if (!this.body.writableNeedDrain) this.send(JSON.stringify({ topics }))
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

  constructor(options: ChangesOptions) {
    this.#options = options
    this.#visitors = new Visitors({ ...options.visitors, onError: options.onError })
  }

  async open(request: IncomingMessage, local: boolean): Promise<OpenedStream> {
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
    this.#visitors.add(listener, standing)
    listener.on('close', () => {
      this.#open.delete(listener)
      if (this.#open.size === 0) this.#rest()
    })
    // Taken before the first event, so no later change is missed.
    listener.seen = await seenBy(listener.ctx)
    // Covers what changed before the client connected.
    listener.tell(CHANGE_TOPICS)
    if (this.#open.size === 1) this.#begin()
    return { body: listener.body, origin: request.headers.origin ?? null }
  }

  dismiss(keyIds: readonly string[] | null): void {
    this.#visitors.dismiss(keyIds)
  }

  close(): void {
    this.#visitors.close()
    this.#rest()
    for (const listener of this.#open) listener.close(GOING_AWAY)
  }

  #begin(): void {
    this.#leave = this.#options.onHint(() => this.#plan(0))
    this.#plan(0)
  }

  #rest(): void {
    this.#leave?.()
    this.#leave = null
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#dueMs = Number.POSITIVE_INFINITY
  }

  /** Schedules the next check, at least APART_MS after the last event. */
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

  /** Keys of one person hear only of that person's changes. */
  async #tell(listener: Listener): Promise<void> {
    const seen = await seenBy(listener.ctx)
    if (seen !== null && seen === listener.seen) return
    listener.seen = seen
    listener.tell(CHANGE_TOPICS)
  }
}

/** The fingerprint of the caller's person; null for admin and service. */
async function seenBy(ctx: Context): Promise<string | null> {
  const { userId } = ctx.actor
  return userId === null ? null : changesOf(contextOf(ctx, userId).db, userId)
}
