/** Which session an address is to stand for, and the one-use code by which it proves whose it is. */
import { randomBytes } from 'node:crypto'
import type { Context } from '../../api/contract.ts'
import { Refusal } from '../../core/errors.ts'
import type { SessionRef } from '../../core/session.ts'
import type { PushChannel } from '../../kernel/channel.ts'
import { requireAgent, sessionNotFound, sessionOf } from '../sessions/ref-operations.ts'
import { createCode } from './code-rows.ts'
import { requireRoom } from './rows.ts'
import { codeHash } from './text.ts'

const CODE_TTL_MS = 15 * 60_000
/** 192 bits, in 32 characters that can be typed and put into a link. */
const CODE_BYTES = 24

export interface Named {
  readonly session_key?: string | undefined
  readonly user_id?: string | undefined
}

/** Where no session is named, a person has a thread of its own with the agent, called by the channel. */
export function linkedSession(
  ctx: Context,
  { session_key: key, user_id }: Named,
  channel: { readonly name: string; readonly agentId: string | null; readonly setting?: string },
): SessionRef {
  const { actor, kernel } = ctx
  const [only, other] = kernel.agents.names
  const agent = actor.agentId ?? channel.agentId ?? (other === undefined ? only : undefined)
  const user = actor.userId ?? user_id
  const errors: string[] = []
  if (key === undefined && user === undefined)
    errors.push('session_key: say which session, or whose with user_id')
  if (key === undefined && agent === undefined) {
    const unset = channel.setting === undefined ? '' : ` and no ${channel.setting}`
    errors.push(`session_key: say which session; there are several agents${unset}`)
  }
  if (errors.length > 0) throw new Refusal('rule', errors)
  const session = sessionOf(actor, key ?? `${user}:${agent}:${channel.name}`)
  // A key that is bound to one agent hands out no way into another's conversations.
  if (actor.agentId !== null && actor.agentId !== session.agentId)
    throw sessionNotFound(session.key)
  requireAgent(ctx, session)
  return session
}

/** Only its hash is kept. */
export async function newCode(
  ctx: Context,
  session: SessionRef,
  channel: PushChannel,
  person: boolean,
) {
  await requireRoom(ctx.db, session, channel.name)
  const code = randomBytes(CODE_BYTES).toString('base64url')
  const invitation = await channel.invite?.(code)
  const { name } = channel
  const kept = { session, channel: name, person, hash: codeHash(code), ttlMs: CODE_TTL_MS }
  const expires_at = await createCode(ctx.db, kept)
  const { url, words = `Write "link ${code}" there.` } = invitation ?? {}
  return { session_key: session.key, code, url, words, expires_at }
}
