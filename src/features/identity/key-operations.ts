/** API keys, tickets and the audit log, for admins; anybody may ask for a ticket. */

import { z } from 'zod'
import { localInstant } from '../../../packages/schedule/src/index.ts'
import {
  idParam,
  listQuery,
  mergedPages,
  newestOf,
  notify,
  operation,
  pageOf,
} from '../../api/contract.ts'
import { Refusal } from '../../core/errors.ts'
import { keyPart } from '../../core/fields.ts'
import { isUuid, newId } from '../../core/ids.ts'
import { bucketOf, ownerDidOf, parseDid } from '../../core/session.ts'
import { AUDIT } from './audit-rows.ts'
import { makeKey, ROLES, randomToken } from './key.ts'
import { insertKey, KEYS, type KeyRow, type NewKey, revokeKey } from './key-rows.ts'
import { keepTicket } from './once-rows.ts'

const FILTER_MAX = 300

const entry = z.object({
  id: z.uuid(),
  at: z.iso.datetime(),
  actor_key: z.string().nullable(),
  actor_role: z.string(),
  actor_user: z.string().nullable(),
  acted_for: z.boolean(),
  operation: z.string(),
  object_id: z.string().nullable(),
  owner: z.string().nullable(),
  request_id: z.string(),
  summary: z.string(),
})

const filter = z.string().min(1).max(FILTER_MAX).optional()

export const audit = [
  operation({
    name: 'list_audit',
    method: 'GET',
    path: '/v1/audit',
    tag: 'Keys',
    summary: 'Every change that was made through an operation, newest first: who, what, whose',
    description:
      'The summary names the fields that were given, never their values. Kept as long as WAKEFUL_KEEP_DAYS says.',
    query: listQuery({ max: 500, default: 100 }).extend({
      owner: filter,
      operation: filter,
      actor_key: filter,
      object_id: filter,
    }),
    across: mergedPages,
    owner: 'nobody',
    roles: ['admin'],
    output: pageOf(entry),
    run: (ctx, { query: { limit, cursor, ...where } }) => {
      const bucket = where.owner === undefined ? null : bucketOf(where.owner)
      return newestOf(
        ctx.db,
        AUDIT,
        { limit, cursor },
        { where: { ...where, bucket } },
        (row) => row,
      )
    },
  }),
]

const TICKET_SECONDS = 30

export const tickets = [
  operation({
    name: 'create_ticket',
    method: 'POST',
    path: '/v1/tickets',
    tag: 'Keys',
    summary: 'Get a ticket that opens one socket, as you, within 30 seconds',
    description: 'Use it as `?ticket=…` in the address of a session’s socket. It works once.',
    status: 201,
    owner: 'nobody',
    roles: ['admin', 'service', 'agent', 'user'],
    output: z.object({ ticket: z.string(), expires_in: z.int() }),
    async run(ctx) {
      const { key: ticket, hash } = randomToken()
      const { keyId } = ctx.actor
      await keepTicket(ctx.db, {
        hash,
        keyId: keyId !== null && isUuid(keyId) ? keyId : null,
        actor: JSON.stringify(ctx.actor),
        seconds: TICKET_SECONDS,
      })
      return { body: { ticket, expires_in: TICKET_SECONDS } }
    },
  }),
]

const DID = 'must be did:matrix:<user>:<16 hex digits>'

export const keyBody = z.object({
  role: z.enum(ROLES),
  user_id: keyPart.optional(),
  agent_id: keyPart.optional().describe('For role agent: the one agent whose sessions it reaches.'),
  owner_did: z
    .string()
    .refine((text) => parseDid(text) !== null, DID)
    .optional()
    .describe('The name its agent can prove by signing a challenge.'),
  expires_at: z
    .string()
    .max(64)
    .refine((text) => localInstant(text, 'UTC') !== null, {
      error: 'must be an instant such as 2030-01-31T09:00:00Z, before the year 10000',
    })
    .optional(),
})
type Body = z.output<typeof keyBody>

const view = z.object({
  id: z.uuid(),
  role: z.enum(ROLES),
  user_id: z.string().optional(),
  agent_id: z.string().optional(),
  owner_did: z.string().optional(),
  expires_at: z.iso.datetime().optional(),
  revoked_at: z.iso.datetime().optional(),
  last_used_at: z.iso.datetime().optional(),
  created_at: z.iso.datetime(),
})

export function keyView(row: KeyRow) {
  return {
    id: row.id,
    role: row.role,
    user_id: row.user_id ?? undefined,
    agent_id: row.agent_id ?? undefined,
    owner_did: row.owner_did ?? undefined,
    expires_at: row.expires_at ?? undefined,
    revoked_at: row.revoked_at ?? undefined,
    last_used_at: row.last_used_at ?? undefined,
    created_at: row.created_at,
  }
}

/** Whose a key is, and every reason why it cannot be. */
export function planKey(given: Body): {
  owner: Pick<NewKey, 'userId' | 'ownerDid'>
  errors: string[]
} {
  const { role, user_id, agent_id, owner_did } = given
  const did = owner_did === undefined ? null : parseDid(owner_did)
  const userId = user_id ?? did?.userId ?? null
  const errors: string[] = []
  if ((role === 'admin' || role === 'service') && userId !== null)
    errors.push(`user_id and owner_did: a key of role ${role} belongs to no person; leave them out`)
  if ((role === 'agent' || role === 'user') && userId === null)
    errors.push(`user_id: a key of role ${role} needs one, or an owner_did`)
  if (did !== null && userId !== did.userId)
    errors.push(`owner_did: names the user ${did.userId}, user_id says ${userId}`)
  if (agent_id !== undefined && role !== 'agent')
    errors.push('agent_id: only a key of role agent is bound to an agent')
  const ownerDid = owner_did ?? (userId === null ? null : ownerDidOf(userId))
  return { owner: { userId, ownerDid }, errors }
}

const createKeyOp = operation({
  name: 'create_key',
  method: 'POST',
  path: '/v1/keys',
  tag: 'Keys',
  summary: 'Make a key; it is shown once',
  description:
    'A repeated request with the same Idempotency-Key is answered without the key: it is kept nowhere.',
  body: keyBody,
  status: 201,
  creates: true,
  owner: 'nobody',
  roles: ['admin'],
  output: view.extend({ key: z.string().nullable(), words: z.string() }),
  async run(ctx, { body }) {
    const { owner, errors } = planKey(body)
    if (errors.length > 0) throw new Refusal('rule', errors)
    const id = newId()
    const { key, hash } = makeKey(body.role, id)
    const row = await insertKey(ctx.db, {
      id,
      hash,
      role: body.role,
      ...owner,
      agentId: body.agent_id ?? null,
      expiresAt: instantOf(body.expires_at),
    })
    if (row === null) throw new Refusal('rule', 'expires_at: must be in the future')
    const { id: _, ...shown } = keyView(row)
    const words = `Key ${id} of role ${row.role} was made. It is shown once.`
    const rest = { ...shown, words }
    return { body: { id, key, ...rest }, again: { id, key: null, ...rest }, about: { id } }
  },
})

export function instantOf(text: string | undefined): Date | null {
  return text === undefined ? null : new Date(localInstant(text, 'UTC') ?? 0)
}

const listKeysOp = operation({
  name: 'list_keys',
  method: 'GET',
  path: '/v1/keys',
  tag: 'Keys',
  summary: 'Keys, newest first, without their secrets',
  query: listQuery({ max: 500, default: 100 }),
  owner: 'nobody',
  roles: ['admin'],
  output: pageOf(view),
  run: (ctx, { query }) => newestOf(ctx.db, KEYS, query, {}, keyView),
})

const revokeKeyOp = operation({
  name: 'revoke_key',
  method: 'DELETE',
  path: '/v1/keys/{id}',
  tag: 'Keys',
  summary: 'Revoke a key, and the tokens its agent got by signing challenges',
  description:
    'Requests with it are refused and its open sockets closed at once; in other processes within a quarter of a second, or two seconds where word of it is lost.',
  params: z.object({ id: idParam }),
  owner: 'nobody',
  roles: ['admin'],
  output: view.extend({ words: z.string() }),
  async run(ctx, { params }) {
    const row = await revokeKey(ctx.db, params.id)
    if (row === null) throw new Refusal('not_found', `there is no key ${params.id}`)
    notify(ctx, 'keys', [row.id])
    return { body: { ...keyView(row), words: `Key ${row.id} is revoked.` } }
  },
})

export const keys = [createKeyOp, listKeysOp, revokeKeyOp]
