/**
 * MCP Events, a draft of the protocol of which there are two texts: the design sketch that clients follow today, and the proposal
 * made of it (SEP-3415). Both are served. They differ in where the server says that it has events, and in the
 * numbers of their errors. Each method is an operation of the table, so a server elsewhere is asked the same way.
 */
import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { EVENT_TYPES } from '../../packages/subscriptions/src/event-types.ts'
import type { Door } from '../api/callers/caller.ts'
import type { Operation } from '../api/contract.ts'
import { type ErrorCode, Refusal } from '../core/errors.ts'
import type { OpenStreams } from './event-stream.ts'
import { plainSchema } from './schema.ts'

const EXTENSION = 'io.modelcontextprotocol/events'
/** The sketch's place, which the protocol's own type does not know yet, and the proposal's. */
export const EVENT_CAPABILITIES = { events: {}, extensions: { [EXTENSION]: {} } }

/** Each method's operation; null where this table has none. */
export interface EventOperations {
  readonly subscribe: Operation
  readonly unsubscribe: Operation
  readonly poll: Operation
}

export function eventOperations(operations: readonly Operation[]): EventOperations | null {
  const named = (name: string) => operations.find((op) => op.name === name)
  const [subscribe, unsubscribe, poll] = ['subscribe', 'unsubscribe', 'poll_events'].map(named)
  if (subscribe === undefined || unsubscribe === undefined || poll === undefined) return null
  return { subscribe, unsubscribe, poll }
}

const wish = { name: z.string(), arguments: z.record(z.string(), z.unknown()).nullish() }
const cursor = z.string().nullish()
const age = z.number().nullish()
const PARAMS = {
  list: z.looseObject({ cursor }).optional(),
  subscribe: z.looseObject({
    ...wish,
    delivery: z.looseObject({ mode: z.string(), url: z.string(), secret: z.string() }),
    ...{ cursor, maxAgeMs: age, ttlMs: age },
  }),
  unsubscribe: z.looseObject({ ...wish, delivery: z.looseObject({ url: z.string() }) }),
  poll: z.looseObject({ ...wish, cursor, maxAgeMs: age, maxEvents: z.number().nullish() }),
  stream: z.looseObject({ ...wish, cursor, maxAgeMs: age }),
}

type Fields = Record<string, unknown>

export function serveEvents(
  server: Server,
  ops: EventOperations,
  streams: OpenStreams,
  door: Door,
): void {
  const ask = asking(server, door)
  server.setRequestHandler('events/list', { params: PARAMS.list }, () => ({ events: CATALOG }))
  server.setRequestHandler(
    'events/subscribe',
    { params: PARAMS.subscribe },
    async (params, ctx) => {
      const { delivery, cursor, maxAgeMs, ttlMs } = params
      if (delivery.mode !== 'webhook')
        throw problem(server, 'unsupported', [
          'delivery.mode: webhook is what can be subscribed to',
        ])
      const { url, secret } = delivery
      const lasting = ttlMs === undefined ? {} : { ttl_ms: ttlMs }
      const args = { ...wishOf(params), url, secret, cursor, max_age_ms: maxAgeMs, ...lasting }
      return subscribed(await ask(ops.subscribe, args, ctx.mcpReq.signal))
    },
  )
  server.setRequestHandler(
    'events/unsubscribe',
    { params: PARAMS.unsubscribe },
    async (params, ctx) => {
      const args = { ...wishOf(params), url: params.delivery.url }
      await ask(ops.unsubscribe, args, ctx.mcpReq.signal)
      return {}
    },
  )
  server.setRequestHandler('events/poll', { params: PARAMS.poll }, async (params, ctx) => {
    const { cursor, maxAgeMs, maxEvents } = params
    const args = { cursor, max_age_ms: maxAgeMs, max_events: maxEvents ?? undefined }
    return polled(await ask(ops.poll, { ...wishOf(params), ...args }, ctx.mcpReq.signal))
  })
  server.setRequestHandler('events/stream', { params: PARAMS.stream }, (params, ctx) => {
    const { id: requestId, signal, notify } = ctx.mcpReq
    const { cursor = null, maxAgeMs = null } = params
    const from = { wish: wishOf(params), cursor, maxAgeMs }
    if (streams.full) throw problem(server, 'rate_limited', ['there are too many streams'])
    return streams.run(door.keyId, { ask, poll: ops.poll, ...from, requestId, signal, notify })
  })
}

const CATALOG = Object.entries(EVENT_TYPES).map(([name, { description, input, payload }]) => ({
  ...{ name, description, delivery: ['webhook', 'poll', 'push'] },
  inputSchema: plainSchema(input),
  payloadSchema: plainSchema(payload),
}))

function wishOf(params: { name: string; arguments?: Fields | null | undefined }) {
  return { name: params.name, arguments: params.arguments ?? {} }
}

type Ask = (op: Operation, args: Fields, signal: AbortSignal) => Promise<Fields>

/** What the operation answers, or its refusal in the numbers of the draft that the client follows. */
function asking(server: Server, door: Door): Ask {
  return async (op, args, signal) => {
    try {
      const said = Object.entries(args).filter(([, value]) => value !== undefined)
      const json = await door.call(op, Object.fromEntries(said), signal)
      return json === null ? {} : (JSON.parse(json) as Fields)
    } catch (error) {
      throw error instanceof Refusal ? problem(server, error.code, error.errors) : error
    }
  }
}

function subscribed({ id, refresh_before, cursor, truncated, delivery_status: status }: Fields) {
  const { active, last_delivery_at, last_error, failed_since } = status as Fields
  const failing = failed_since === null ? {} : { failedSince: failed_since }
  return {
    ...{ id, refreshBefore: refresh_before, cursor, truncated },
    deliveryStatus: {
      ...{ active, lastDeliveryAt: last_delivery_at, lastError: last_error },
      ...failing,
    },
  }
}

interface Told extends Fields {
  readonly eventId: unknown
}

function polled({ events, cursor, truncated, has_more, next_poll_ms }: Fields) {
  const told = (events as Fields[]).map(
    ({ event_id: eventId, ...rest }): Told => ({ eventId, ...rest }),
  )
  return { events: told, cursor, truncated, hasMore: has_more, nextPollMs: next_poll_ms }
}

/** By the sketch, and by the proposal. */
const CODES: Readonly<
  Partial<Record<ErrorCode | 'unsupported', readonly [sketch: number, proposal: number]>>
> = {
  not_found: [-32_011, -32_023],
  forbidden: [-32_012, -32_024],
  unauthenticated: [-32_012, -32_024],
  rate_limited: [-32_013, -32_025],
  unsupported: [-32_014, -32_026],
  // The one state that forbids a subscription: its receiver does not answer as it should.
  conflict: [-32_015, -32_027],
  shape: [ProtocolErrorCode.InvalidParams, ProtocolErrorCode.InvalidParams],
  rule: [ProtocolErrorCode.InvalidParams, ProtocolErrorCode.InvalidParams],
}
const OURS = [ProtocolErrorCode.InternalError, ProtocolErrorCode.InternalError] as const

function problem(
  server: Server,
  code: ErrorCode | 'unsupported',
  errors: readonly string[],
): ProtocolError {
  const { extensions } = (server.getClientCapabilities() ?? {}) as { extensions?: Fields }
  const [sketch, proposal] = CODES[code] ?? OURS
  const follows = extensions?.[EXTENSION] === undefined ? sketch : proposal
  return new ProtocolError(follows, errors.join('; '), { errors })
}
