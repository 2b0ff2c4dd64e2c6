/**
 * The subscriptions service: reads for each what has happened since it was last looked at, puts that on its way, and has it
 * delivered by signed calls, under leases as every wake is. Looking is reading: only what is new is written, together with
 * how far was read, so that a process which dies in between tells nothing twice and leaves nothing out.
 */

import { newId } from '../../../src/core/ids.ts'
import type { Service, Tick } from '../../../src/kernel/service.ts'
import type { WakeCall, WakeSource } from '../../../src/kernel/trigger.ts'
import { type WakesOptions, WakesService } from '../../../src/kernel/wakes.ts'
import { DELIVERIES } from '../../../src/store/due.ts'
import { writeJson } from '../../exact-json/src/index.ts'
import { advance, cursorAt, isOld, notAhead, readCursor, writeCursor } from './cursor.ts'
import {
  addDeliveries,
  type ClaimedDelivery,
  claimDeliveries,
  endSubscriptions,
  type NewDelivery,
  settleDeliveries,
} from './delivery-rows.ts'
import { type EventArguments, filterOf } from './event-types.ts'
import { type Found, lookUp } from './occurrence-rows.ts'
import { endedKeys, moveCursors, type Reader, readersBehind, removeSubscriptions } from './rows.ts'
import { agentOf, BODY_MAX_BYTES, FAILING_MAX_MS, settleDelivery } from './rules.ts'
import { gapAt, type Occurrence, tell, terminated } from './sent-event.ts'

/** Subscriptions looked up in one statement, and what is put on its way for each of them in one look. */
const BATCH = 200
const FOUND_MAX = 100
const FIRST = { bucket: -1, id: '00000000-0000-0000-0000-000000000000' }

export class SubscriptionsService implements Service {
  readonly name = 'subscriptions'
  readonly #options: Omit<WakesOptions, 'source'>
  readonly #wakes: WakesService

  constructor(options: Omit<WakesOptions, 'source'>) {
    this.#options = options
    this.#wakes = new WakesService({ ...options, source: DELIVERY })
  }

  set onFree(told: () => void) {
    this.#wakes.onFree = told
  }

  async tick(): Promise<Tick> {
    let did = 0
    let some = false
    let behind = FIRST
    for (;;) {
      const readers = await readersBehind(this.#options.claims, behind, BATCH)
      did += await this.#look(readers)
      const last = readers.at(-1)
      some ||= last !== undefined
      if (last === undefined || readers.length < BATCH) break
      behind = last
    }
    if (!some) return { did, more: false, nextMs: null }
    const tick = await this.#wakes.tick()
    return { ...tick, did: did + tick.did }
  }

  settle(): Promise<void> {
    return this.#wakes.settle()
  }

  close(): Promise<void> {
    return this.#wakes.close()
  }

  /** Answers how many deliveries are new. */
  async #look(readers: readonly Reader[]): Promise<number> {
    const { claims, commits } = this.#options
    const over = readers.filter(isOver)
    await removeSubscriptions(commits, over)
    const live = readers.filter((reader) => reader.ended_at === null && !isOver(reader))
    if (live.length === 0) return over.length
    const looks = live.map(lookOf)
    const found = await lookUp(claims, looks, FOUND_MAX)
    const news = live.flatMap((reader, place) => newsOf(reader, looks[place], found[place]))
    if (news.length === 0) return over.length
    const revoked = await this.#revoked(news)
    const told = news.filter(({ reader }) => !revoked.has(reader.key_id ?? ''))
    const ended = news.filter(({ reader }) => revoked.has(reader.key_id ?? ''))
    return commits.tx(async (tx) => {
      const keys = ended.map(({ reader }) => reader)
      await endSubscriptions(tx, keys, terminated('its credentials were revoked'))
      const ours = await moveCursors(
        tx,
        told.map(({ moved }) => moved),
      )
      const added = told.flatMap(({ moved, deliveries }) => (ours.has(moved.id) ? deliveries : []))
      await addDeliveries(tx, added)
      return over.length + ended.length + added.length
    })
  }

  #revoked(news: readonly News[]): Promise<Set<string>> {
    const { claims } = this.#options
    const ids = news.flatMap(({ reader, deliveries }) =>
      reader.key_id === null || deliveries.length === 0 ? [] : [reader.key_id],
    )
    return endedKeys(claims.home ?? claims, [...new Set(ids)])
  }
}

/** Its time is up, or nobody has answered there for days. */
function isOver({ expires_at: expires, failed_since: failed, now }: Reader): boolean {
  const gone = failed !== null && now.getTime() - failed.getTime() > FAILING_MAX_MS
  return gone || (expires !== null && expires <= now)
}

function lookOf(reader: Reader) {
  const args = JSON.parse(reader.arguments) as EventArguments
  const cursor = notAhead(readCursor(reader.cursor) ?? cursorAt(reader.now), reader.now)
  const { bucket, user_id: userId, name } = reader
  return { ...filterOf(args), bucket, userId, name, onlyOf: agentOf(reader.principal), cursor }
}

interface News {
  readonly reader: Reader
  readonly moved: { bucket: number; id: string; was: string; becomes: string }
  readonly deliveries: readonly NewDelivery[]
}

function newsOf(reader: Reader, look: ReturnType<typeof lookOf> | undefined, seen?: Found): News[] {
  if (look === undefined || seen === undefined) return []
  const { found, more, gap } = seen
  const { bucket, id, now } = reader
  if (found.length === 0 && !isOld(look.cursor, now)) return []
  const becomes = writeCursor(advance(look.cursor, { found, more, now }))
  const gaps = gap ? [{ ...addressed(reader), eventId: newId(), body: gapAt(becomes) }] : []
  const deliveries = [...gaps, ...found.map((row) => deliveryOf(reader, row))]
  return [{ reader, moved: { bucket, id, was: reader.cursor, becomes }, deliveries }]
}

function deliveryOf(reader: Reader, row: Occurrence): NewDelivery {
  const body = writeJson(tell(reader.name, row))
  return { ...addressed(reader), eventId: row.id, body: fitting(body, reader, row) }
}

/** What is too large to be sent is told without its contents. */
function fitting(body: string, { name }: Reader, row: Occurrence): string {
  if (Buffer.byteLength(body) <= BODY_MAX_BYTES) return body
  const told = tell(name, row)
  const short = Object.entries(told.data).filter(([, value]) => writeJson(value).length <= 1024)
  return writeJson({ ...told, data: Object.fromEntries(short) })
}

const addressed = ({ bucket, id: subscriptionId, user_id: userId }: Reader) => ({
  ...{ bucket, id: newId(), subscriptionId, userId },
})

const DELIVERY: WakeSource = {
  type: 'subscription',
  reason: 'notice',
  table: DELIVERIES,
  async claim(db, limit, leaseMs, token) {
    const { deliveries, nextMs } = await claimDeliveries(db, limit, leaseMs, token)
    return { calls: deliveries.map(callOf), nextMs }
  },
  settle(tx, results) {
    return settleDeliveries(
      tx,
      results.map(({ call, token, attempt }) => {
        const { state } = call as DeliveryCall
        const outcome = settleDelivery(state, attempt, call.now)
        return { bucket: call.bucket, id: call.id, token, outcome }
      }),
    )
  },
}

interface DeliveryCall extends WakeCall {
  readonly state: { readonly attempt: number; readonly failureCount: number }
}

function callOf(row: ClaimedDelivery): DeliveryCall {
  const { bucket, id, event_id: deliveryId, body, now, attempt } = row
  const receiver = row.receiver === null ? null : (JSON.parse(row.receiver) as Receiver)
  return {
    ...{ bucket, id, deliveryId, body, now, bearer: null },
    url: receiver?.url ?? '',
    secrets: receiver?.secrets ?? [],
    headers: { 'x-mcp-subscription-id': row.subscription_id },
    dueAt: row.was_due_at,
    givenUp: receiver === null ? 'its subscription is gone' : null,
    slot: {
      triggerId: row.subscription_id,
      scheduledFor: row.created_at,
      attempt,
      userId: row.user_id,
    },
    state: { attempt, failureCount: row.failure_count },
  }
}

interface Receiver {
  readonly url: string
  readonly secrets: readonly string[]
}
