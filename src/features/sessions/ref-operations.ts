/** Which session a request names, and whether its actor may touch it. */
import { z } from 'zod'
import type { Actor, Context } from '../../api/contract.ts'
import { Refusal } from '../../core/errors.ts'
import { sessionKey } from '../../core/fields.ts'
import { parseSessionKey, SESSION_KEY_FORM, type SessionRef } from '../../core/session.ts'
import { getSession } from './rows.ts'

export const sessionParams = z.object({ session_key: sessionKey })

/** The session this actor may touch: its own user's, of its own agent where it is bound to one; anybody's for admin and service. */
export function sessionOf(actor: Actor, key: string): SessionRef {
  const session = parseSessionKey(key)
  if (session === null) throw new Refusal('shape', `path.session_key: ${SESSION_KEY_FORM}`)
  if (actor.userId !== null && actor.userId !== session.userId) throw sessionNotFound(key)
  if (actor.agentId !== null && actor.agentId !== session.agentId) throw sessionNotFound(key)
  return session
}

export function sessionNotFound(key: string): Refusal {
  return new Refusal('not_found', `there is no session ${key}`)
}

/** Events are only taken for agents that can run them. */
export function requireAgent(ctx: Context, session: SessionRef): void {
  if (ctx.kernel.agents.knows(session.agentId, session.userId)) return
  throw new Refusal(
    'not_found',
    `there is no agent ${session.agentId} here; the second part of the session key names it`,
  )
}

/** A list of one session's rows in order; an unknown session is 404, an empty list is a list. */
export async function rowsOf<T>(
  ctx: Context,
  key: string,
  limit: number,
  read: (session: SessionRef) => Promise<T[]>,
) {
  const session = sessionOf(ctx.actor, key)
  const rows = await read(session)
  const head = await getSession(ctx.db, session)
  if (head === null) throw sessionNotFound(key)
  return { head, shown: rows.slice(0, limit), more: rows.length > limit }
}
