/** People: their preferences, pauses, and what is deferred for them. */
import { z } from 'zod'
import { RawJson } from '../../../packages/exact-json/src/index.ts'
import { formatLocal } from '../../../packages/schedule/src/index.ts'
import {
  type Actor,
  type Context,
  idParam,
  listQuery,
  newestPage,
  notify,
  operation,
  pageOf,
} from '../../api/contract.ts'
import { Refusal } from '../../core/errors.ts'
import { KEY_PART, KEY_PART_FORM, LOCAL_USER } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { databaseNow } from '../../store/due.ts'
import { asPerson } from '../../store/owned.ts'
import { REASONS } from '../sessions/gate.ts'
import { type PreferenceWish, pauseEnd } from './change.ts'
import {
  askForDeferred,
  DEFERRED_KINDS,
  DEFERRED_STATUSES,
  type DeferredRow,
  listDeferred,
  type Moved,
} from './deferred-rows.ts'
import { type PersonRow, preferenceFields, preferencesOf, quietWindow } from './fields.ts'
import { DEFER_RULES, unaskedToday } from './preferences.ts'
import { quietUntil } from './quiet.ts'
import { changePerson, getPerson } from './rows.ts'
import { preferenceWords, RULE_WORDS } from './words.ts'

const PHRASE_MAX = 200
const IDS_MAX = 500

export const personParams = z.object({
  user_id: z
    .string()
    .regex(KEY_PART, KEY_PART_FORM)
    .describe('A user id, or "me": whom the credentials stand for.'),
})
const roles = ['admin', 'service', 'agent', 'user'] as const

const view = z.object({
  user_id: z.string(),
  timezone: z.string().describe("Of the person; while nobody knows it, the server's own."),
  timezone_known: z.boolean(),
  quiet_hours: z.array(quietWindow),
  most_unasked_per_day: z.int().nullable(),
  paused_until: z.iso.datetime().nullable(),
  muted_agents: z.array(z.string()),
  quiet_until: z.iso.datetime().nullable().describe('Of the quiet hours that are now.'),
  unasked_today: z.int(),
  deferred: z.int().describe('How many slots wait for their moment; at most 1,000 are counted.'),
  words: z.array(z.string()),
  notes: z.array(z.string()).optional(),
})

const COUNTED_MAX = 1_000

/** The person that the path names. */
const personOf = ({ owner }: Context) => owner ?? LOCAL_USER

const serverZone = ({ kernel }: Context) => kernel.policy.timezone ?? 'UTC'

async function viewOf(ctx: Context, db: Db, userId: string, notes: readonly string[] = []) {
  const row = (await getPerson(db, userId)) ?? nobody(userId)
  const now = await databaseNow(db)
  const wanted = preferencesOf(row, serverZone(ctx))
  const preferences = { ...wanted, mutedAgents: mutedFor(ctx.actor, wanted.mutedAgents) }
  const waiting = await listDeferred(db, {
    ...{ owner: userId, status: 'waiting', limit: COUNTED_MAX },
  })
  const { pausedUntil } = preferences
  return {
    user_id: userId,
    timezone: preferences.timezone,
    timezone_known: row.timezone !== null,
    quiet_hours: preferences.quietHours,
    most_unasked_per_day: preferences.mostUnaskedPerDay,
    paused_until: pausedUntil !== null && pausedUntil > now ? pausedUntil : null,
    muted_agents: preferences.mutedAgents,
    quiet_until: quietUntil(preferences.quietHours, preferences.timezone, now),
    unasked_today: unaskedToday(preferences, now),
    deferred: waiting.length,
    words: [
      ...preferenceWords(preferences, row.timezone !== null, now),
      ...(waiting.length > 0 ? [`${waiting.length} deferred until their moment comes.`] : []),
    ],
    ...(notes.length > 0 && { notes }),
  }
}

/** A key bound to an agent sees and changes whether that one is muted, and knows of no other. */
function mutedFor({ agentId }: Actor, muted: readonly string[]): readonly string[] {
  return agentId === null ? muted : muted.filter((each) => each === agentId)
}

function mutedBy({ agentId }: Actor, wish: PreferenceWish, row: PersonRow): PreferenceWish {
  if (agentId === null || wish.muted_agents === undefined) return wish
  const other = wish.muted_agents?.find((each) => each !== agentId)
  if (other !== undefined)
    throw new Refusal('not_found', `muted_agents: there is no agent ${other} here`)
  const others = row.muted_agents.filter((each) => each !== agentId)
  return { ...wish, muted_agents: [...others, ...(wish.muted_agents ?? [])] }
}

function nobody(userId: string): PersonRow {
  return {
    ...{ bucket: 0, user_id: userId, timezone: null, quiet_hours: [], most_unasked_per_day: null },
    ...{ paused_until: null, muted_agents: [], has_preferences: false },
    ...{ unasked_day: null, unasked_count: 0 },
  }
}

/** Changes what somebody wants, and with it the moments of what is deferred for them. */
async function change(
  ctx: Context,
  wishOf: (row: PersonRow, now: Date) => { wish: PreferenceWish; notes?: readonly string[] },
) {
  const userId = personOf(ctx)
  let notes: readonly string[] = []
  const body = await ctx.db.tx(async (tx) => {
    // What they want holds for all their agents, also for what is deferred by others.
    const { preferences, moved } = await asPerson(tx, ctx.actor.agentId, () =>
      changePerson(tx, userId, serverZone(ctx), (row, now) => {
        const asked = wishOf(row, now)
        notes = asked.notes ?? []
        return mutedBy(ctx.actor, asked.wish, row)
      }),
    )
    return viewOf(ctx, tx, userId, [...notes, ...movedWords(moved, preferences.timezone)])
  })
  notify(ctx, 'clock')
  return { body, about: { id: userId } }
}

function movedWords(moved: readonly Moved[], timezone: string): string[] {
  const at = new Map<string, number>()
  for (const { release_at } of moved) {
    const when =
      release_at === null ? '' : `released at ${formatLocal(release_at.getTime(), timezone)}`
    at.set(when, (at.get(when) ?? 0) + 1)
  }
  return [...at].map(([when, count]) => `${count} deferred, now ${when}`)
}

const getPersonOp = operation({
  name: 'get_preferences',
  method: 'GET',
  path: '/v1/people/{user_id}',
  tag: 'People',
  summary: 'When, how often and by whom somebody wants to be spoken to',
  params: personParams,
  owner: 'path',
  roles,
  output: view,
  run: async (ctx) => ({ body: await viewOf(ctx, ctx.db, personOf(ctx)) }),
})

const putPersonOp = operation({
  name: 'set_preferences',
  method: 'PUT',
  path: '/v1/people/{user_id}',
  tag: 'People',
  summary: 'Change when, how often and by whom somebody wants to be spoken to',
  description:
    'What is left out stays as it is, null empties it. What is deferred gets its moment again, and `notes` says which.',
  params: personParams,
  body: z.object(preferenceFields),
  owner: 'path',
  roles,
  output: view,
  run: (ctx, { body }) => change(ctx, () => ({ wish: body })),
})

const pauseOp = operation({
  name: 'pause',
  method: 'POST',
  path: '/v1/people/{user_id}/pause',
  tag: 'People',
  summary: 'Nothing but answers and what is critical for a while',
  description:
    'Takes exactly one of `until`, an instant or a phrase ("tomorrow at 9am"), and `for` ("2 hours").',
  params: personParams,
  body: z
    .object({
      until: z.string().min(1).max(PHRASE_MAX).optional(),
      for: z.string().min(1).max(PHRASE_MAX).optional(),
    })
    .refine(
      (body) => (body.until === undefined) !== (body.for === undefined),
      'takes exactly one of until and for',
    ),
  owner: 'path',
  roles,
  output: view,
  run: (ctx, { body }) =>
    change(ctx, (row, now) => {
      const { until, notes } = pauseEnd(body, row.timezone ?? serverZone(ctx), now)
      return { wish: { paused_until: until.toISOString() }, notes }
    }),
})

const resumeOp = operation({
  name: 'end_pause',
  method: 'DELETE',
  path: '/v1/people/{user_id}/pause',
  tag: 'People',
  summary: 'End a pause',
  params: personParams,
  owner: 'path',
  roles,
  output: view,
  run: (ctx) => change(ctx, () => ({ wish: { paused_until: null } })),
})

const deferredView = z.object({
  id: z.uuid(),
  session_key: z.string(),
  kind: z.enum(DEFERRED_KINDS),
  trigger_id: z.uuid().nullable(),
  name: z.string(),
  scheduled_for: z.iso.datetime(),
  reason: z.enum(REASONS),
  rule: z.enum(DEFER_RULES),
  why: z.string(),
  status: z.enum(DEFERRED_STATUSES),
  release_at: z.iso.datetime().nullable(),
  released_seq: z.int().nullable().describe('The event of the session it was released as.'),
  deferred_at: z.iso.datetime(),
  payload: z.unknown(),
})

function deferredViewOf(row: DeferredRow) {
  const {
    bucket: _,
    user_id,
    event_seq,
    timed,
    critical,
    held,
    asked,
    traceparent,
    lineage,
    ...told
  } = row
  return { ...told, why: RULE_WORDS[row.rule], payload: new RawJson(row.payload) }
}

const listDeferredOp = operation({
  name: 'list_deferred',
  method: 'GET',
  path: '/v1/people/{user_id}/deferred',
  tag: 'People',
  summary: 'What waits for its moment, newest first: "what did I miss?"',
  params: personParams,
  query: listQuery({ max: 500, default: 100 }).extend({
    status: z.enum([...DEFERRED_STATUSES, 'any']).default('waiting'),
  }),
  owner: 'path',
  roles,
  output: pageOf(deferredView),
  async run(ctx, { query }) {
    const rows = await listDeferred(ctx.db, {
      owner: personOf(ctx),
      status: query.status === 'any' ? null : query.status,
      limit: query.limit + 1,
      after: query.cursor,
    })
    return newestPage(rows, query.limit, deferredViewOf)
  },
})

const releaseOp = operation({
  name: 'release_deferred',
  method: 'POST',
  path: '/v1/people/{user_id}/deferred/release',
  tag: 'People',
  summary: 'Have what is deferred now, whatever the hour; all of it, or some by their ids',
  params: personParams,
  body: z.object({ ids: z.array(idParam).min(1).max(IDS_MAX).optional() }),
  owner: 'path',
  roles,
  output: z.object({ released: z.int(), words: z.string() }),
  async run(ctx, { body }) {
    const userId = personOf(ctx)
    const released = await askForDeferred(ctx.db, userId, body.ids ?? null)
    notify(ctx, 'clock')
    return {
      body: { released, words: `${released} deferred for ${userId} come now.` },
      about: { id: userId },
    }
  },
})

export const people = [getPersonOp, putPersonOp, pauseOp, resumeOp, listDeferredOp, releaseOp]
