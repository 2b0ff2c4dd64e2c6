/** Intents as their owners have them: made, listed, read, changed, deleted. Those of workers are in `intent-reports.ts`. */
import { z } from 'zod'
import {
  type Actor,
  type Context,
  flag,
  idParam,
  operation,
  wakeClockIfSoon,
} from '../../api/contract.ts'
import { lineageFor, withinPending } from '../../api/lineage.ts'
import { mergedArrays } from '../../api/shards.ts'
import { Refusal } from '../../core/errors.ts'
import { keyPart, shortName, whole } from '../../core/fields.ts'
import { newId } from '../../core/ids.ts'
import { KEY_PART_MAX } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { databaseNow } from '../../store/due.ts'
import { asPerson } from '../../store/owned.ts'
import { askedZone } from '../people/zone-operations.ts'
import { INTENTS_MAX, LIMIT_REACHED, validateIntent } from './checks.ts'
import { changeIntent, type IntentWish, intentWish, planIntent, termsFrom } from './draft.ts'
import { conditionError } from './own.ts'
import {
  deleteIntent,
  getIntent,
  type IntentRow,
  insertIntent,
  listIntents,
  lockPerson,
  roomForIntents,
  updateIntent,
} from './rows.ts'
import { isConditionType } from './rules.ts'
import { createBody, intentView, type UpdateBody, updateBody, viewOf } from './view-operations.ts'

const OFFSET_MAX = 1_000_000
const FOR_WORKERS =
  'no agent_id: no agent here acts on it; /v1/intents/pending serves it to outside workers'

export const page = {
  limit: whole({ min: 1, max: 100, default: 50 }),
  offset: whole({ min: 0, max: OFFSET_MAX, default: 0 }),
}

const params = z.object({ id: idParam })

export function intentNotFound(id: string): Refusal {
  return new Refusal('not_found', `there is no intent ${id}`)
}

/** Of a condition that is to be the app's own. */
function conditionErrors({ kernel }: Context, wish: IntentWish): string[] {
  if (wish.trigger_type !== 'condition') return []
  const { type } = termsFrom(wish, new Date(0)).trigger_condition
  const error = conditionError(type, kernel.conditions)
  return error === null ? [] : [`trigger_condition.type: ${error}`]
}

function agentErrors({ kernel }: Context, agentId: string | null): string[] {
  if (agentId === null || kernel.agents.knows(agentId)) return []
  const { names } = kernel.agents
  const known =
    names.length === 0 ? 'no agents run here' : `known are ${names.slice(0, 20).join(', ')}`
  return [`agent_id: there is no agent ${agentId} here; ${known}`]
}

/** Under the lock of its person: the limit holds under concurrent creates. */
async function limitErrors({ actor }: Context, tx: Db, owner: string): Promise<string[]> {
  const room = await asPerson(tx, actor.agentId, () => roomForIntents(tx, owner))
  return room > 0 ? [] : [LIMIT_REACHED]
}

function refuse(errors: readonly string[]): void {
  if (errors.length > 0) throw new Refusal('rule', errors)
}

function tellClock(ctx: Context, row: IntentRow): void {
  if (row.agent_id === null || row.next_check === null) return
  wakeClockIfSoon(ctx, row.next_check, row.now)
}

function makerOf({ role, agentId, userId, keyId }: Actor, named: string | null): string {
  const own = agentId ?? userId ?? keyId ?? role
  return ((role === 'admin' || role === 'service') && named !== null ? named : own).slice(
    0,
    KEY_PART_MAX,
  )
}

const createIntentOp = operation({
  name: 'create_intent',
  method: 'POST',
  path: '/v1/intents',
  tag: 'Intents',
  summary: 'Keep a standing wish: at times, or when a condition holds',
  description: `At most ${INTENTS_MAX} enabled ones for each person. With \`agent_id\` Wakeful checks it and wakes that agent; without, \`/v1/intents/pending\` serves it to workers outside, and \`notes\` says so.`,
  body: createBody,
  opaque: ['metadata'],
  ownerRequired: true,
  status: 201,
  creates: true,
  owner: 'body',
  roles: ['admin', 'service', 'agent'],
  output: intentView.extend({ notes: z.array(z.string()).optional() }),
  async run(ctx, { body }) {
    const owner = ctx.owner ?? ''
    const { user_id, created_by = null, ...said } = body
    const timed = isConditionType(said.trigger_type) && (said.expires_at ?? null) === null
    const asked = await askedZone(ctx, owner, said.timezone, timed ? 'UTC' : undefined)
    const zone = { timezone: asked.timezone, follows_zone: asked.followsZone }
    const wish = intentWish({ ...said, agent_id: said.agent_id ?? ctx.actor.agentId, ...zone })
    const now = await databaseNow(ctx.db)
    const errors = [
      ...agentErrors(ctx, wish.agent_id),
      ...conditionErrors(ctx, wish),
      ...validateIntent(termsFrom(wish, now), now),
    ]
    const draft = {
      id: newId(),
      userId: owner,
      createdBy: makerOf(ctx.actor, created_by),
      wish,
      traceparent: ctx.traceparent ?? null,
      lineage: await lineageFor(ctx, owner, wish.agent_id),
    }
    const whom = { userId: owner, agentId: wish.agent_id }
    const row = await withinPending(ctx, whom, () =>
      ctx.db.tx(async (tx) => {
        refuse([...errors, ...(wish.enabled ? await limitErrors(ctx, tx, owner) : [])])
        return insertIntent(tx, draft, planIntent(wish, now))
      }),
    )
    tellClock(ctx, row)
    const notes = wish.agent_id === null ? [FOR_WORKERS] : undefined
    return { body: { ...viewOf(row, 'was created and'), notes }, about: { id: row.id } }
  },
})

const listIntentsOp = operation({
  name: 'list_intents',
  method: 'GET',
  path: '/v1/intents',
  tag: 'Intents',
  summary: 'Intents of one person or of everybody, newest first',
  query: z.object({
    user_id: keyPart.optional().describe('Required of admin and service keys, or everybody.'),
    everybody: flag.optional().describe('Those of all people, for admin and service keys.'),
    agent_id: shortName.optional().describe('Only those that this agent acts on.'),
    trigger_type: intentView.shape.trigger_type.optional(),
    enabled: flag.optional(),
    ticker: z.string().min(1).max(32).optional(),
    ...page,
  }),
  ownerRequired: true,
  across: mergedArrays('created_at', 'newest'),
  owner: 'query',
  roles: ['admin', 'service', 'agent', 'user'],
  output: z.array(intentView),
  async run(ctx, { query }) {
    const rows = await listIntents(ctx.db, {
      userId: ctx.owner ?? null,
      agentId: query.agent_id ?? null,
      triggerType: query.trigger_type ?? null,
      enabled: query.enabled ?? null,
      ticker: query.ticker ?? null,
      limit: query.limit,
      offset: query.offset,
    })
    return { body: rows.map((row) => viewOf(row)) }
  },
})

const getIntentOp = operation({
  name: 'get_intent',
  method: 'GET',
  path: '/v1/intents/{id}',
  tag: 'Intents',
  summary: 'One intent: what it waits for, when it is looked at next, and how it went',
  params,
  owner: 'row',
  roles: ['admin', 'service', 'agent', 'user'],
  output: intentView,
  async run(ctx, { params }) {
    const row = await getIntent(ctx.db, ctx.actor.userId, params.id)
    if (row === null) throw intentNotFound(params.id)
    return { body: viewOf(row) }
  },
})

/** Changes a locked row; throws what is wrong with it. */
async function change(ctx: Context, tx: Db, row: IntentRow, body: UpdateBody): Promise<IntentRow> {
  const { timezone, followsZone: follows_zone } = await askedZone(ctx, row.user_id, body.timezone)
  const zone = body.timezone === undefined ? {} : { timezone, follows_zone }
  const wish = intentWish({ ...body, ...zone }, row)
  const errors = wish.agent_id === row.agent_id ? [] : agentErrors(ctx, wish.agent_id)
  const { plan, fresh, enabling } = changeIntent(row, wish, row.now, errors)
  if (fresh) errors.push(...conditionErrors(ctx, wish))
  if (enabling) errors.push(...(await limitErrors(ctx, tx, row.user_id)))
  refuse(errors)
  return updateIntent(tx, row, plan, { fresh })
}

const updateIntentOp = operation({
  name: 'update_intent',
  method: 'PUT',
  path: '/v1/intents/{id}',
  tag: 'Intents',
  summary: 'Change an intent; what is left out stays as it is',
  description:
    'Null empties what may be empty. Another schedule, condition, type or time zone, and enabling it again, set its next check again.',
  params,
  body: updateBody,
  opaque: ['metadata'],
  owner: 'row',
  roles: ['admin', 'service', 'agent'],
  output: intentView,
  async run(ctx, { params, body }) {
    const { userId: scope } = ctx.actor
    const row = await ctx.db.tx(async (tx) => {
      // People before intents, as everywhere: so whose it is must be known before it is locked.
      const mayEnable = body.enabled === true || body.expires_at !== undefined
      const seen = mayEnable ? await getIntent(tx, scope, params.id) : null
      if (seen !== null) await lockPerson(tx, seen.user_id)
      const locked = await getIntent(tx, scope, params.id, true)
      if (locked === null) throw intentNotFound(params.id)
      const whom = { userId: locked.user_id, agentId: locked.agent_id }
      return withinPending({ ...ctx, db: tx }, whom, () => change(ctx, tx, locked, body))
    })
    tellClock(ctx, row)
    return { body: viewOf(row, 'was changed and'), about: { owner: row.user_id } }
  },
})

const deleteIntentOp = operation({
  name: 'delete_intent',
  method: 'DELETE',
  path: '/v1/intents/{id}',
  tag: 'Intents',
  summary: 'Delete an intent; the record of its executions is kept',
  params,
  status: 204,
  owner: 'row',
  roles: ['admin', 'service', 'agent', 'user'],
  output: null,
  async run(ctx, { params }) {
    if (await deleteIntent(ctx.db, ctx.actor.userId, params.id)) return { body: null }
    throw intentNotFound(params.id)
  },
})

export const ownIntents = [
  createIntentOp,
  listIntentsOp,
  getIntentOp,
  updateIntentOp,
  deleteIntentOp,
]
