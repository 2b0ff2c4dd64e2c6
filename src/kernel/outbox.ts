/**
 * The outbox service: brings undelivered effects to the channels that hold connections for them. It
 * looks at once where a hint says so, and at everybody connected to this process on every poll.
 */

import { performance } from 'node:perf_hooks'
import {
  type Receipt,
  recordReceipts,
  undelivered,
  wentBack,
} from '../features/sessions/effect-rows.ts'
import { eventsOf } from '../features/sessions/event-rows.ts'
import type { Reason } from '../features/sessions/gate.ts'
import type { Db } from '../store/db.ts'
import { GroupCommit } from '../store/group.ts'
import type { Channel } from './channel.ts'
import type { DeliveryRecord, Meter } from './meter.ts'
import type { Service, Tick } from './service.ts'

interface Message {
  readonly id: string
  readonly session_key: string
  readonly event_seq: number
  readonly reason: Reason
  /** JSON text. */
  readonly origin: string | null
  readonly checkpoint_id?: string
  readonly traceparent?: string | null
}

type Result = Pick<DeliveryRecord, 'channel' | 'result' | 'durationMs' | 'error'>
type More = Partial<Pick<DeliveryRecord, 'attempt' | 'traceparent'>>

export function deliveryOf(message: Message, result: Result, more: More = {}): DeliveryRecord {
  const { id, session_key, event_seq, reason, checkpoint_id, traceparent, origin } = message
  const from = origin === null ? null : (JSON.parse(origin) as { kind: string; id?: string })
  return {
    ...{ id, reason, sessionKey: session_key, eventSeq: event_seq },
    ...{ checkpointId: checkpoint_id ?? null, traceparent: traceparent ?? null },
    trigger: from?.kind ?? 'user_message',
    triggerId: from?.id ?? null,
    slot: null,
    attempt: null,
    ...result,
    ...more,
  }
}

export interface OutboxOptions {
  readonly reads: Db
  readonly commits: Db
  readonly channels: readonly Channel[]
  readonly meter: Meter
  /** Where there are several shards: whether a bucket is in this one. */
  readonly holds?: ((bucket: number) => boolean) | undefined
}

/** Sessions asked about in one statement. */
const SESSIONS_MAX = 1000
const EFFECTS_MAX = 100
const EVENTS_MAX = 100
const RECEIPTS_MAX = 1000
/** Hints may come without a pause, and one may have been lost: at least this often everybody is looked at. */
const EVERYWHERE_MS = 1000
/** How often it is asked whether the database has lost what was sent; after an error at once. */
const WENT_BACK_MS = 1000
const RECEIPTS_QUEUE_MAX = 1_000_000
/** What is acknowledged sooner than this is written once, attempt and arrival together. */
const LATE_MS = 250

interface HeldAttempt {
  readonly receipt: Receipt
  readonly atMs: number
  attempts: number
}

export class OutboxService implements Service {
  readonly name = 'outbox'
  readonly #options: OutboxOptions
  readonly #receipts: GroupCommit<Receipt, boolean>
  /** Messages that were sent and not acknowledged yet, by session and position. */
  readonly #held = new Map<string, HeldAttempt>()
  #writing: NodeJS.Timeout | null = null
  /** Sessions to look at now. None and no hint to look everywhere: it is a poll, and that looks everywhere too. */
  #keys = new Set<string>()
  #everywhere = true
  #everywhereMs = Number.NEGATIVE_INFINITY
  #checkedMs = Number.NEGATIVE_INFINITY
  #ticking: Promise<unknown> = Promise.resolve()

  constructor(options: OutboxOptions) {
    this.#options = options
    this.#receipts = new GroupCommit({
      commit: async (receipts) => {
        const changed = await recordReceipts(options.commits, receipts)
        return receipts.map((receipt) => changed.has(nameOf(receipt)))
      },
      batchMax: RECEIPTS_MAX,
      lanes: 1,
      queueMax: RECEIPTS_QUEUE_MAX,
      onFull: () => new Error('too many receipts wait to be written'),
      onBatch: (size) => options.meter.batch('receipts', size),
    })
  }

  /** For the channel's own acknowledgements, and for who wants to be behind all attempts at a session. */
  record(receipt: Receipt): Promise<boolean> {
    if (receipt.outcome === 'attempted') {
      this.#writeHeld((held) => held.receipt.key === receipt.key)
      return this.#receipts.submit(receipt)
    }
    const name = nameOf(receipt)
    const held = this.#held.get(name)
    if (held === undefined) return this.#receipts.submit(receipt)
    this.#held.delete(name)
    return this.#receipts.submit({ ...receipt, attempts: held.attempts })
  }

  #hold(receipt: Receipt): void {
    const name = nameOf(receipt)
    const held = this.#held.get(name)
    if (held === undefined) this.#held.set(name, { receipt, atMs: performance.now(), attempts: 1 })
    else held.attempts++
    this.#writing ??= setTimeout(() => this.#writeLate(), LATE_MS).unref()
  }

  #writeLate(): void {
    this.#writing = null
    const beforeMs = performance.now() - LATE_MS
    this.#writeHeld(({ atMs }) => atMs <= beforeMs)
    if (this.#held.size > 0) this.#writing = setTimeout(() => this.#writeLate(), LATE_MS).unref()
  }

  #writeHeld(isMeant: (held: HeldAttempt) => boolean): void {
    for (const [name, held] of this.#held) {
      if (!isMeant(held)) continue
      this.#held.delete(name)
      this.#submit({ ...held.receipt, attempts: held.attempts })
    }
  }

  #submit(receipt: Receipt): void {
    this.#receipts.submit(receipt).catch((error) => this.#options.meter.trouble('receipts', error))
  }

  /** Narrows the next tick to these sessions, or widens it to all. */
  look(keys: readonly string[] | null): void {
    if (keys === null) this.#everywhere = true
    else for (const key of keys) this.#keys.add(key)
  }

  /** One look at a time: channels rely on being offered what they asked for last. */
  tick(): Promise<Tick> {
    const tick = this.#ticking.then(() => this.#look())
    this.#ticking = Promise.allSettled([tick])
    return tick
  }

  async #look(): Promise<Tick> {
    const keys = this.#takeKeys()
    let did = 0
    let more = false
    try {
      await this.#check()
      for (const channel of this.#options.channels) {
        const events = await this.#show(channel, keys)
        const effects = await this.#deliver(channel, keys)
        did += effects.did + events.did
        more ||= effects.more || events.more
      }
    } catch (error) {
      // What was hinted at is not forgotten.
      this.#everywhere = true
      this.#checkedMs = Number.NEGATIVE_INFINITY
      throw error
    }
    return { did, more, nextMs: null }
  }

  /** The sessions to look at; null for all. */
  #takeKeys(): string[] | null {
    const nowMs = performance.now()
    const everywhere =
      this.#everywhere || this.#keys.size === 0 || nowMs - this.#everywhereMs >= EVERYWHERE_MS
    const keys = everywhere ? null : [...this.#keys]
    if (everywhere) this.#everywhereMs = nowMs
    this.#keys.clear()
    this.#everywhere = false
    return keys
  }

  async settle(): Promise<void> {
    this.#writeHeld(() => true)
    await this.#receipts.idle()
  }

  async close(): Promise<void> {
    if (this.#writing !== null) clearTimeout(this.#writing)
    await this.settle()
  }

  /** Before anything is sent: after a failover that lost commits, positions are given out a second time. */
  async #check(): Promise<void> {
    const nowMs = performance.now()
    if (nowMs - this.#checkedMs < WENT_BACK_MS) return
    for (const channel of this.#options.channels)
      for (const reached of chunks(channel.reached(this.#options.holds), SESSIONS_MAX))
        channel.reconnect(await wentBack(this.#options.reads, reached))
    this.#checkedMs = nowMs
  }

  async #deliver(channel: Channel, keys: readonly string[] | null) {
    let did = 0
    let more = false
    for (const wanted of chunks(channel.wanted(keys, this.#options.holds), SESSIONS_MAX)) {
      const rows = await undelivered(this.#options.reads, channel.name, wanted, EFFECTS_MAX)
      if (rows.length === 0) continue
      // A watcher of the log sees an event before the answer to it.
      await this.#show(channel, [...new Set(rows.map((row) => row.session_key))])
      const receipts = channel.offer(rows)
      for (const receipt of receipts)
        if (receipt.outcome === 'attempted') this.#hold(receipt)
        else this.#submit(receipt)
      if (receipts.length > 0) this.#options.meter.delivered(channel.name, receipts.length)
      did += receipts.length
      more ||= receipts.length >= EFFECTS_MAX
    }
    return { did, more }
  }

  async #show(channel: Channel, keys: readonly string[] | null) {
    let did = 0
    let more = false
    for (const wanted of chunks(channel.watched(keys, this.#options.holds), SESSIONS_MAX)) {
      const rows = await eventsOf(this.#options.reads, wanted, EVENTS_MAX)
      channel.show(rows)
      did += rows.length
      more ||= rows.length >= EVENTS_MAX
    }
    return { did, more }
  }
}

const nameOf = ({ key, position }: Receipt) => `${key} ${position}`

function* chunks<T>(all: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < all.length; start += size) yield all.slice(start, start + size)
}
