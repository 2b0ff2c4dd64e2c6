/** What happened in a session, row by row: events, what turns asked for, and the turns themselves. */
import { z } from 'zod'
import { RawJson } from '../../../packages/exact-json/src/index.ts'
import { type Context, listQuery, operation, page, pageOf } from '../../api/contract.ts'
import { INT_MAX, whole } from '../../core/fields.ts'
import type { SessionRef } from '../../core/session.ts'
import type { EffectView } from './effect-rows.ts'
import { type EventRow, listEvents } from './event-rows.ts'
import { REASONS } from './gate.ts'
import { effectsPage, eventsPage, type Span, turnsPage } from './page-rows.ts'
import { rowsOf, sessionOf, sessionParams } from './ref-operations.ts'
import type { SessionHead } from './rows.ts'
import type { TurnRow } from './turn-rows.ts'

const LIST = { max: 500, default: 100 } as const

/** A position in a cursor: anybody can write one, and the column is an int. */
const seq = z.int().min(0).max(INT_MAX)
const position = whole({ min: 0, max: INT_MAX })

/** Which part of a session, and from which end. */
const span = {
  after_seq: position.optional().describe('Only of events after this one.'),
  before_seq: position.optional().describe('Only of events before this one.'),
  order: z.enum(['asc', 'desc']).default('asc').describe('desc: the newest first.'),
}
type SpanQuery = z.output<z.ZodObject<typeof span>>

function spanOf({ after_seq, before_seq, order }: SpanQuery): Span {
  return { after: after_seq ?? 0, before: before_seq ?? null, newestFirst: order === 'desc' }
}

export const eventSchema = z.object({
  id: z.uuid(),
  session_key: z.string(),
  seq: z.int(),
  type: z.string(),
  payload: z.unknown(),
  created_at: z.iso.datetime(),
})

export function eventView(row: EventRow) {
  const { id, session_key, seq, type, created_at } = row
  return { id, session_key, seq, type, payload: new RawJson(row.payload), created_at }
}

const listEventsOp = operation({
  name: 'list_events',
  method: 'GET',
  path: '/v1/sessions/{session_key}/events',
  tag: 'Sessions',
  summary: 'The log of a session, in seq order',
  params: sessionParams,
  query: listQuery({ ...LIST, cursor: z.tuple([seq]) }).extend(span),
  owner: 'path',
  roles: ['admin', 'service', 'agent', 'user'],
  output: pageOf(eventSchema),
  async run(ctx, { params, query }) {
    const from = query.cursor?.[0] ?? null
    const { shown, more } = await rowsOf(ctx, params.session_key, query.limit, (session) =>
      eventsPage(ctx.db, session, { ...spanOf(query), from, limit: query.limit + 1 }),
    )
    return { body: page(shown.map(eventView), more ? [shown.at(-1)?.seq] : null) }
  },
})

const EFFECT_STATUSES = ['pending', 'executing', 'completed', 'failed'] as const

const effectSchema = z.object({
  id: z.uuid(),
  type: z.string(),
  payload: z.unknown(),
  status: z
    .enum(EFFECT_STATUSES)
    .describe('failed: refused for good; a socket that connects still gets it.'),
  reason: z
    .enum(REASONS)
    .describe('Why: to a message, on its own initiative, as arranged, or about work.'),
  channel: z.string().nullable().describe('By which it arrived; null before.'),
  attempt_count: z.int(),
  last_attempt_at: z.iso.datetime().nullable(),
  last_error: z.string().nullable().describe('Why it has not arrived, when last tried.'),
  dedupe_key: z.string(),
  checkpoint_id: z.string(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
})

function effectView({ position: _, ...row }: EffectView) {
  return { ...row, payload: new RawJson(row.payload) }
}

const listEffectsOp = operation({
  name: 'list_effects',
  method: 'GET',
  path: '/v1/sessions/{session_key}/effects',
  tag: 'Sessions',
  summary: 'What turns asked for, in creation order, and whether it was delivered',
  params: sessionParams,
  query: listQuery({ ...LIST, cursor: z.tuple([z.int().min(0)]) }).extend({
    ...span,
    status: z.enum(EFFECT_STATUSES).optional(),
  }),
  owner: 'path',
  roles: ['admin', 'service', 'agent', 'user'],
  output: pageOf(effectSchema),
  async run(ctx, { params, query }) {
    const { shown, more } = await rowsOf(ctx, params.session_key, query.limit, (session) =>
      effectsPage(ctx.db, session, {
        ...spanOf(query),
        status: query.status ?? null,
        from: query.cursor?.[0] ?? null,
        limit: query.limit + 1,
      }),
    )
    return { body: page(shown.map(effectView), more ? [shown.at(-1)?.position] : null) }
  },
})

const turnSchema = z.object({
  event_seq: z.int(),
  event_id: z.uuid(),
  attempt: z.int(),
  status: z.enum(['committed', 'failed', 'retrying', 'running']),
  started_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
  error: z.string().optional(),
  checkpoint_id: z.string().optional(),
  effect_ids: z.array(z.uuid()),
  verdicts: z.array(z.unknown()),
})

function turnView(row: TurnRow) {
  const { error, checkpoint_id, verdicts, ...rest } = row
  return {
    ...rest,
    ...(error === null ? {} : { error }),
    ...(checkpoint_id === null ? {} : { checkpoint_id }),
    verdicts: new RawJson(verdicts),
  }
}

/** A turn under way has no row yet: its lease on the session's head says so. */
async function runningTurn(ctx: Context, session: SessionRef, head: SessionHead) {
  if (!head.leased || head.claimed_at === null) return []
  const [event] = await listEvents(ctx.db, session, head.done_seq, 1)
  if (event === undefined) return []
  const at = event.seq
  const [before] = await turnsPage(ctx.db, session, {
    ...{ after: at - 1, before: at + 1, newestFirst: true },
    ...{ from: null, limit: 1 },
  })
  return [
    {
      event_seq: event.seq,
      event_id: event.id,
      attempt: (before?.attempt ?? 0) + 1,
      status: 'running',
      started_at: head.claimed_at,
      finished_at: null,
      effect_ids: [],
      verdicts: [],
    },
  ]
}

/** The turn under way is the newest of all: on the last page, or with the newest first on the first. */
function showsNewest(query: SpanQuery & { cursor?: unknown }, seq: number, more: boolean): boolean {
  const { after_seq = 0, before_seq = INT_MAX + 1 } = query
  if (seq <= after_seq || seq >= before_seq) return false
  return query.order === 'desc' ? query.cursor === undefined : !more
}

const listTurnsOp = operation({
  name: 'list_turns',
  method: 'GET',
  path: '/v1/sessions/{session_key}/turns',
  tag: 'Sessions',
  summary: 'Every attempt of the agent, in order, with the verdicts of the gate',
  params: sessionParams,
  query: listQuery({ ...LIST, cursor: z.tuple([seq, seq]) }).extend(span),
  owner: 'path',
  roles: ['admin', 'service', 'agent', 'user'],
  output: pageOf(turnSchema),
  async run(ctx, { params, query }) {
    const session = sessionOf(ctx.actor, params.session_key)
    const { head, shown, more } = await rowsOf(ctx, params.session_key, query.limit, () =>
      turnsPage(ctx.db, session, {
        ...spanOf(query),
        from: query.cursor ?? null,
        limit: query.limit + 1,
      }),
    )
    const last = shown.at(-1)
    const next = more && last !== undefined ? [last.event_seq, last.attempt] : null
    const running = showsNewest(query, head.done_seq + 1, more)
      ? await runningTurn(ctx, session, head)
      : []
    const turns = shown.map(turnView)
    const data = query.order === 'desc' ? [...running, ...turns] : [...turns, ...running]
    return { body: page(data, next) }
  },
})

export const sessionLists = [listEventsOp, listEffectsOp, listTurnsOp]
