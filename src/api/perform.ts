/**
 * How an operation is run, whichever door it came through: with the rights of its actor's owner, and with an entry in
 * the audit log that commits with the change or not at all.
 */

import { Refusal } from '../core/errors.ts'
import { parseSessionKey } from '../core/session.ts'
import { type AuditEntry, type AuditHead, fieldNames } from '../features/identity/audit.ts'
import { writeAudit } from '../features/identity/audit-rows.ts'
import type { Actor, Answer, Context, Input, Operation } from './contract.ts'
import { inShard } from './shards.ts'

const OBJECT_ID_MAX = 300

export function changes(op: Operation): boolean {
  return op.method !== 'GET' && op.audit !== 'none'
}

/** Takes what `prepare` gave. */
export async function perform(op: Operation, ctx: Context, input: Input): Promise<Answer> {
  refuseOtherAgents(ctx.actor, input)
  return inShard(op, ctx, input, (inside, asked) => performHere(op, inside, asked))
}

/**
 * A key bound to an agent names no other one and no session of another one, whatever the operation: to it they do not exist.
 * Rows that are not named are kept from it by row-level security.
 */
function refuseOtherAgents({ agentId }: Actor, { params, query, body }: Input): void {
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

async function performHere(op: Operation, ctx: Context, input: Input): Promise<Answer> {
  if (ctx.inTransaction) return runRecorded(op, ctx, input)
  if (changes(op)) {
    if (op.audit === 'own') {
      return op.run({ ...reaching(op, ctx, input), entry: headOf(op, ctx, input) }, input)
    }
    const answer = await inOneTransaction(op, ctx, input, (inside) =>
      runRecorded(op, inside, input),
    )
    return answer.later === undefined ? answer : answer.later()
  }
  // One transaction for all that a read asks: giving up rights costs a round trip once, not for each statement.
  const reached = reaching(op, ctx, input)
  const scoped = ctx.whole !== undefined && ctx.whole !== reached.db
  const answer = scoped
    ? await inOneTransaction(op, ctx, input, (inside) => op.run(inside, input))
    : await op.run(reached, input)
  return answer.later === undefined ? answer : answer.later()
}

/** The context with the rows that this operation may see. */
function reaching(op: Operation, ctx: Context, input: Input): Context {
  const { whole } = ctx
  const everything = op.unowned || namedBeside(ctx, input) !== undefined
  return everything && whole !== undefined ? { ...ctx, db: whole } : ctx
}

/** Admin and service may name another owner than the one they act for: then it is that one's. */
function namedBeside({ actor }: Context, { query, body }: Input): string | undefined {
  if (actor.userId === null || (actor.role !== 'admin' && actor.role !== 'service')) return
  const named = text(fields(body).user_id) ?? text(fields(query).user_id)
  return named === actor.userId ? undefined : named
}

/** Runs `work` in a transaction; hints and file deletions wait for its commit. */
export async function inOneTransaction(
  op: Operation,
  ctx: Context,
  input: Input,
  work: (inside: Context) => Promise<Answer>,
): Promise<Answer> {
  let pending: (() => void)[] = []
  const answer = await reaching(op, ctx, input).db.tx((db) => {
    // A retried transaction starts over, and so does this list.
    pending = []
    return work({ ...ctx, db, pending, inTransaction: true })
  })
  for (const each of pending) each()
  return answer
}

/** Within a transaction that somebody else commits. */
async function runRecorded(op: Operation, ctx: Context, input: Input): Promise<Answer> {
  const answer = await op.run(ctx, input)
  // Another status than the operation's own says that it was there already: nothing has changed.
  const same = answer.status !== undefined && answer.status !== op.status
  if (changes(op) && !same) await writeAudit(ctx.db, [entryOf(op, ctx, input, answer)])
  return answer
}

function headOf(op: Operation, { actor, requestId }: Context, { body }: Input): AuditHead {
  return {
    keyId: actor.keyId,
    role: actor.role,
    userId: actor.userId,
    actedFor: actor.actAs,
    operation: op.name,
    requestId,
    summary: fieldNames(body),
  }
}

function entryOf(op: Operation, ctx: Context, input: Input, answer: Answer): AuditEntry {
  return {
    ...headOf(op, ctx, input),
    objectId: objectOf(input, answer)?.slice(0, OBJECT_ID_MAX) ?? null,
    owner: op.unowned
      ? null
      : (namedBeside(ctx, input) ?? ctx.actor.userId ?? ownerOf(input, answer)),
  }
}

type Fields = Readonly<Record<string, unknown>>
const fields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {}
const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)

/** What the path names, else the id in the answer: at its top, or of the one thing it holds. */
function objectOf({ params }: Input, { about, body }: Answer): string | undefined {
  const named = Object.values(fields(params)).flatMap((part) => text(part) ?? [])
  const answered = fields(body)
  const inner = Object.values(answered).flatMap((part) => text(fields(part).id) ?? [])
  return about?.id ?? text(answered.id) ?? inner[0] ?? text(named.join('/'))
}

function ownerOf({ params, body }: Input, answer: Answer): string | null {
  if (answer.about?.owner !== undefined) return answer.about.owner
  const session = parseSessionKey(text(fields(params).session_key) ?? '')
  const answered = fields(answer.body)
  const inner = Object.values(answered).flatMap((part) => text(fields(part).user_id) ?? [])
  return session?.userId ?? text(fields(body).user_id) ?? text(answered.user_id) ?? inner[0] ?? null
}
