/** Subscriptions: who outside is told of what happens, by signed calls or by asking again and again. */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import {
  type Actor,
  type Context,
  idParam,
  listQuery,
  mergedPages,
  newestOf,
  operation,
  pageOf,
} from '../../../src/api/contract.ts'
import { agentUrlRefusal } from '../../../src/core/calls/address.ts'
import { isWebhookSecret, SECRET_FORM } from '../../../src/core/calls/signature.ts'
import { Refusal } from '../../../src/core/errors.ts'
import { newId } from '../../../src/core/ids.ts'
import { bucketOf, LOCAL_USER } from '../../../src/core/session.ts'
import { readShape, where } from '../../../src/core/shape.ts'
import { writeAudit } from '../../../src/features/identity/audit-rows.ts'
import { databaseNow } from '../../../src/store/due.ts'
import { asPerson } from '../../../src/store/owned.ts'
import { readOne } from '../../../src/store/page.ts'
import { advance, type Cursor, cursorAt, readCursor, within, writeCursor } from './cursor.ts'
import { endSubscriptions } from './delivery-rows.ts'
import {
  EVENT_NAMES,
  EVENT_TYPES,
  type EventArguments,
  type EventName,
  filterOf,
} from './event-types.ts'
import { lookUp } from './occurrence-rows.ts'
import {
  countSubscriptions,
  findSubscription,
  removeSubscriptions,
  SUBSCRIPTIONS,
  type SubscriptionRow,
  saveSubscription,
} from './rows.ts'
import {
  DELIVERY_ERRORS,
  expiryOf,
  OLD_SECRET_MS,
  principalOf,
  SUBSCRIPTIONS_MAX,
  subscriptionId,
  URL_MAX,
} from './rules.ts'
import { tell, terminated } from './sent-event.ts'

const EVENTS_MAX = 100
const EVENTS_DEFAULT = 50
const NEXT_POLL_MS = 5_000
const CHALLENGE_BYTES = 24
const CHALLENGE_MAX_MS = 10_000
const CHALLENGE_ANSWER_MAX_BYTES = 4_096
const ROLES = ['admin', 'service', 'agent', 'user'] as const

const wish = {
  name: z.string().describe(`One of ${EVENT_NAMES.join(', ')}.`),
  arguments: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('What of it, as the event takes it; nothing: all of the person’s.'),
}
const url = z.string().max(URL_MAX).describe('Where signed calls go; https.')
const cursor = z
  .string()
  .nullish()
  .describe('Go on from where this was told; left out or null: from now on.')
const maxAgeMs = z.int().min(0).nullish().describe('Leave out what is older.')

interface TurnAction {
  readonly name: EventName
  readonly args: EventArguments
  /** Whose events. */
  readonly userId: string
  readonly bucket: number
}

/** What is wanted, checked as its event says; the person is that of the credentials, or whom an admin names. */
function wishOf(actor: Actor, body: { name: string; arguments: object }): TurnAction {
  const name = EVENT_NAMES.find((known) => known === body.name)
  if (name === undefined) {
    const said = JSON.stringify(body.name.slice(0, 64))
    throw new Refusal('not_found', `there is no event ${said}; there are ${EVENT_NAMES.join(', ')}`)
  }
  const read = readShape(EVENT_TYPES[name].input, body.arguments)
  if ('errors' in read)
    throw new Refusal(
      'shape',
      read.errors.map(({ path, message }) => `body.${where(['arguments', ...path])}: ${message}`),
    )
  const taken = read.data as EventArguments
  const bound = actor.agentId !== null && Object.hasOwn(EVENT_TYPES[name].input.shape, 'agent_id')
  const args = bound ? { ...taken, agent_id: actor.agentId } : taken
  const named = args.user_id
  if (named !== undefined && actor.userId !== null && named !== actor.userId)
    throw new Refusal('forbidden', `these credentials act for ${actor.userId}, not for ${named}`)
  const userId = named ?? actor.userId ?? LOCAL_USER
  return { name, args, userId, bucket: bucketOf(userId) }
}

function idOf(actor: Actor, { name, args }: TurnAction, to: string): string {
  return subscriptionId({ principal: principalOf(actor), url: to, name, arguments: args })
}

/** Null begins now. */
function cursorOf(text: string | null | undefined, now: Date): Cursor {
  if (text === null || text === undefined) return cursorAt(now)
  const read = readCursor(text)
  if (read !== null) return read
  throw new Refusal('shape', 'body.cursor: must be a cursor that was answered here')
}

const statusView = z.object({
  active: z.boolean(),
  last_delivery_at: z.iso.datetime().nullable(),
  last_error: z.enum(DELIVERY_ERRORS).nullable(),
  failed_since: z.iso.datetime().nullable(),
})

function statusOf(row: SubscriptionRow) {
  const { last_delivery_at, last_error, failed_since } = row
  return { active: row.ended_at === null, last_delivery_at, last_error, failed_since }
}

const subscribe = operation({
  name: 'subscribe',
  method: 'POST',
  path: '/v1/subscriptions',
  tag: 'Subscriptions',
  summary: 'Be told of what happens, by signed calls',
  description:
    'The receiver is asked first: a signed challenge that it must echo. The same wish again renews the subscription; a new secret takes over from the old one. Over MCP this is `events/subscribe`.',
  body: z.object({
    ...{ ...wish, url, cursor },
    secret: z
      .string()
      .refine(isWebhookSecret, `must be ${SECRET_FORM}`)
      .describe('Yours: every call is signed with it (Standard Webhooks).'),
    max_age_ms: maxAgeMs,
    ttl_ms: z
      .int()
      .min(1)
      .nullish()
      .describe('How long it lasts: a day by default, 30 days at most; null: until it is ended.'),
  }),
  audit: 'own',
  owner: 'arguments',
  roles: ROLES,
  output: z.object({
    id: z.uuid(),
    refresh_before: z.iso.datetime().nullable(),
    cursor: z.string(),
    truncated: z.boolean().describe('Something was left out, or given up since you last asked.'),
    delivery_status: statusView,
    words: z.string(),
  }),
  async run(ctx, { body }) {
    const asked = wishOf(ctx.actor, body)
    const { bucket, userId, name, args } = asked
    const refusal = agentUrlRefusal(body.url, ctx.kernel.app.config.allowPrivateWebhooks)
    if (refusal !== null) throw new Refusal('rule', `url: may not be called: ${refusal}`)
    const now = await databaseNow(ctx.db)
    const begin = within(cursorOf(body.cursor, now), body.max_age_ms ?? null, now)
    const id = idOf(ctx.actor, asked, body.url)
    const known = await findSubscription(ctx.db, bucket, id)
    if (
      known === null &&
      (await countSubscriptions(ctx.whole ?? ctx.db, bucket, userId)) >= SUBSCRIPTIONS_MAX
    )
      throw new Refusal('rate_limited', `a person has at most ${SUBSCRIPTIONS_MAX} subscriptions`)
    if (known?.secret !== body.secret) await challenge(ctx, { id, ...body }, now)
    const row = await ctx.db.tx(async (tx) => {
      const saved = await saveSubscription(tx, {
        ...{ bucket, id, userId, name, url: body.url, secret: body.secret },
        principal: principalOf(ctx.actor),
        keyId: ctx.actor.keyId,
        args: JSON.stringify(args),
        // An existing one keeps its own position: going back to the given cursor would repeat events.
        cursor: known?.cursor ?? writeCursor(begin.cursor),
        expiresAt: expiryOf(body.ttl_ms, now),
        oldSecretMs: OLD_SECRET_MS,
      })
      if (ctx.entry !== undefined)
        await writeAudit(tx, [{ ...ctx.entry, objectId: id, owner: userId }])
      return saved
    })
    const truncated = known === null ? begin.truncated : known.truncated
    return {
      body: {
        ...{ id, refresh_before: row.expires_at, cursor: row.cursor, truncated },
        delivery_status: statusOf(row),
        words: `${new URL(body.url).host} is called for ${name} of ${userId}${
          row.expires_at === null ? '' : ` until ${row.expires_at.toISOString()}`
        }. Its id is ${id}.`,
      },
    }
  },
})

/** Only who holds the address, and knows the secret there, can answer. */
async function challenge(
  ctx: Context,
  { id, url, secret }: { id: string; url: string; secret: string },
  at: Date,
): Promise<void> {
  const word = randomBytes(CHALLENGE_BYTES).toString('base64url')
  const reply = await ctx.kernel.app.webhooks.ask(
    {
      ...{ url, at, id: newId(), bearer: null, secrets: [secret] },
      headers: { 'x-mcp-subscription-id': id },
      body: JSON.stringify({ type: 'verification', challenge: word }),
      timeoutMs: CHALLENGE_MAX_MS,
      answerMaxBytes: CHALLENGE_ANSWER_MAX_BYTES,
    },
    ctx.signal(),
  )
  if ('error' in reply) throw new Refusal('conflict', `url: the challenge failed: ${reply.error}`)
  const right = reply.status >= 200 && reply.status < 300 && echoed(reply.text) === word
  if (!right)
    throw new Refusal(
      'conflict',
      `url: the challenge failed: it was answered with HTTP ${reply.status} and not echoed`,
    )
}

function echoed(text: string): unknown {
  try {
    return (JSON.parse(text) as { challenge?: unknown } | null)?.challenge
  } catch {
    return undefined
  }
}

const unsubscribe = operation({
  name: 'unsubscribe',
  method: 'POST',
  path: '/v1/subscriptions/end',
  tag: 'Subscriptions',
  summary: 'End a subscription by what it is: name, arguments and url',
  description:
    'Nothing more is sent, not even what waits. One that is not there is ended already. Over MCP this is `events/unsubscribe`.',
  body: z.object({ ...wish, url }),
  status: 204,
  owner: 'arguments',
  roles: ROLES,
  output: null,
  async run(ctx, { body }) {
    const asked = wishOf(ctx.actor, body)
    const id = idOf(ctx.actor, asked, body.url)
    await removeSubscriptions(ctx.db, [{ bucket: asked.bucket, id }])
    return { body: null, about: { id, owner: asked.userId } }
  },
})

const pollEvents = operation({
  name: 'poll_events',
  method: 'POST',
  path: '/v1/subscriptions/poll',
  tag: 'Subscriptions',
  summary: 'What has happened since a cursor, without a subscription',
  description:
    'Without a cursor: from now on, so only a cursor is answered. Over MCP this is `events/poll`.',
  body: z.object({
    ...{ ...wish, cursor, max_age_ms: maxAgeMs },
    max_events: z.int().min(1).max(EVENTS_MAX).default(EVENTS_DEFAULT),
  }),
  audit: 'none',
  owner: 'arguments',
  roles: ROLES,
  output: z.object({
    events: z.array(
      z.object({
        ...{ event_id: z.string(), name: z.string(), timestamp: z.iso.datetime() },
        ...{ data: z.looseObject({}), cursor: z.string() },
      }),
    ),
    cursor: z.string(),
    truncated: z.boolean(),
    has_more: z.boolean(),
    next_poll_ms: z.int(),
  }),
  async run(ctx, { body }) {
    const { name, args, userId, bucket } = wishOf(ctx.actor, body)
    const now = await databaseNow(ctx.db)
    const begin = within(cursorOf(body.cursor, now), body.max_age_ms ?? null, now)
    const { agentId } = ctx.actor
    const look = { ...filterOf(args), bucket, userId, name, onlyOf: agentId, cursor: begin.cursor }
    // Runs of work are in the sessions of executors; `onlyOf` leaves out those of other agents.
    const [seen] = await asPerson(ctx.db, agentId, (db) => lookUp(db, [look], body.max_events))
    const { found, more, gap } = seen ?? { found: [], more: false, gap: false }
    const events = found.map((row) => {
      const { eventId: event_id, ...told } = tell(name, row)
      return { event_id, ...told }
    })
    return {
      body: {
        events,
        cursor: writeCursor(advance(begin.cursor, { found, more, now })),
        truncated: begin.truncated || gap,
        has_more: more,
        next_poll_ms: more ? 0 : NEXT_POLL_MS,
      },
    }
  },
})

const view = z.object({
  id: z.uuid(),
  user_id: z.string(),
  name: z.enum(EVENT_NAMES),
  arguments: z.looseObject({}),
  host: z.string().describe('Of its url, whose path may hold a key.'),
  expires_at: z.iso.datetime().nullable(),
  waiting: z.int().describe('How much is on its way.'),
  delivery_status: statusView,
  created_at: z.iso.datetime(),
})

function viewOf(row: SubscriptionRow & { readonly waiting: number }) {
  const { id, user_id, name, expires_at, waiting, created_at } = row
  return {
    ...{ id, user_id, name, arguments: JSON.parse(row.arguments) as object },
    ...{ host: new URL(row.url).host, expires_at, waiting },
    ...{ delivery_status: statusOf(row), created_at },
  }
}

const listSubscriptionsOp = operation({
  name: 'list_subscriptions',
  method: 'GET',
  path: '/v1/subscriptions',
  tag: 'Subscriptions',
  summary: 'Who is told of what, newest first',
  query: listQuery({ max: 500, default: 100 }),
  across: mergedPages,
  owner: 'caller',
  roles: ROLES,
  output: pageOf(view),
  async run(ctx, { query }) {
    return newestOf(ctx.db, SUBSCRIPTIONS, query, { owner: ctx.actor.userId }, viewOf)
  },
})

const deleteSubscription = operation({
  name: 'delete_subscription',
  method: 'DELETE',
  path: '/v1/subscriptions/{id}',
  tag: 'Subscriptions',
  summary: 'End a subscription; its receiver is told',
  params: z.object({ id: idParam }),
  status: 204,
  owner: 'row',
  roles: ROLES,
  output: null,
  async run(ctx, { params }) {
    const row = await readOne(ctx.db, SUBSCRIPTIONS, { owner: ctx.actor.userId, id: params.id })
    if (row === null) throw new Refusal('not_found', `there is no subscription ${params.id}`)
    await endSubscriptions(ctx.db, [row], terminated('it was removed'))
    return { body: null, about: { id: row.id, owner: row.user_id } }
  },
})

export const subscriptions = [
  subscribe,
  unsubscribe,
  pollEvents,
  listSubscriptionsOp,
  deleteSubscription,
]
