/** Intents as workers outside have them: what is due, taking it for a while, saying what came of it, and the record. */
import { randomInt } from 'node:crypto'
import { z } from 'zod'
import { RawJson, writeJson } from '../../../packages/exact-json/src/index.ts'
import { localInstant } from '../../../packages/schedule/src/index.ts'
import { type Across, idParam, opaqueJson, operation } from '../../api/contract.ts'
import { mergedArrays } from '../../api/shards.ts'
import { Refusal } from '../../core/errors.ts'
import { INSTANT_FORM, INT_MAX, keyPart, whole } from '../../core/fields.ts'
import { newId } from '../../core/ids.ts'
import { storableText } from '../../core/text.ts'
import { intentNotFound, ownIntents, page } from './operations.ts'
import {
  claimIntent,
  claimPending,
  type IntentReport,
  listExecutions,
  pendingIntents,
  reportUnder,
  writeReport,
} from './report-rows.ts'
import { getIntent, type IntentRow } from './rows.ts'
import { afterReport, EXECUTION_STATUSES, isExpired, termsOf } from './rules.ts'
import { executionOf, executionView, intentView, viewOf } from './view-operations.ts'

/** All that a worker can want to have in hand, and no more than a process can. */
const PENDING_MAX = 1_000
const PENDING_LIMIT = { min: 1, max: PENDING_MAX, default: PENDING_MAX }
const CLAIM_SECONDS = { min: 1, max: 3_600 }
const KEPT_TEXT_MAX = 2_000
const WORKERS = ['admin', 'service', 'agent', 'worker'] as const

const params = z.object({ id: idParam })

const claimed = { claim_token: z.uuid(), claimed_until: z.iso.datetime() }

function claimOf({ claim_token, claimed_until }: IntentRow) {
  return { claim_token, claimed_until }
}

/** One shard after the other until there are enough, starting at a random one, so that none is always last. */
const claimAcross: Across = async (shards, ask, input) => {
  const { limit, ...asked } = input.body as { limit: number }
  const start = randomInt(shards)
  const taken: unknown[] = []
  for (let n = 0; n < shards && taken.length < limit; n++) {
    const left = { ...asked, limit: limit - taken.length }
    const { body } = await ask((start + n) % shards, { ...input, body: left })
    taken.push(...(body as unknown[]))
  }
  return { body: taken }
}

const pendingOp = operation({
  name: 'list_pending_intents',
  method: 'GET',
  path: '/v1/intents/pending',
  tag: 'Intents',
  summary: 'Intents that are due, soonest first, for workers outside',
  description: 'Reads only. `POST /v1/intents/claims` leases what is due.',
  query: z.object({
    user_id: keyPart.optional(),
    limit: whole(PENDING_LIMIT),
    offset: page.offset,
    claim: z
      .never({ error: 'a GET never writes; POST /v1/intents/claims {"seconds": …} leases' })
      .optional(),
  }),
  across: mergedArrays('next_check', 'soonest'),
  owner: 'query',
  roles: [...WORKERS],
  output: z.array(intentView),
  async run(ctx, { query }) {
    const { limit, offset } = query
    const userId = ctx.owner ?? null
    const rows = await pendingIntents(ctx.db, { userId, limit, offset })
    return { body: rows.map((row) => viewOf(row)) }
  },
})

const claimPendingOp = operation({
  name: 'claim_pending_intents',
  method: 'POST',
  path: '/v1/intents/claims',
  tag: 'Intents',
  summary: 'Lease intents that are due, soonest first, for workers outside',
  description:
    'Each answered intent has a `claim_token` and is leased for `seconds`. No other caller gets it until then.',
  body: z.object({
    seconds: whole(CLAIM_SECONDS),
    limit: whole(PENDING_LIMIT),
    user_id: keyPart.optional(),
  }),
  across: claimAcross,
  // A worker that polls would fill the log; its reports are in it.
  audit: 'none',
  owner: 'body',
  roles: [...WORKERS],
  output: z.array(intentView.extend(claimed)),
  async run(ctx, { body }) {
    const { seconds, limit } = body
    const tokens = Array.from({ length: limit }, newId)
    const userId = ctx.owner ?? null
    const rows = await claimPending(ctx.db, { userId, seconds, tokens })
    return { body: rows.map((row) => ({ ...viewOf(row), ...claimOf(row) })) }
  },
})

/** Why a worker outside has nothing to do with it just now. */
function requireServed(row: IntentRow): void {
  if (!row.enabled) throw new Refusal('conflict', 'this intent is disabled')
  if (row.agent_id === null) return
  throw new Refusal('conflict', `this intent is run by the agent ${row.agent_id} here`)
}

const claimOp = operation({
  name: 'claim_intent',
  method: 'POST',
  path: '/v1/intents/{id}/claim',
  tag: 'Intents',
  summary: 'Take one intent for a while, due or not',
  params,
  body: z.object({ seconds: whole(CLAIM_SECONDS) }),
  creates: true,
  owner: 'row',
  roles: [...WORKERS],
  output: z.object({ intent: intentView, ...claimed }),
  async run(ctx, { params, body }) {
    const row = await ctx.db.tx(async (tx) => {
      const locked = await getIntent(tx, ctx.actor.userId, params.id, true)
      if (locked === null) throw intentNotFound(params.id)
      requireServed(locked)
      if (isExpired(locked, locked.now)) throw new Refusal('conflict', 'this intent has expired')
      const { claimed_until: until, now } = locked
      if (until !== null && until > now)
        throw new Refusal('conflict', `this intent is claimed until ${until.toISOString()}`)
      return claimIntent(tx, locked, { seconds: body.seconds, token: newId() })
    })
    return { body: { intent: viewOf(row), ...claimOf(row) }, about: { owner: row.user_id } }
  },
})

const ms = z.int().min(0).max(INT_MAX).nullish()
/** Texts of any length a request may have: losing a report for its length would lose that it happened. */
const keptText = z.string().nullish()

const fireBody = z.object({
  status: z.enum(EXECUTION_STATUSES),
  trigger_data: opaqueJson.optional(),
  gate_result: opaqueJson
    .optional()
    .describe('Its `defer_until` is when a blocked one is due again.'),
  message_id: z.string().max(128).nullish(),
  message_preview: keptText.describe(`The first ${KEPT_TEXT_MAX} characters are kept.`),
  evaluation_ms: ms,
  generation_ms: ms,
  delivery_ms: ms,
  error_message: keptText.describe(`The first ${KEPT_TEXT_MAX} characters are kept.`),
  claim_token: z.uuid().nullish(),
})
type FireBody = z.output<typeof fireBody>

const cut = (text: string | null | undefined) =>
  text === null || text === undefined ? null : storableText(text, KEPT_TEXT_MAX)
const given = (json: RawJson | undefined) =>
  json === undefined || json.text === 'null' ? null : json.text

function reportOf(body: FireBody): IntentReport {
  return {
    id: newId(),
    status: body.status,
    trigger_data: given(body.trigger_data),
    gate_result: given(body.gate_result),
    message_id: body.message_id ?? null,
    message_preview: cut(body.message_preview),
    evaluation_ms: body.evaluation_ms ?? null,
    generation_ms: body.generation_ms ?? null,
    delivery_ms: body.delivery_ms ?? null,
    error_message: cut(body.error_message),
    claim_token: body.claim_token?.toLowerCase() ?? null,
  }
}

/** `gate_result` is the worker's own but for this member. */
function deferUntil(report: IntentReport, timezone: string): Date | null {
  if (report.status !== 'gate_blocked' || report.gate_result === null) return null
  const result = JSON.parse(report.gate_result) as { defer_until?: unknown } | null
  const text = result?.defer_until ?? null
  if (text === null) return null
  const at = typeof text === 'string' ? localInstant(text, timezone) : null
  if (at !== null) return new Date(at)
  throw new Refusal('shape', `body.gate_result.defer_until: ${INSTANT_FORM}`)
}

const fireOp = operation({
  name: 'fire_intent',
  method: 'POST',
  path: '/v1/intents/{id}/fire',
  tag: 'Intents',
  summary: 'Report what came of an intent; its next check follows from that',
  description:
    'With the `claim_token` of a claim the same report may be sent again: it counts once and is answered as the first time. A token that was lost meanwhile is 409.',
  params,
  body: fireBody,
  opaque: ['trigger_data', 'gate_result'],
  creates: true,
  owner: 'row',
  roles: [...WORKERS],
  output: z.object({
    intent_id: z.uuid(),
    status: z.enum(EXECUTION_STATUSES),
    next_check: z.iso.datetime().nullable(),
    enabled: z.boolean(),
    execution_count: z.int(),
    was_disabled_reason: z.string().optional(),
  }),
  async run(ctx, { params, body }) {
    const report = reportOf(body)
    // The next slot is reckoned here, so the row is held from reading to writing: reports come one after the other.
    const { answer, heldBack } = await ctx.db.tx(async (tx) => {
      const row = await getIntent(tx, ctx.actor.userId, params.id, true)
      if (row === null) throw intentNotFound(params.id)
      const token = report.claim_token
      const before = token === null ? null : await reportUnder(tx, row, token)
      if (before !== null) return { answer: answeredBefore(before, report), heldBack: false }
      requireServed(row)
      if (token !== null && token !== row.claim_token)
        throw new Refusal('conflict', 'claim_token: this claim was lost; claim the intent again')
      const asked = { status: report.status, deferUntil: deferUntil(report, row.timezone) }
      const settled = afterReport(termsOf(row), asked, row.now)
      const { executed: _, ...state } = settled
      const text = writeJson({ intent_id: row.id, status: report.status, ...state })
      await writeReport(tx, row, report, settled, text)
      return { answer: text, heldBack: report.status === 'gate_blocked' }
    })
    if (heldBack) ctx.kernel.app.meter.heldBack({ trigger: 'intent', triggerId: params.id })
    return { body: new RawJson(answer) }
  },
})

function answeredBefore(
  before: { readonly status: string; readonly answer: string },
  report: IntentReport,
): string {
  if (before.status === report.status) return before.answer
  throw new Refusal('conflict', `claim_token: this claim was reported as ${before.status} already`)
}

const historyOp = operation({
  name: 'list_intent_executions',
  method: 'GET',
  path: '/v1/intents/{id}/history',
  tag: 'Intents',
  summary: 'What came of an intent each time, newest first',
  params,
  query: z.object(page),
  owner: 'row',
  roles: ['admin', 'service', 'agent', 'user'],
  output: z.array(executionView),
  async run(ctx, { params, query }) {
    const row = await getIntent(ctx.db, ctx.actor.userId, params.id)
    if (row === null) throw intentNotFound(params.id)
    return { body: (await listExecutions(ctx.db, row, query)).map(executionOf) }
  },
})

/** `pending` before `{id}`: a table reads in this order, whatever a router does. */
export const intents = [pendingOp, claimPendingOp, ...ownIntents, claimOp, fireOp, historyOp]
