/** Sessions: speak to an agent, and see what became of it. */

import { z } from 'zod'
import { isZone, localInstant, zoneError } from '../../../packages/schedule/src/index.ts'
import {
  type Context,
  listQuery,
  mergedPages,
  notify,
  opaqueJson,
  operation,
  pageFrom,
  pageOf,
} from '../../api/contract.ts'
import { messageLineage } from '../../api/lineage.ts'
import { Refusal } from '../../core/errors.ts'
import { keyPart, sessionKey, shortName, timezone } from '../../core/fields.ts'
import { newId } from '../../core/ids.ts'
import { bucketOf, type EventType, type SessionRef, TEXT_MAX_BYTES } from '../../core/session.ts'
import { both } from '../../store/db.ts'
import { rememberZone } from '../people/rows.ts'
import { timerView, timerViewSchema } from '../timers/operations.ts'
import { listTimers, type TimerRow } from '../timers/rows.ts'
import { messagesAmong } from './effect-rows.ts'
import type { Appended, NewEvent } from './event-rows.ts'
import { GATE_REASONS, gateOf } from './gate-operations.ts'
import { eventSchema, eventView, sessionLists } from './list-operations.ts'
import { requireAgent, sessionNotFound, sessionOf, sessionParams } from './ref-operations.ts'
import { getSession, listSessions, type SessionHead } from './rows.ts'

export async function appendEvent(
  ctx: Context,
  session: SessionRef,
  type: EventType,
  payload: string,
  clientId: string | null,
  about?: NewEvent['about'],
): Promise<Appended> {
  requireAgent(ctx, session)
  const traceparent = ctx.traceparent ?? null
  const lineage = await messageLineage(ctx)
  const event: NewEvent = {
    ...{ session, id: newId(), type, payload, clientId, traceparent, lineage },
    ...(about === undefined ? {} : { about }),
  }
  if (!ctx.inTransaction) return ctx.kernel.writes.append({ ...event, audit: ctx.entry ?? null })
  const row = await ctx.kernel.writes.append(event, ctx.db)
  notify(ctx, 'turns')
  notify(ctx, 'outbox', [session.key])
  return row
}

const CLIENT_ID_MAX = 128
const TOOL_ID_MAX = 128
const SEARCH_MAX = 200
const LIST = { max: 500, default: 100 } as const

/** `created_at` as the database prints it, microseconds and offset included. */
const instantText = z.string().refine((text) => {
  const [, date = '', time = '', zone = ''] =
    /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.\d{1,6})?([+-]\d\d(?::\d\d)?)$/.exec(text) ?? []
  const offset = zone.length === 3 ? `${zone}:00` : zone
  return (
    localInstant(`${date}T${time}${offset}`, 'UTC') !== null &&
    Number(zone.slice(1, 3)) < 16 &&
    date >= '0001'
  )
})

/** Of a message as it was kept: it may hold the question that it answered. */
const textIn = (payload: string) => (JSON.parse(payload) as { text?: unknown }).text

const postMessage = operation({
  name: 'post_message',
  method: 'POST',
  path: '/v1/sessions/{session_key}/messages',
  tag: 'Sessions',
  summary: 'Say something to the agent',
  description:
    'Appends a user_message to the session. Your own `id` makes it idempotent: the same id and text again answers 200 with the first event, another text 409.',
  params: sessionParams,
  body: z.object({
    text: z
      .string()
      .refine((text) => text.trim() !== '', 'must not be blank')
      .refine(
        (text) => Buffer.byteLength(text) <= TEXT_MAX_BYTES,
        `must be at most ${TEXT_MAX_BYTES} bytes`,
      ),
    id: z.string().min(1).max(CLIENT_ID_MAX).optional(),
    timezone: timezone
      .optional()
      .describe('Where the person is, an IANA name: kept for them unless their zone is known.'),
  }),
  status: 202,
  repeats: true,
  creates: true,
  audit: 'own',
  owner: 'path',
  roles: ['admin', 'service', 'agent', 'user'],
  output: z.object({
    event: eventSchema,
    held: z
      .boolean()
      .optional()
      .describe(
        'The agent, the person or everything is stopped: it is answered when that is resumed.',
      ),
  }),
  async run(ctx, { params, body }) {
    const session = sessionOf(ctx.actor, params.session_key)
    const payload = JSON.stringify({ text: body.text })
    if (body.timezone !== undefined) {
      if (!isZone(body.timezone)) throw new Refusal('rule', zoneError(body.timezone))
      // Before the message: its own turn is to know it.
      await rememberZone(ctx.db, session.userId, body.timezone)
    }
    const row = await appendEvent(ctx, session, 'user_message', payload, body.id ?? null)
    if (!row.fresh && (row.type !== 'user_message' || textIn(row.payload) !== body.text)) {
      throw new Refusal(
        'conflict',
        `the message id ${body.id} was used in this session with another text`,
      )
    }
    const held = ctx.kernel.app.stops.holds(session) ? { held: true } : {}
    return {
      status: row.fresh ? 202 : 200,
      body: { event: eventView(row), ...held },
      about: { id: row.id },
    }
  },
})

const postToolResult = operation({
  name: 'post_tool_result',
  method: 'POST',
  path: '/v1/sessions/{session_key}/tool-results',
  tag: 'Sessions',
  summary: 'Hand the agent the result of a tool',
  params: sessionParams,
  body: z.object({ tool_id: z.string().min(1).max(TOOL_ID_MAX), payload: opaqueJson }),
  opaque: ['payload'],
  status: 202,
  creates: true,
  audit: 'own',
  owner: 'path',
  roles: ['admin', 'service', 'agent'],
  output: z.object({ event: eventSchema }),
  async run(ctx, { params, body }) {
    const session = sessionOf(ctx.actor, params.session_key)
    const payload = `{"tool_id":${JSON.stringify(body.tool_id)},"payload":${body.payload.text}}`
    const row = await appendEvent(ctx, session, 'tool_result', payload, null)
    return { body: { event: eventView(row) }, about: { id: row.id } }
  },
})

const ACKS_MAX = 1_000

const ackMessages = operation({
  name: 'ack_messages',
  method: 'POST',
  path: '/v1/sessions/{session_key}/acks',
  tag: 'Sessions',
  summary: 'Acknowledge messages that a stream has shown',
  description:
    'As an ack over the socket: the messages count as delivered, and no later connection gets them. Acknowledging one again does no harm; if an id is not a message of this session, none is acknowledged.',
  params: sessionParams,
  body: z.object({ ids: z.array(z.uuid()).min(1).max(ACKS_MAX) }),
  owner: 'path',
  audit: 'none',
  roles: ['admin', 'service', 'agent', 'user'],
  output: z.object({ acknowledged: z.int() }),
  async run(ctx, { params, body }) {
    const session = sessionOf(ctx.actor, params.session_key)
    const ids = [...new Set(body.ids)]
    const known = await messagesAmong(ctx.db, session, ids)
    const unknown = ids.filter((id) => !known.has(id))
    if (unknown.length > 0)
      throw new Refusal(
        'not_found',
        unknown.map((id) => `no message ${id} in this session`),
      )
    const answer = { body: { acknowledged: ids.length } }
    const { sockets } = ctx.kernel.app
    // After this transaction: receipts are written in groups, over a connection of their own.
    const later = async () => {
      await Promise.all(ids.map((id) => sockets.acknowledge(session, id)))
      return answer
    }
    return { ...answer, later }
  },
})

const gateSchema = z
  .object({
    allowed: z.boolean(),
    reason: z.enum(GATE_REASONS).optional(),
    until: z.iso.datetime().optional(),
  })
  .describe(
    'Whether a follow-up would be sent now, by the limits, the preferences of the person, and stops. What was promised is never dropped.',
  )
const headSchema = z.object({
  session_key: z.string(),
  last_seq: z.int(),
  done_seq: z.int(),
  checkpoint_id: z.string().nullable(),
  consecutive_autonomous_msgs: z.int(),
  last_autonomous_at: z.iso.datetime().nullable(),
  gate: gateSchema,
  timers: z.array(timerViewSchema),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  last_activity_at: z.iso.datetime().describe('Its newest event, or the end of its newest turn.'),
})

function headView(ctx: Context, head: SessionHead, timers: readonly TimerRow[]) {
  const gate = gateOf(ctx, head)
  const {
    session_key,
    last_seq,
    done_seq,
    checkpoint_id,
    consecutive_autonomous_msgs,
    last_autonomous_at,
  } = head
  const { created_at, updated_at } = head
  return {
    session_key,
    last_seq,
    done_seq,
    checkpoint_id,
    consecutive_autonomous_msgs,
    last_autonomous_at,
    gate,
    timers: timers.map(timerView),
    created_at,
    updated_at,
    last_activity_at: updated_at,
  }
}

const getSessionOp = operation({
  name: 'get_session',
  method: 'GET',
  path: '/v1/sessions/{session_key}',
  tag: 'Sessions',
  summary: 'The head of a session: how far it is, and whether the agent may follow up',
  params: sessionParams,
  owner: 'path',
  roles: ['admin', 'service', 'agent', 'user'],
  output: headSchema,
  async run(ctx, { params }) {
    const session = sessionOf(ctx.actor, params.session_key)
    const [head, timers] = await both(
      ctx.db,
      (db) => getSession(db, session),
      (db) => listTimers(db, session, 'pending'),
    )
    if (head === null) throw sessionNotFound(session.key)
    return { body: headView(ctx, head, timers) }
  },
})

const listSessionsOp = operation({
  name: 'list_sessions',
  method: 'GET',
  path: '/v1/sessions',
  tag: 'Sessions',
  summary: 'Sessions, newest first',
  description:
    '`last_activity_at` is in every row; order=activity sorts by it. Whole rows are sorted then: with a million sessions, name a user.',
  query: listQuery({ ...LIST, cursor: z.tuple([instantText, sessionKey]) }).extend({
    user_id: keyPart.optional().describe('Whose. Admin and service only.'),
    agent_id: shortName.optional().describe('Only those of this agent.'),
    q: z
      .string()
      .min(1)
      .max(SEARCH_MAX)
      .optional()
      .describe('In the session key: person, agent or thread.'),
    order: z.enum(['created', 'activity']).default('created'),
  }),
  across: mergedPages,
  owner: 'query',
  roles: ['admin', 'service', 'agent', 'user'],
  output: pageOf(headSchema.omit({ timers: true })),
  async run(ctx, { query }) {
    const { limit, cursor = null, q = null, order, agent_id } = query
    const userId = ctx.owner ?? null
    const agentId = agent_id ?? ctx.actor.agentId
    const rows = await listSessions(ctx.db, {
      within: userId === null || agentId === null ? userId : `${userId}:${agentId}`,
      bucket: userId === null ? null : bucketOf(userId),
      agentId: userId === null ? agentId : null,
      ...{ q, order, limit: limit + 1, after: cursor },
    })
    return pageFrom(rows, query.limit, {
      at: (row) => [row.at_text, row.session_key],
      view: (row) => {
        const { timers: _, ...head } = headView(ctx, row, [])
        return head
      },
    })
  },
})

export const sessions = [
  postMessage,
  postToolResult,
  ackMessages,
  listSessionsOp,
  getSessionOp,
  ...sessionLists,
]
