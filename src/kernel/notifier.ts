/**
 * Hints between processes, by LISTEN and NOTIFY. The listening connection proves itself with a
 * heartbeat: when it stays silent it is destroyed and made again. Everything here may fail without
 * harm; the poll of each service is the truth.
 */
import { randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import type pg from 'pg'
import type { Db } from '../store/db.ts'
import { announce, announcing } from '../store/settings.ts'
import { type LocalHints, TOPICS, type Topic } from './hints.ts'
import { isLiveFrame, type LiveFrame, type LiveViewer, payloadsOf } from './live.ts'

const GATHER_MS = 5
const HEARTBEAT_MS = 5_000
const RECONNECT_MS = 500
const HEARD_MS = 60_000
const RECONNECT_MAX_MS = 5_000
/** NOTIFY takes 8000 bytes, and two topics name keys; beyond this much of them a hint says "everybody look". */
const KEYS_CHARACTERS_MAX = 3500
/** Quotes and comma of each. */
const AROUND_KEY = 3

/** Live frames that wait while the database is slow; beyond this they are dropped. */
const LIVE_MAX = 1_000

export class Notifier implements LiveViewer {
  readonly #self = randomUUID().slice(0, 8)
  readonly #connect: () => pg.Client
  readonly #db: Db
  readonly #hints: LocalHints
  readonly #onError: (error: unknown) => void
  #heardMs = Number.NEGATIVE_INFINITY
  readonly #startedMs = performance.now()
  #live: LiveFrame[] = []
  #sendsLive = false
  #pending = new Map<Topic, Set<string> | null>()
  #flushing: NodeJS.Timeout | null = null
  #client: pg.Client | null = null
  #stopped = false
  #running: Promise<void> | null = null
  #wake: (() => void) | null = null

  constructor(options: {
    connect: () => pg.Client
    db: Db
    hints: LocalHints
    onError: (error: unknown) => void
  }) {
    this.#connect = options.connect
    this.#db = options.db
    this.#hints = options.hints
    this.#onError = options.onError
  }

  start(): void {
    this.#hints.relayTo((topic, keys) => this.#queue(topic, keys))
    this.#hints.view('elsewhere', this)
    this.#running ??= this.#listen()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    if (this.#flushing !== null) clearTimeout(this.#flushing)
    this.#wake?.()
    await this.#running
  }

  #queue(topic: Topic, keys: readonly string[] | null): void {
    const known = this.#pending.get(topic)
    if (keys === null || known === null) this.#pending.set(topic, null)
    else {
      const set = known ?? new Set<string>()
      for (const key of keys) set.add(key)
      this.#pending.set(topic, lengthOf(set) > KEYS_CHARACTERS_MAX ? null : set)
    }
    this.#flushing ??= setTimeout(() => this.#flush(), GATHER_MS)
  }

  #flush(): void {
    this.#flushing = null
    const topics = [...this.#pending].map(
      ([topic, keys]) => [topic, keys === null ? null : [...keys]] as const,
    )
    this.#pending.clear()
    announce(this.#db, { from: this.#self, topics }).catch(this.#onError)
  }

  /** Another process may hold a socket: one has spoken lately, or this one has not listened for long enough to know. */
  watches(): boolean {
    const sinceMs = Math.max(this.#heardMs, this.#startedMs)
    return performance.now() - sinceMs < HEARD_MS
  }

  showLive(frame: LiveFrame): void {
    if (this.#stopped || !this.watches()) return
    if (this.#live.length >= LIVE_MAX) this.#live = []
    this.#live.push(frame)
    if (!this.#sendsLive) this.#sendLive().catch(this.#onError)
  }

  /** One announcement after the other, since connections of a pool do not keep their order. What comes meanwhile leaves together. */
  async #sendLive(): Promise<void> {
    this.#sendsLive = true
    try {
      while (this.#live.length > 0)
        for (const live of payloadsOf(this.#live.splice(0)))
          await announce(this.#db, { from: this.#self, topics: [], live })
    } finally {
      this.#sendsLive = false
    }
  }

  async #listen(): Promise<void> {
    let wait = RECONNECT_MS
    while (!this.#stopped) {
      try {
        await this.#session(() => {
          wait = RECONNECT_MS
        })
      } catch (error) {
        if (!this.#stopped) this.#onError(error)
      }
      if (this.#stopped) return
      await this.#pause(wait)
      wait = Math.min(wait * 2, RECONNECT_MAX_MS)
    }
  }

  /** One life of the listening connection; throws when it breaks or goes silent. */
  async #session(onConnected: () => void): Promise<void> {
    const client = this.#connect()
    let broken: Error | null = null
    const beat = announcing(this.#db.schema, { from: this.#self, topics: [] })
    client.on('error', (error) => {
      broken = error
      this.#wake?.()
    })
    client.on('end', () => {
      broken ??= new Error('the listening connection ended')
      this.#wake?.()
    })
    client.on('notification', (message) => this.#receive(message.payload ?? ''))
    try {
      await client.connect()
      await client.query(`listen "${this.#db.schema}"`)
      this.#client = client
      onConnected()
      // What was said while nobody listened is unknown: everybody looks once.
      for (const topic of TOPICS) this.#hints.deliver(topic, null)
      while (!this.#stopped && broken === null) {
        await this.#pause(HEARTBEAT_MS)
        // So that each process knows whether there are others.
        if (!this.#stopped && broken === null) await client.query(...beat)
      }
      if (broken !== null) throw broken
    } finally {
      this.#client = null
      // `end` waits for an answer that a half-open connection never gives: cut it instead.
      ;(
        client as unknown as { connection: { stream: { destroy(): void } } }
      ).connection.stream.destroy()
    }
  }

  #receive(payload: string): void {
    const message = parse(payload)
    if (message === null || message.from === this.#self) return
    this.#heardMs = performance.now()
    for (const [topic, keys] of message.topics) this.#hints.deliver(topic, keys)
    for (const frame of message.live) this.#hints.live(frame, 'here')
  }

  #pause(ms: number): Promise<void> {
    return new Promise((done) => {
      const timer = setTimeout(done, ms)
      this.#wake = () => {
        clearTimeout(timer)
        done()
      }
    })
  }

  /** Another process has spoken lately. */
  get hearsOthers(): boolean {
    return performance.now() - this.#heardMs < HEARD_MS
  }

  get connected(): boolean {
    return this.#client !== null
  }
}

/** As they are written out; keys are ASCII. */
function lengthOf(keys: ReadonlySet<string>): number {
  let length = 0
  for (const key of keys) length += key.length + AROUND_KEY
  return length
}

interface Heard {
  readonly from: string
  readonly topics: readonly [Topic, string[] | null][]
  readonly live: readonly LiveFrame[]
}

/** Null when somebody else speaks on our channel, or another version of us in words we do not know. */
function parse(payload: string): Heard | null {
  try {
    const { from, topics, live = [] } = JSON.parse(payload) as Record<string, unknown>
    if (typeof from !== 'string' || !Array.isArray(topics) || !topics.every(isHint)) return null
    if (!Array.isArray(live) || !live.every(isLiveFrame)) return null
    return { from, topics, live }
  } catch {
    return null
  }
}

function isHint(hint: unknown): hint is [Topic, string[] | null] {
  if (!Array.isArray(hint)) return false
  const [topic, keys] = hint as unknown[]
  const known = keys === null || (Array.isArray(keys) && keys.every((k) => typeof k === 'string'))
  return typeof topic === 'string' && known
}
