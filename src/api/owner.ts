/**
 * Whom a call is about. Every operation declares where the person is named (`owner`); shards, rights, idempotency keys and the
 * audit log all ask here.
 */
import { Refusal } from '../core/errors.ts'
import { LOCAL_USER, parseSessionKey } from '../core/session.ts'
import type { Actor, Input, Operation } from './contract.ts'

/**
 * `nobody`: it belongs to no person (keys, agents, stops), so `ctx.db` sees every row. `caller`: whom the credentials stand for.
 * `row`: the row of the object says it. `path`, `query`, `body`, `arguments` (a field of the body): `user_id` or `session_key` there.
 */
export type OwnerSource = 'nobody' | 'caller' | 'row' | 'path' | 'query' | 'body' | 'arguments'

type Fields = Readonly<Record<string, unknown>>
const fields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {}
const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)

const PARTS: Readonly<Record<OwnerSource, (input: Input) => unknown>> = {
  nobody: () => undefined,
  caller: () => undefined,
  row: () => undefined,
  path: ({ params }) => params,
  query: ({ query }) => query,
  body: ({ body }) => body,
  arguments: ({ body }) => fields(body).arguments,
}

/** Null: everybody's, or not known before the row is read. */
export function ownerFor({ owner }: Operation, actor: Actor, input: Input): string | null {
  if (owner === 'nobody') return null
  const part = fields(PARTS[owner](input))
  const named = text(part.user_id)
  if (named !== undefined && owner === 'path') return personIn(actor, named)
  // Admin and service may name another person than the one they act for.
  const isFree = actor.role === 'admin' || actor.role === 'service' || actor.userId === null
  if (named !== undefined && isFree) return named
  return actor.userId ?? parseSessionKey(text(part.session_key) ?? '')?.userId ?? null
}

/** In a path "me" is whom the credentials stand for. */
function personIn(actor: Actor, named: string): string {
  const userId = named === 'me' ? (actor.userId ?? LOCAL_USER) : named
  if (actor.userId !== null && actor.userId !== userId)
    throw new Refusal('not_found', `there is no person ${named}`)
  return userId
}

/** Whether credentials that stand for no one person must still name one, or ask for everybody. */
export function lacksOwner(op: Operation, actor: Actor, raw: Input): boolean {
  if (!op.ownerRequired || actor.userId !== null) return false
  const { user_id, everybody } = fields(PARTS[op.owner](raw))
  return user_id == null && String(everybody) !== 'true'
}

/**
 * A key bound to an agent names no other one and no session of another one, whatever the operation: to it they do not exist.
 * Rows that are not named are kept from it by row-level security.
 */
export function refuseOtherAgents({ agentId }: Actor, { params, query, body }: Input): void {
  if (agentId === null) return
  for (const part of [params, query, body, fields(body).arguments].map(fields)) {
    for (const name of ['agent_id', 'assistant_id']) {
      const named = text(part[name])
      if (named !== undefined && named !== agentId)
        throw new Refusal('not_found', `${name}: there is no agent ${named} here`)
    }
    for (const name of ['session_key', 'notify_session']) {
      const session = parseSessionKey(text(part[name]) ?? '')
      if (session !== null && session.agentId !== agentId)
        throw new Refusal('not_found', `${name}: there is no session ${session.key}`)
    }
  }
}
